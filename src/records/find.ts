import type { EntityManager, EntityMetadata, EntityTarget, FindOptionsOrder, FindOptionsWhere } from 'typeorm'
import { RecordNotFound } from '../errors.js'
import type { Model } from '../models/model.js'
import { readAlternatives, readConditions } from './conditions.js'
import { fastPath } from './fast-path/fast-path.js'
import { idListsOf, loadIdLists } from './joins.js'
import { addScopes } from './scope.js'
import { lockOption, type FindRecordOptions, type TrashOptions } from './locking.js'
import { requireTrash, selectTrashed } from './trash.js'
import { storeConditions, markLocked } from '../models/record-state.js'
import { isObserved, noteLoaded } from './participants.js'
import type { RecordWork } from './work.js'

/**
 * Finds the record of a model by its id.
 *
 * @throws RecordNotFound (404) if there is none, or if the id is not text
 */
export function findRecord<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  id: unknown,
  options?: FindRecordOptions,
): Promise<T> {
  return findRecordBy(work, model, typeof id === 'string' ? { id } : {}, options)
}

/**
 * Finds one record of a model by the values of its columns.
 *
 * @example await findRecordBy(work, Comment, { id: comment_id, post_id })
 * @throws RecordNotFound (404) if there is none, if no record can meet the conditions, or if there are no
 *   conditions
 * @throws UnscopedRelation if the model has an eager relation to a model with a scope
 */
export async function findRecordBy<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  conditions: object,
  { lock = false, trashed = false }: FindRecordOptions = {},
): Promise<T> {
  const { tx } = work
  const metadata = tx.dataSource.getMetadata(model)
  if (trashed) requireTrash(metadata, '`trashed: true`')
  const readable = hasColumns(conditions) ? readConditions(metadata, conditions) : undefined
  const where = addScopes<T>(work, metadata, readable)
  const record = readable && where && (await findOne<T>(tx, metadata, where, lock, trashed))
  if (!record) throw createNotFound(metadata)
  if (lock) markLocked(record)
  if (metadata.versionColumn && !('id' in conditions)) storeConditions(record, conditions)
  if (idListsOf(metadata).length > 0) await loadIdLists(work, metadata, [record])
  if (isObserved(metadata)) await noteLoaded(work, metadata, [record])
  return record
}

/** Finds all records of a model that meet the conditions; without conditions, all in its scope. */
export async function findRecords<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  { where: conditions, order, trashed }: { where?: object; order?: FindOptionsOrder<T> } & TrashOptions,
): Promise<T[]> {
  const metadata = work.tx.dataSource.getMetadata(model)
  if (trashed) requireTrash(metadata, '`trashed: true`')
  const readable = conditions && readAlternatives(metadata, conditions)
  // An eager relation to a model with a scope is rejected, even if no record can meet the conditions.
  const where = addScopes<T>(work, metadata, readable)
  if (conditions && !readable) return []
  const options = { ...(where && { where }), ...(order && { order }) }
  const records = trashed
    ? await selectTrashed<T>(work.tx, metadata, where, options).getMany()
    : await work.tx.find(model, options)
  if (isObserved(metadata)) await noteLoaded(work, metadata, records)
  return records
}

/** Whether conditions contain a column. Lists and empty objects would find the first record. */
function hasColumns(conditions: unknown): conditions is object {
  if (typeof conditions !== 'object' || conditions === null || Array.isArray(conditions)) return false
  return Object.keys(conditions).length > 0
}

/** Creates the error for a missing record: in production without a stack, which takes 7 % of the CPU time. */
function createNotFound({ targetName, dataSource }: EntityMetadata): RecordNotFound {
  const { stackTraceLimit } = Error
  // A plain DataSource of TypeORM has no environment.
  if (Reflect.get(dataSource, 'environment') === 'production') Error.stackTraceLimit = 0
  const error = new RecordNotFound(targetName)
  Error.stackTraceLimit = stackTraceLimit
  return error
}

async function findOne<T extends Model>(
  tx: EntityManager,
  metadata: EntityMetadata,
  where: FindOptionsWhere<T> | FindOptionsWhere<T>[],
  lock: boolean,
  trashed: boolean,
): Promise<T | undefined> {
  const locked = lock && lockOption(tx, metadata)
  if (trashed) return (await selectTrashed<T>(tx, metadata, where, { ...locked }).getOne()) ?? undefined
  const promise = fastPath(tx, metadata)?.find(tx, where, lock)
  // The fast path's records are of the model's class.
  if (promise) return (await promise) as T | undefined
  const options = { where, ...locked }
  return (await tx.findOne<T>(metadata.target, options)) ?? undefined
}
