import { createHash } from 'node:crypto'
import { MigrationExecutor } from 'typeorm'
import type { Migration, MigrationInterface, QueryRunner } from 'typeorm'
import { RdbmsSchemaBuilder } from 'typeorm/schema-builder/RdbmsSchemaBuilder.js'
import { DeclarationError, MigrationFailed } from '../../errors.js'
import type { BrokenReferences, Reference } from '../engines/engine.js'
import { engineOf } from '../engines/engines.js'
import type { LeaseDatabase } from '../named-leases.js'
import { exemptRunner } from '../queries/statement-guards.js'
import { withMigrationLock } from './lock.js'
import { retryTableLocks, tableLockWait } from './table-locks.js'
import { nothingRemains, watchRemains } from './remains.js'

/** Receives the name of each migration as soon as it has been run or undone. */
export type MigrationReport = (name: string) => void

/** A migration, and whether it has been run. */
export interface MigrationState {
  name: string
  /** The number in its name: the time at which it was written. */
  timestamp: number
  executed: boolean
  /** Whether it has been run although its file is missing. */
  missing: boolean
  /** Whether its class has been edited since it was run. */
  edited: boolean
}

/**
 * Runs the pending migrations, oldest first, each in its own transaction. Processes that migrate at the same
 * time wait for each other.
 *
 * @param report is called after each migration, even when a later one fails
 * @returns the names of the migrations that were run
 * @throws MigrationFailed, which says what remains of the failed migration; MigrationsLocked
 */
export function migrate(database: LeaseDatabase, report: MigrationReport = ignore): Promise<string[]> {
  return repeat(database, 'up', report)
}

/**
 * Undoes the migrations that were run last, each in its own transaction.
 *
 * @param report is called after each migration, even when a later one fails
 * @returns the names of the migrations that were undone
 * @throws DeclarationError when the file of a migration is missing; MigrationFailed; MigrationsLocked
 */
export function rollback(
  database: LeaseDatabase,
  steps = 1,
  report: MigrationReport = ignore,
): Promise<string[]> {
  return repeat(database, 'down', report, steps)
}

/** Returns all migrations, oldest first, and whether each of them has been run. */
export async function migrationStatus(database: LeaseDatabase): Promise<MigrationState[]> {
  const history = new History(database)
  const executed = await history.getExecutedMigrations()
  const names = new Set(executed.map(({ name }) => name))
  // The table with the checksums exists only after the first migration.
  const checksums = executed.length > 0 ? await history.checksums() : new Map<string, string>()
  const all = history.all()
  const gone = executed.filter(({ name }) => !all.some((migration) => migration.name === name))
  return [...all, ...gone]
    .toSorted((a, b) => a.timestamp - b.timestamp)
    .map((migration) => ({
      name: migration.name,
      timestamp: migration.timestamp,
      executed: names.has(migration.name),
      missing: gone.includes(migration),
      edited: !gone.includes(migration) && isEdited(migration, checksums.get(migration.name)),
    }))
}

/** The method of a migration that runs it, or undoes it. */
type Direction = 'up' | 'down'

function ignore(): void {}

async function repeat(
  database: LeaseDatabase,
  direction: Direction,
  report: MigrationReport,
  limit = Infinity,
): Promise<string[]> {
  const names: string[] = []
  while (names.length < limit) {
    const name = await runNext(database, direction)
    if (name === undefined) break
    names.push(name)
    report(name)
  }
  return names
}

/** Runs or undoes the next migration. Returns its name, or undefined if there is none. */
async function runNext(database: LeaseDatabase, direction: Direction): Promise<string | undefined> {
  const runner = database.createQueryRunner()
  exemptRunner(runner)
  try {
    // On SQLite, foreign keys must be off before the transaction begins, because the setting is ignored
    // inside of it. Rebuilding a table with foreign keys on would delete the rows that refer to it.
    await runner.beforeMigration()
    return await withMigrationLock(database, runner, () =>
      retryTableLocks(() => runInTransaction(database, runner, direction)),
    )
  } finally {
    await runner.release()
  }
}

/** Runs or undoes the next migration. A migration without a transaction ends the one that is begun here. */
async function runInTransaction(
  database: LeaseDatabase,
  runner: QueryRunner,
  direction: Direction,
): Promise<string | undefined> {
  const history = new History(database)
  await runner.startTransaction()
  try {
    await engineOf(database).limitLocks?.(runner, tableLockWait)
    const executed = await history.executed(runner)
    const migration = direction === 'up' ? history.nextOf(executed) : history.lastOf(executed)
    if (migration) await runOne(migration, history, runner, direction, history.withoutFile(executed))
    if (runner.isTransactionActive) await runner.commitTransaction()
    return migration?.name
  } catch (error) {
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined)
    throw error
  }
}

/** Runs or undoes a migration in the current transaction, unless it opts out (`transaction = false`). */
async function runOne(
  migration: Migration,
  history: History,
  runner: QueryRunner,
  direction: Direction,
  gone: string[],
): Promise<void> {
  const instance = instanceOf(migration)
  const isTransactional = instance.transaction !== false
  if (!isTransactional) await runner.commitTransaction()
  const remains = watchRemains(runner, isTransactional)
  try {
    const before = await brokenReferences(runner)
    await instance[direction](runner)
    rejectBrokenReferences(before, await brokenReferences(runner))
    await (direction === 'up' ? history.add(runner, migration) : history.remove(runner, migration))
  } catch (error) {
    const done = direction === 'up' ? 'run' : 'undone'
    const left = remains()
    const report = [left, ...adviceFor(gone)].join(' ')
    throw new MigrationFailed(migration.name, done, report, error, left === nothingRemains)
  }
}

