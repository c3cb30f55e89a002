import type { EntityManager, EntityMetadata, EntityTarget, FindOptionsOrder, FindOptionsWhere } from 'typeorm'
import { RecordNotFound } from '../../errors.js'
import type { Model } from '../model.js'
import { readAlternatives, readConditions } from './conditions.js'
import { fastPath } from './fast-path/fast-path.js'
import { linksOf, loadLinks } from './links.js'
import { scopedWhere } from './scope.js'
import { lockOption, type FindRecordOptions } from './locking.js'
import { markFound, markLocked } from './record-state.js'
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
 * @throws RecordNotFound (404) if there is none, if no record can meet the conditions, or if there are no conditions
 */
export async function findRecordBy<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  conditions: object,
  { lock = false }: FindRecordOptions = {},
): Promise<T> {
  const { tx } = work
  const metadata = tx.dataSource.getMetadata(model)
  const read = namesColumns(conditions) ? readConditions(metadata, conditions) : undefined
  const where = scopedWhere<T>(work, metadata, read)
  const record = read && where && (await findOne(tx, metadata, where, lock))
  if (!record) throw notFound(metadata)
  if (lock) markLocked(record)
  if (metadata.versionColumn && !('id' in conditions)) markFound(record, conditions)
  if (linksOf(metadata).length > 0) await loadLinks(work, metadata, [record])
  return record
}

export async function findRecords<T extends Model>(
  work: RecordWork,
  model: EntityTarget<T>,
  { where: given, order }: { where?: object; order?: FindOptionsOrder<T> },
): Promise<T[]> {
  const metadata = work.tx.dataSource.getMetadata(model)
  const readable = given && readAlternatives(metadata, given)
  const where = scopedWhere<T>(work, metadata, readable)
  if (given && !readable) return []
  return work.tx.find(model, { ...(where && { where }), ...(order && { order }) })
}

/** Whether conditions contain a column. A list, or an object without conditions, would find the first record. */
function namesColumns(conditions: unknown): conditions is object {
  if (typeof conditions !== 'object' || conditions === null || Array.isArray(conditions)) return false
  return Object.keys(conditions).length > 0
}

/** In production, responses do not show where the record was looked for, and creating a stack is slow. */
function notFound({ targetName, dataSource }: EntityMetadata): RecordNotFound {
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
): Promise<T | undefined> {
  const found = fastPath(tx, metadata)?.find(tx, where, lock)
  // The fast path's records are of the model's class.
  if (found) return (await found) as T | undefined
  const options = { where, ...(lock && lockOption(tx, metadata)) }
  return (await tx.findOne<T>(metadata.target, options)) ?? undefined
}
