import type { EntityManager, EntityMetadata, FindOneOptions } from 'typeorm'
import { engineOf } from '../engines/engines.js'
import type { Model } from '../model.js'

/** How a record is found. */
export interface FindRecordOptions {
  /**
   * Whether the record is locked until the request's transaction ends: another request that locks it waits, and then
   * reads what this one has written. On SQLite the transaction itself is the lock. GET and HEAD cannot lock.
   */
  lock?: boolean
}

const lockedRecords = new WeakSet<object>()

/** The end of a SELECT that locks its rows. */
export function lockClause({ dataSource }: EntityManager): string {
  return engineOf(dataSource).rowLock ? ' FOR UPDATE' : ''
}

/** The same for a query of TypeORM. */
export function lockOption(
  { dataSource }: EntityManager,
  metadata: EntityMetadata,
): Pick<FindOneOptions, 'lock'> {
  const lock = engineOf(dataSource).rowLock?.(metadata)
  return lock ? { lock } : {}
}

/** Notes that a record has been read under a lock. */
export function markLocked(record: object): void {
  lockedRecords.add(record)
}

/**
 * Prepares the saving of a record that was read under a lock. TypeORM writes what differs from a row that it reads before,
 * and MariaDB reads that row as it was before the lock, if the transaction had read anything by then. A transaction sees
 * the rows that it has written itself as they are, so this one is written.
 */
export async function seeLocked(tx: EntityManager, record: Model): Promise<void> {
  if (!lockedRecords.has(record) || !engineOf(tx.dataSource).readsSnapshots) return
  const updated_at = new Date(Math.max(Date.now(), Number(record.updated_at) + 1))
  await tx
    .createQueryBuilder()
    .update(record.constructor)
    .set({ updated_at })
    .where({ id: record.id })
    .callListeners(false)
    .updateEntity(false)
    .execute()
}
