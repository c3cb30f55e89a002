import type { DataSource, EntityManager, EntityMetadata, QueryRunner } from 'typeorm'
import {
  BoundedMap,
  engineOf,
  guardStatements,
  inSavepoint,
  inTransaction,
  isPermitted,
  maskedSql,
  memoizeByObject,
  unscopedWork,
  workIn,
  type RecordWork,
} from '../extension.js'
import { DeclarationError, type Context, type JobContext } from '../index.js'
import { cascadesInto } from './cascades.js'
import { hasHistory } from './declaration.js'
import { entryTable } from './entry.js'
import { EntryIsReadOnly, UnrecordedWrite } from './errors.js'
import { insertEntry } from './recording.js'
import { plainName, targetsOf, type Target } from './statements.js'

/** The effect of a statement: the models whose records or links it writes, or the entries themselves. */
interface Verdict {
  models: readonly EntityMetadata[]
  writesEntries: boolean
}

/** The models whose records or links a statement of `withoutHistory` writes, by its parameters. */
const passes = new WeakMap<object, Set<EntityMetadata>>()

guardStatements(refuse, (ctx, reason, work) =>
  guardOf(ctx.tx.dataSource) ? withoutHistory(ctx as Context, reason, work) : work(ctx.tx),
)

/** The error of a statement that must not be sent. */
function refuse(runner: QueryRunner, sql: string, values: unknown): Error | undefined {
  const { dataSource } = runner
  if (!dataSource.isInitialized || isPermitted(values)) return undefined
  const verdict = guardOf(dataSource)?.judge(sql)
  if (!verdict) return undefined
  if (verdict.writesEntries) return new EntryIsReadOnly()
  const written = passes.get(Object(values))
  for (const model of written ? verdict.models : []) written?.add(model)
  if (written) return undefined
  const names = verdict.models.map(({ targetName }) => targetName).join(', ')
  const statement = maskedSql(sql, engineOf(dataSource).name)
  return new UnrecordedWrite(names, statement.length > 300 ? `${statement.slice(0, 300)}…` : statement)
}

/** The guard of a database; undefined if none of its models has a history. */
const guardOf = memoizeByObject((database: DataSource): Guard | undefined =>
  database.entityMetadatas.some(hasHistory) ? new Guard(database) : undefined,
)

/** The most characters of a statement whose verdict is kept. */
const longest = 4000

/** The lower-case name of a table that statements must not write, and the model with a history whose records or links this would change. */
type GuardedTable = readonly [name: string, model: EntityMetadata]

class Guard {
  private readonly tables: Record<Target['kind'], readonly GuardedTable[]>
  private readonly verdicts = new BoundedMap<Verdict | false>(500)

  constructor(private readonly database: DataSource) {
    const { entityMetadatas } = database
    const write = entityMetadatas.filter(hasHistory).flatMap((model) => {
      const joins = model.manyToManyRelations.flatMap((relation) => relation.junctionEntityMetadata ?? [])
      return [model, ...joins].map(({ tableName }): GuardedTable => [tableName.toLowerCase(), model])
    })
    const reached = (isAnyKey: boolean) => [
      ...write,
      ...entityMetadatas.flatMap((from) =>
        cascadesInto(from, isAnyKey).map((model): GuardedTable => [from.tableName.toLowerCase(), model]),
      ),
    ]
    this.tables = { write, delete: reached(false), truncate: reached(true) }
  }

  /** Whether a statement writes what it must not; the verdict on a text is reached once. */
  judge(sql: string): Verdict | undefined {
    const known = this.verdicts.get(sql)
    if (known !== undefined) return known || undefined
    const verdict = this.decide(sql)
    if (sql.length <= longest) this.verdicts.set(sql, verdict ?? false)
    return verdict
  }

  private decide(sql: string): Verdict | undefined {
    const lower = sql.toLowerCase()
    const isNamed = this.tables.truncate.some(([name]) => lower.includes(name)) || lower.includes(entryTable)
    // A quoted name of PostgreSQL can contain escapes.
    if (!isNamed && !lower.includes('u&"')) return undefined
    const targets = targetsOf(sql, engineOf(this.database).name)
    const models = targets.flatMap(({ table, kind }) =>
      this.tables[kind].filter(([name]) => plainName(name) === table).map(([, model]) => model),
    )
    const writesEntries = targets.some(({ table }) => table === entryTable)
    return models.length > 0 || writesEntries ? { models: [...new Set(models)], writesEntries } : undefined
  }
}

/** The maximum number of characters of a reason. */
const maxReason = 500

/**
 * Runs statements that write records with a history past `ctx.save`, for example in bulk. Only those of the `tx` that it passes are
 * let through. Inserts one `unrecorded` entry with the reason for each model whose records or links they have written. If the work
 * throws, its statements are undone. Policies are not asked.
 *
 * @example
 * await withoutHistory(ctx, 'Prices of 2027', (tx) => tx.update(Product, { year: 2026 }, { year: 2027 }))
 * @param ctx the context of a request or a job, or the `tx` of seeds and scripts
 * @param reason at most 500 characters
 * @returns what the work returns
 * @throws DeclarationError when the reason is empty or too long
 */
export function withoutHistory<Result>(
  ctx: Context | JobContext | EntityManager,
  reason: string,
  work: (tx: EntityManager) => Promise<Result>,
): Promise<Result> {
  if (typeof reason !== 'string' || reason.trim() === '' || [...reason].length > maxReason)
    throw new DeclarationError(
      `withoutHistory() needs a reason of 1 to ${maxReason} characters, which its entries contain.`,
    )
  return inWork(ctx, (outer) =>
    inSavepoint(outer.tx, async (tx) => {
      const written = new Set<EntityMetadata>()
      const pass = openPass(tx, written)
      const result = await work(pass.tx).finally(() => pass.close())
      for (const { tablePath } of written)
        await insertEntry(workIn(outer, tx), tablePath, 'unrecorded', { reason })
      return result
    }),
  )
}

/** Runs work in the transaction of a request or a job, or in that of an EntityManager. */
export function inWork<Result>(
  ctx: Context | JobContext | EntityManager,
  run: (work: RecordWork) => Promise<Result>,
): Promise<Result> {
  // Every context and job has these members.
  return 'tx' in ctx ? inTransaction(ctx as Context, run) : run(unscopedWork(ctx))
}

/** A manager whose statements pass the guard until it is closed. */
function openPass(tx: EntityManager, written: Set<EntityMetadata>): { tx: EntityManager; close(): void } {
  const runner = tx.queryRunner
  if (!runner) throw new Error('A pass needs a transaction.')
  let isOpen = true
  const own: Record<PropertyKey, unknown> = {
    query: async (sql: string, given: unknown, isStructured = false): Promise<unknown> => {
      const values = Array.isArray(given) ? [...(given as unknown[])] : []
      const models = new Set<EntityMetadata>()
      if (isOpen) passes.set(values, models)
      const result = await runner.query(sql, values, true)
      const isEmpty = result.affected === 0 && /^\s*(insert|update|delete|replace)\b/i.test(sql)
      if (!isEmpty) for (const model of models) written.add(model)
      return isStructured ? result : result.raw
    },
  }
  const proxy: QueryRunner = new Proxy(runner, {
    get(target, name) {
      if (name in own) return own[name]
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
    // TypeORM sets the manager.
    set: (_target, name, value) => Boolean((own[name] = value) ?? true),
  })
  return { tx: tx.dataSource.createEntityManager(proxy), close: () => void (isOpen = false) }
}
