import type { EntityManager, EntityMetadata, EntityTarget, FindOptionsWhere } from 'typeorm'
import { RecordNotFound } from '../../errors.js'
import type { Model } from '../model.js'
import { readConditions } from './conditions.js'
import { fastPath } from './fast-path/fast-path.js'
import { linksOf, loadLinks } from './links.js'
import { rejectUnscopedRelations, withinScope, withRelatedScopes } from './scope.js'
import { unscoped, type ScopeFor } from './scoped-ids.js'
import { lockOption, markLocked, type FindRecordOptions } from './locking.js'

/**
 * Finds the record of a model by its id.
 *
 * @throws RecordNotFound (404) if there is none, or if the id is not text
 */
export function findRecord<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  id: unknown,
  options?: FindRecordOptions,
  scopeFor?: ScopeFor,
): Promise<T> {
  return findRecordBy(tx, model, typeof id === 'string' ? { id } : {}, options, scopeFor)
}

/**
 * Finds one record of a model by the values of its columns.
 *
 * @param scopeFor the scopes that the record and its links must meet
 * @example await findRecordBy(tx, Comment, { id: comment_id, post_id })
 * @throws RecordNotFound (404) if there is none, if no record can meet the conditions, or if there are no conditions
 */
export async function findRecordBy<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  conditions: object,
  { lock = false }: FindRecordOptions = {},
  scopeFor: ScopeFor = unscoped,
): Promise<T> {
  const metadata = tx.dataSource.getMetadata(model)
  rejectUnscopedRelations(metadata, undefined, scopeFor)
  const scope = scopeFor(metadata.target)
  const where = namesColumns(conditions) ? readConditions(metadata, conditions) : undefined
  const within = (found: object) => withinScope(metadata, withRelatedScopes(metadata, found, scopeFor), scope)
  const record = where && (await findOne<T>(tx, metadata, within(where) ?? where, lock))
  if (!record) throw notFound(metadata)
  if (lock) markLocked(record)
  if (linksOf(metadata).length > 0) await loadLinks(tx, metadata, [record], scopeFor)
  return record
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
  where: object,
  lock: boolean,
): Promise<T | undefined> {
  const found = await fastPath(tx, metadata)?.select(tx, { where, limit: 1, lock })
  // The fast path's records are of the model's class.
  if (found) return found[0] as T | undefined
  const options = { where: where as FindOptionsWhere<T>, ...(lock && lockOption(tx, metadata)) }
  return (await tx.findOne<T>(metadata.target, options)) ?? undefined
}
