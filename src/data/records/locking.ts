import type { EntityManager, EntityMetadata, FindOneOptions } from 'typeorm'
import { VersionConflict } from '../../errors.js'
import { engineOf } from '../engines/engines.js'
import type { Model } from '../model.js'
import { isLocked } from './record-state.js'

/** The options of `ctx.find` and `ctx.findOneBy`. */
export interface FindRecordOptions {
  /**
   * Whether the record is locked until the request's transaction ends. Another request that locks it waits, and then reads
   * the values that this one has written. On SQLite the transaction itself is the lock. GET and HEAD cannot lock.
   */
  lock?: boolean
}

/** The clause of a SELECT that locks its rows. */
export function lockClause({ dataSource }: EntityManager): string {
  return engineOf(dataSource).rowLock ? ' FOR UPDATE' : ''
}

/** The same lock, as an option of a TypeORM query. */
export function lockOption(
  { dataSource }: EntityManager,
  metadata: EntityMetadata,
): Pick<FindOneOptions, 'lock'> {
  const lock = engineOf(dataSource).rowLock?.(metadata)
  return lock ? { lock } : {}
}

/** Locks the row of a record, and returns its version, if its model has one; undefined if there is no such row. */
export async function lockRow(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
): Promise<{ version: unknown } | undefined> {
  const { propertyPath } = metadata.versionColumn ?? { propertyPath: 'id' }
  const query = tx
    .createQueryBuilder(metadata.target, 'kept')
    .select(`kept.${propertyPath}`, 'version')
    .where({ id: record.id })
    .withDeleted()
    .setOption('disable-global-order')
  if (engineOf(tx.dataSource).rowLock) query.setLock('pessimistic_write')
  return query.getRawOne<{ version: unknown }>()
}

/**
 * Locks the row of a record whose model has a version, before TypeORM writes it: its `save` and `remove` compare no versions.
 *
 * @throws VersionConflict when the row has another version than the record, or does not exist
 */
export async function lockVersion(tx: EntityManager, metadata: EntityMetadata, record: Model): Promise<void> {
  const read: unknown = metadata.versionColumn?.getEntityValue(record)
  const row = await lockRow(tx, metadata, record)
  if (!row || (read !== undefined && String(read) !== String(row.version))) throw new VersionConflict()
}

/**
 * Prepares saving a record that was read under a lock. TypeORM reads the row again and writes the differences, but MariaDB
 * reads it as it was before the lock if the transaction had read anything earlier. A transaction always sees rows that it
 * has written itself, so this function writes the row first. It leaves the version, which `save` raises: otherwise `save` would
 * write the old version back.
 */
export async function updateLocked(tx: EntityManager, record: Model): Promise<void> {
  if (!isLocked(record) || !engineOf(tx.dataSource).readsSnapshots) return
  const updated_at = new Date(Math.max(Date.now(), Number(record.updated_at) + 1))
  const { versionColumn } = tx.dataSource.getMetadata(record.constructor)
  const version = versionColumn && {
    [versionColumn.propertyName]: () => tx.dataSource.driver.escape(versionColumn.databaseName),
  }
  await tx
    .createQueryBuilder()
    .update(record.constructor)
    .set({ updated_at, ...version })
    .where({ id: record.id })
    .callListeners(false)
    .updateEntity(false)
    .execute()
}