/** Finds broken references, on an engine where a migration can leave them. */
async function brokenReferences(runner: QueryRunner): Promise<BrokenReferences> {
  return (await engineOf(runner.dataSource).findBrokenReferences?.(runner)) ?? { rows: [], keys: [] }
}

/** @throws Error when there are more broken references than before */
function rejectBrokenReferences(before: BrokenReferences, after: BrokenReferences): void {
  const keys = after.keys.filter((key) => !before.keys.some((other) => isSame(key, other)))
  if (keys.length > 0) {
    throw new Error(`the migration leaves foreign keys to tables that do not exist: ${pairs(keys)}`)
  }
  if (after.rows.length > before.rows.length) {
    throw new Error(`the migration leaves references to rows that do not exist: ${pairs(after.rows)}`)
  }
}

function isSame(one: Reference, other: Reference): boolean {
  return one.table === other.table && one.parent === other.parent
}

function pairs(references: readonly Reference[]): string {
  return [...new Set(references.map(({ table, parent }) => `${table} to ${parent}`))].join(', ')
}

/** A possible reason why a table already exists: its migration was deleted, or is on another branch. */
function adviceFor(gone: string[]): string[] {
  if (gone.length === 0) return []
  return [`The files of migrations that have been run are missing: ${gone.join(', ')}. ${START_ANEW}`]
}

const START_ANEW = 'Restore the file, or run `kit db reset`, which deletes all records.'

function instanceOf(migration: Migration): MigrationInterface {
  if (!migration.instance)
    throw new DeclarationError(`The migration "${migration.name}" needs the methods up and down.`)
  return migration.instance
}

/** Whether a migration's class has another checksum than when it was run; false if that is unknown. */
function isEdited(migration: Migration, checksum = checksumOf(migration)): boolean {
  return checksum !== checksumOf(migration)
}

/** The checksum of a migration's compiled class. TypeORM does not keep the file's name. */
function checksumOf({ instance }: Migration): string | undefined {
  return instance && createHash('sha256').update(String(instance.constructor)).digest('base64url')
}

function rejectNames(names: readonly string[]): void {
  const untimed = names.find((name) => !/(?!0{13})\d{13}$/.test(name))
  if (untimed !== undefined) {
    throw new DeclarationError(
      `The class of the migration "${untimed}" needs a time at the end of its name, by which migrations are sorted: the 13 digits ` +
        `of \`Date.now()\`, like ${untimed.replace(/\d+$/, '')}1795132800000. Begin the name of its file with the same number.`,
    )
  }
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) {
    throw new DeclarationError(
      `Two migrations have the class name "${twice}", by which the database records that a migration has been run. ` +
        'Give the later one another name and time, in its class and its file.',
    )
  }
}

/** TypeORM's name of the table in which it records the migrations that have been run. */
const TABLE = 'migrations'

/** The migrations that have been run. The framework adds the `checksum` column to TypeORM's table. */
class History extends MigrationExecutor {
  /**
   * The application's migrations, oldest first.
   *
   * @throws DeclarationError when the name of a class has no time, or when two classes have the same name
   */
  all(): Migration[] {
    rejectNames(this.dataSource.migrations.map((one) => one.name ?? one.constructor.name))
    return this.getMigrations()
  }

  /** The names of the migrations that have been run, in the order in which they were run. */
  async executed(runner: QueryRunner): Promise<Set<string>> {
    await this.createMigrationsTableIfNotExist(runner)
    await new RdbmsSchemaBuilder(this.dataSource).createMetadataTableIfNecessary(runner)
    const executed = await this.loadExecutedMigrations(runner)
    return new Set(executed.toReversed().map(({ name }) => name))
  }

  /** The first migration that has not been run. */
  nextOf(executed: Set<string>): Migration | undefined {
    return this.all().find(({ name }) => !executed.has(name))
  }

  /** The migration that was run last. */
  lastOf(executed: Set<string>): Migration | undefined {
    const last = [...executed].at(-1)
    const migration = this.all().find(({ name }) => name === last)
    if (migration || last === undefined) return migration
    throw new DeclarationError(
      `The migration "${last}" has been run, but its file is missing, so it cannot be rolled back. ${START_ANEW}`,
    )
  }

  /** The names of the migrations that have been run, but whose files are missing. */
  withoutFile(executed: Set<string>): string[] {
    const names = new Set(this.all().map(({ name }) => name))
    return [...executed].filter((name) => !names.has(name))
  }

  /** The checksums of migrations when they were run, by name. Earlier versions recorded none. */
  async checksums(): Promise<Map<string, string>> {
    const query = this.dataSource.createQueryBuilder().select().from(TABLE, TABLE)
    const rows = await query.getRawMany<{ name: string; checksum?: string | null }>()
    return new Map(rows.flatMap(({ name, checksum }) => (checksum ? [[name, checksum]] : [])))
  }

  async add(runner: QueryRunner, migration: Migration): Promise<void> {
    if (!(await runner.hasColumn(TABLE, 'checksum')))
      await runner.query(`ALTER TABLE ${TABLE} ADD checksum varchar(64)`)
    await this.insertExecutedMigration(runner, migration)
    const { name } = migration
    const update = this.dataSource.createQueryBuilder(runner).update(TABLE)
    await update
      .set({ checksum: checksumOf(migration) })
      .where('name = :name', { name })
      .execute()
  }

  remove(runner: QueryRunner, migration: Migration): Promise<void> {
    return this.deleteExecutedMigration(runner, migration)
  }
}
