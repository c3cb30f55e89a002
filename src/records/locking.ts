import type { EntityManager, EntityMetadata, FindOneOptions } from 'typeorm'
import { VersionConflict, VersionNotLoaded } from '../errors.js'
import { engineOf } from '../database/engines/engines.js'
import type { Model } from '../models/model.js'
import { isLocked } from '../models/record-state.js'

/** The options of `ctx.find` and `ctx.findOneBy`. */
export interface FindRecordOptions {
  /**
   * Whether the record is locked until the request's transaction ends. Another request that locks the record waits, and then
   * reads the values that this request has written. On SQLite the transaction itself is the lock. GET and HEAD cannot lock.
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

/** Locks the row of a record. Returns its version (its id if the model has no versions); undefined if the row is missing. */
export async function lockRow(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
): Promise<{ version: unknown } | undefined> {
  const { propertyPath } = metadata.versionColumn ?? { propertyPath: 'id' }
  const query = tx
    .createQueryBuilder(metadata.target, 'locked')
    .select(`locked.${propertyPath}`, 'version')
    .where({ id: record.id })
    .withDeleted()
    .setOption('disable-global-order')
  if (engineOf(tx.dataSource).rowLocks) query.setLock('pessimistic_write')
  return query.getRawOne<{ version: unknown }>()
}

/** @throws VersionNotLoaded when a saved record lacks the version that its model has */
export function requireVersion({ versionColumn, targetName }: EntityMetadata, record: Model): void {
  if (versionColumn && versionColumn.getEntityValue(record) === undefined)
    throw new VersionNotLoaded(targetName, versionColumn.propertyName)
}

/**
 * Locks the row of a record whose model has a version, before TypeORM writes it, because TypeORM does not compare versions.
 *
 * @throws VersionConflict when the row has another version than the record, or does not exist
 */
export async function lockVersion(tx: EntityManager, metadata: EntityMetadata, record: Model): Promise<void> {
  const version: unknown = metadata.versionColumn?.getEntityValue(record)
  const row = await lockRow(tx, metadata, record)
  if (!row || (version !== undefined && String(version) !== String(row.version))) throw new VersionConflict()
}

/**
 * Writes the row of a locked record once before it is saved. TypeORM's `save` reads the row again and writes the differences,
 * but MariaDB returns the row as it was before the lock if the transaction had read anything earlier. A transaction always sees
 * rows that it has written itself. The version is set to itself, because TypeORM would raise it here and again in `save`.
 */
export async function updateLocked(tx: EntityManager, record: Model): Promise<void> {
  if (!isLocked(record) || !engineOf(tx.dataSource).readsSnapshots) return
  // Later than the stored time, even if the clock was set back.
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
