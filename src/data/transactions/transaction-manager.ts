import { EntityManager } from 'typeorm'
import type { DataSource, QueryRunner } from 'typeorm'
import type { Savepoints } from './savepoints.js'
import type { PendingWork } from './pending-work.js'

/** The EntityManager of a request, which tracks the request's running work. */
export class TransactionManager extends EntityManager {
  constructor(
    dataSource: DataSource,
    queryRunner: QueryRunner,
    readonly work: PendingWork,
    readonly savepoints: Savepoints,
  ) {
    super(dataSource, queryRunner)
  }
}

/** Runs work that must end before the request's transaction. With any other manager, it runs untracked. */
export function track<T>(tx: unknown, work: () => Promise<T>): Promise<T> {
  return tx instanceof TransactionManager ? tx.work.run(work) : work()
}

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

type Method = (this: TransactionManager, ...args: unknown[]) => Promise<unknown>

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
        return this.work.run(() => method.apply(this, args))
      },
  )
}

replace(
  'transaction',
  (method) =>
    function (...args) {
      return this.work.run(() => this.savepoints.nest(() => method.apply(this, args)))
    },
)
