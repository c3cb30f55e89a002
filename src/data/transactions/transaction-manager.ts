import { EntityManager } from 'typeorm'
import type { DataSource, QueryRunner } from 'typeorm'
import type { Savepoints } from './savepoints.js'
import type { PendingWork } from './pending-work.js'

/** The EntityManager of a request, which knows what of its work is still under way. */
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

/** Work of a request that its transaction must not end before. With any other manager it is just done. */
export function track<T>(tx: unknown, work: () => Promise<T>): Promise<T> {
  return tx instanceof TransactionManager ? tx.work.run(work) : work()
}

/** The methods of an EntityManager that ask the database. */
const ASKING = [
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
  // Each method has a type of its own; what they are replaced by passes its arguments on, whatever they are.
  const method = Reflect.get(EntityManager.prototype, name) as Method
  Object.defineProperty(TransactionManager.prototype, name, { value: by(method) })
}

for (const name of ASKING) {
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
