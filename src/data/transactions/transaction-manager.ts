import { EntityManager, QueryBuilder, Repository } from 'typeorm'
import type { DataSource, QueryRunner } from 'typeorm'
import { memoizeByObject } from '../../common/memoize.js'
import { RunningWork } from './running-work.js'

/** The transaction that a manager belongs to. */
interface Owner {
  readonly work: RunningWork
  read(sql: string, values: unknown[]): Promise<unknown>
  write(sql: string, values: unknown[]): Promise<unknown>
}

/** The EntityManager of a request, whose methods are part of the work of the request's transaction. */
export class TransactionManager extends EntityManager {
  constructor(
    dataSource: DataSource,
    queryRunner: QueryRunner,
    private readonly owner: Owner,
  ) {
    super(dataSource, queryRunner)
  }

  get work(): RunningWork {
    return this.owner.work
  }

  /** Runs a query that only reads records, and locks nothing. */
  read(sql: string, values: unknown[]): Promise<unknown> {
    return this.owner.read(sql, values)
  }

  /** Runs one statement in a savepoint. */
  write(sql: string, values: unknown[]): Promise<unknown> {
    return this.owner.write(sql, values)
  }
}

/**
 * Runs work in a savepoint of the transaction, so that the transaction survives if the work fails. Concurrent savepoints
 * run one after the other: TypeORM numbers them by their depth, so that parallel ones would undo each other's work.
 * Outside of a transaction, the work has its own transaction.
 */
export function inSavepoint<T>(
  tx: EntityManager,
  work: (savepoint: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = tx.queryRunner
  if (!runner || tx instanceof TransactionManager) return tx.transaction(work)
  return workOf(runner).nest(() => tx.transaction(work))
}

/** The work of transactions that do not belong to a request. */
const workOf = memoizeByObject((_runner: QueryRunner) => new RunningWork())

/** The methods of an EntityManager that query the database. */
const QUERY_METHODS = [
  'query',
  'sql',
  'save',
  'remove',
  'softRemove',
  'recover',
  'insert',
  'upsert',
  'update',
  'updateAll',
  'delete',
  'deleteAll',
  'softDelete',
  'restore',
  'clear',
  'increment',
  'decrement',
  'preload',
  'exists',
  'existsBy',
  'count',
  'countBy',
  'sum',
  'average',
  'minimum',
  'maximum',
  'find',
  'findBy',
  'findAndCount',
  'findAndCountBy',
  'findOne',
  'findOneBy',
  'findOneOrFail',
  'findOneByOrFail',
] as const

type Method = (this: TransactionManager, ...args: unknown[]) => unknown

function replace(name: keyof EntityManager, by: (method: Method) => Method): void {
  // Each method has its own type. The replacement passes all arguments on.
  const method = Reflect.get(EntityManager.prototype, name) as Method
  Object.defineProperty(TransactionManager.prototype, name, { value: by(method) })
}

for (const name of QUERY_METHODS) {
  replace(
    name,
    (method) =>
      function (...args) {
        return this.work.run(async () => method.apply(this, args))
      },
  )
}

replace(
  'transaction',
  (method) =>
    function (...args) {
      return this.work.run(() => this.work.nest(async () => method.apply(this, args)))
    },
)

/** The methods of an EntityManager whose results query the database. */
for (const name of ['createQueryBuilder', 'getRepository', 'getTreeRepository', 'withRepository'] as const) {
  replace(
    name,
    (method) =>
      function (...args) {
        return observed(this.work, method.apply(this, args))
      },
  )
}

/** Lets the work of a transaction own the promises of a repository or a query builder. */
function observed(work: RunningWork, result: unknown): unknown {
  if (result instanceof Promise) return work.observe(result)
  if (!(result instanceof QueryBuilder) && !(result instanceof Repository)) return result
  const proxy: object = new Proxy(result, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function' || name === 'constructor') return member
      return (...args: unknown[]) => {
        const returned: unknown = Reflect.apply(member, target, args)
        return returned === target ? proxy : observed(work, returned)
      }
    },
  })
  return proxy
}
