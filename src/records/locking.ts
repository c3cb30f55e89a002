import type { EntityManager, EntityMetadata, FindOneOptions } from 'typeorm'
import { engineOf } from '../database/engines/engines.js'

/** Which records are read. */
export interface TrashOptions {
  /**
   * Whether only trashed records are read, which are left out otherwise (no). Their model has
   * `@DeleteDateColumn`.
   */
  trashed?: boolean | undefined
}

/** The options of `ctx.find` and `ctx.findOneBy`. */
export interface FindRecordOptions extends TrashOptions {
  /**
   * Whether the record is locked until the request's transaction ends. Another request that locks the record
   * waits, and then reads the values that this request has written. On SQLite the transaction itself is the
   * lock. GET and HEAD cannot lock.
   */
  lock?: boolean
}

/** The clause of a SELECT that locks its rows; empty if the transaction locks the database. */
export function lockClause({ dataSource }: EntityManager): string {
  return engineOf(dataSource).rowLocks ? ' FOR UPDATE' : ''
}

/** Returns the lock of rows as an option of a TypeORM query. */
export function lockOption(
  { dataSource }: EntityManager,
  metadata: EntityMetadata,
): Pick<FindOneOptions, 'lock'> {
  const lock = engineOf(dataSource).rowLocks?.mode(metadata)
  return lock ? { lock } : {}
}
