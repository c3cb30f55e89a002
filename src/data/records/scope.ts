import { And, Equal, In, type EntityMetadata, type FindOperator, type FindOptionsWhere } from 'typeorm'
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js'
import { UnscopedRelation } from '../../errors.js'
import { Model } from '../model.js'
import { readAlternatives } from './conditions.js'
import { assignedIds, linksOf } from './links.js'
import type { Conditions, RecordWork } from './work.js'

/** Conditions that no record meets. */
export const none: Conditions = { id: In([]) }

/**
 * Conditions with the scopes of their model and of related models.
 *
 * @throws UnscopedRelation when the query joins a relation whose model has a scope
 */
export function scopedWhere<T>(
  work: RecordWork,
  metadata: EntityMetadata,
  where: object | undefined,
  relations?: unknown,
): FindOptionsWhere<T> | FindOptionsWhere<T>[] | undefined {
  rejectUnscopedRelations(work, metadata, relations)
  // The scope has conditions on the same model.
  const related = where && withRelatedScopes(work, metadata, where)
  return withinScope(metadata, related, work.scopeFor(metadata.target)) as
    | FindOptionsWhere<T>
    | FindOptionsWhere<T>[]
    | undefined
}

/** Adds a scope to conditions: a record must meet both. This is the only place where scopes are added. */
export function withinScope(
  metadata: EntityMetadata,
  where: object | undefined,
  scope: Conditions | undefined,
): Conditions | undefined {
  if (!scope) return where as Conditions | undefined
  const read = where && readAlternatives(metadata, where)
  if (where && !read) return none
  return eachWithEach(read ?? {}, scope)
}

/** Adds the scopes of related models to conditions on relations: the related record must meet them, too. */
export function withRelatedScopes(work: RecordWork, metadata: EntityMetadata, where: object): object {
  if (Array.isArray(where)) return where.map((one: object) => withRelatedScopes(work, metadata, one))
  const result: Record<string, unknown> = { ...where }
  for (const { propertyName, inverseEntityMetadata: related } of metadata.relations) {
    const value = result[propertyName]
    // Without conditions, it finds nothing.
    if (!isNested(value) || Object.keys(value).length === 0) continue
    const scope = work.scopeFor(related.target)
    const conditions = withRelatedScopes(work, related, nested(value))
    result[propertyName] = scope ? eachWithEach(conditions, scope) : conditions
  }
  return result
}

/** The alternatives of both conditions, each with each. An empty list has no conditions, as in TypeORM. */
function eachWithEach(where: object, scope: object): Conditions {
  const [ones, others] = [alternatives(where), alternatives(scope)]
  const pairs = ones.flatMap((one) => others.map((other) => both(one, other)))
  return pairs.length === 1 ? (pairs[0] ?? none) : pairs
}

function alternatives(conditions: object): readonly object[] {
  const list: object[] = [conditions].flat()
  return list.length === 0 ? [{}] : list
}

function both(one: object, other: object): object {
  const result: Record<string, unknown> = { ...one }
  for (const [name, value] of Object.entries(other))
    result[name] = name in result ? bothValues(result[name], value) : value
  return result
}

function bothValues(one: unknown, other: unknown): unknown {
  if (one === other) return one
  if (isNested(one) && isNested(other)) return eachWithEach(nested(one), nested(other))
  return And(operator(one), operator(other))
}

/** Whether a value has conditions on a related record. */
function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || InstanceChecker.isFindOperator(value)) return false
  return value instanceof Model || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

function nested(value: object): object {
  return value instanceof Model ? { id: value.id } : value
}

function operator(value: unknown): FindOperator<unknown> {
  return InstanceChecker.isFindOperator(value) ? value : Equal(value)
}

function rejectUnscopedRelations(work: RecordWork, metadata: EntityMetadata, relations: unknown): void {
  for (const { propertyName, isEager, inverseEntityMetadata } of metadata.relations) {
    const joined: unknown = Reflect.get(Object(relations), propertyName)
    if (!joined && !isEager) continue
    if (work.scopeFor(inverseEntityMetadata.target))
      throw new UnscopedRelation(metadata.targetName, propertyName, inverseEntityMetadata.targetName)
    if (joined) rejectUnscopedRelations(work, inverseEntityMetadata, joined)
  }
}

/** The attributes of a record that refer to records outside of the scope of their model. */
export async function referencesOutOfScope(
  work: RecordWork,
  record: Model,
  bound: ReadonlySet<string>,
): Promise<string[]> {
  if (bound.size === 0) return []
  const { tx } = work
  const metadata = tx.dataSource.getMetadata(record.constructor)
  const outside: string[] = []
  for (const { name, target, ids } of referencesOf(metadata, record)) {
    const scope = bound.has(name) && ids.length > 0 ? work.scopeFor(target.target) : undefined
    if (!scope) continue
    const where = withinScope(target, { id: In(ids) }, scope)
    if ((await tx.countBy(target.target, where ?? {})) < ids.length) outside.push(name)
  }
  return outside
}

/** The attributes of a record with ids of related records. */
function referencesOf(metadata: EntityMetadata, record: Model) {
  const keys = metadata.relations.flatMap(({ joinColumns, isManyToMany, inverseEntityMetadata: target }) => {
    const [key] = isManyToMany ? [] : joinColumns
    const id: unknown = key?.getEntityValue(record)
    return key ? [{ name: key.propertyName, target, ids: typeof id === 'string' ? [id] : [] }] : []
  })
  const lists = linksOf(metadata).map(({ property, relation: { inverseEntityMetadata: target } }) => {
    const ids = assignedIds(record, property) ?? []
    return { name: property, target, ids: ids.filter((id) => typeof id === 'string') }
  })
  return [...keys, ...lists]
}
