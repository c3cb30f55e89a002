import {
  And,
  Equal,
  In,
  IsNull,
  Not,
  type EntityMetadata,
  type FindOperator,
  type FindOptionsWhere,
} from 'typeorm'
import { InstanceChecker } from 'typeorm/util/InstanceChecker.js'
import { UnscopedRelation } from '../errors.js'
import { Model } from '../models/model.js'
import { readAlternatives } from './conditions.js'
import { enclosuresOf, memoizeWithin, type Enclosure } from './within.js'
import type { Conditions, RecordWork } from './work.js'

/** Conditions that no record meets. */
export const noRecords: Conditions = { id: In([]) }

/** A relation to a containing record that can be in the trash, and the conditions of those that are not. */
interface Container extends Enclosure {
  outside: Conditions
}

/** The containing records that can be trashed, or be in such. Those in them are then out of reach. */
const containersOf = memoizeWithin((metadata: EntityMetadata): Container[] =>
  enclosuresOf(metadata).flatMap((enclosure): Container[] => {
    const { inverseEntityMetadata: container } = enclosure.relation
    const { deleteDateColumn: date } = container
    const further = containersOf(container).map(({ relation, outside }) => [relation.propertyName, outside])
    if (!date && further.length === 0) return []
    // TypeORM joins no trashed record, so that a column that is null does not tell that the record is
    // outside.
    const own = date && { id: Not(IsNull()), [date.propertyPath]: IsNull() }
    return [{ ...enclosure, outside: { ...own, ...Object.fromEntries(further) } }]
  }),
)

/**
 * The scope of a model in a request: that of its policy, without the records in a trashed one. TypeORM itself
 * leaves out trashed records.
 *
 * @param where the conditions that the records meet already
 */
export function scopeOf(work: RecordWork, metadata: EntityMetadata, where?: object): Conditions | undefined {
  const scope = work.scopeFor(metadata.target, where)
  return containersOf(metadata).reduce((all, { relation, key, outside }) => {
    const found = work.foundInPath?.(relation.inverseEntityMetadata.target)
    if (!found || found.includes(Reflect.get(Object(where), key.propertyName))) return all
    return combineAlternatives(all ?? {}, { [relation.propertyName]: outside })
  }, scope)
}

/**
 * Adds the scopes of a model and of related models to conditions.
 *
 * @throws UnscopedRelation when the query joins a relation whose model has a scope
 */
export function addScopes<T>(
  work: RecordWork,
  metadata: EntityMetadata,
  where: object | undefined,
  relations?: unknown,
): FindOptionsWhere<T> | FindOptionsWhere<T>[] | undefined {
  rejectUnscopedRelations(work, metadata, relations)
  // The related scopes limit the conditions on relations in `where`, not those that the scope of the model
  // itself has.
  const related = where && addRelatedScopes(work, metadata, where)
  return addScope(metadata, related, scopeOf(work, metadata, where)) as
    | FindOptionsWhere<T>
    | FindOptionsWhere<T>[]
    | undefined
}

/** Adds the scope of a model to conditions, so that a record must meet both. */
export function addScope(
  metadata: EntityMetadata,
  where: object | undefined,
  scope: Conditions | undefined,
): Conditions | undefined {
  if (!scope) return where as Conditions | undefined
  const readable = where && readAlternatives(metadata, where)
  if (where && !readable) return noRecords
  return combineAlternatives(readable ?? {}, scope)
}

/** Adds the scopes of related models to conditions on relations, which the related records must meet, too. */
export function addRelatedScopes(work: RecordWork, metadata: EntityMetadata, where: object): object {
  if (Array.isArray(where)) return where.map((item: object) => addRelatedScopes(work, metadata, item))
  const result: Record<string, unknown> = { ...where }
  for (const { propertyName, inverseEntityMetadata: related } of metadata.relations) {
    const value = result[propertyName]
    // Empty conditions find nothing. With a scope added, they would not be empty.
    if (!isNested(value) || Object.keys(value).length === 0) continue
    const conditions = addRelatedScopes(work, related, toConditions(value))
    const scope = scopeOf(work, related, conditions)
    result[propertyName] = scope ? combineAlternatives(conditions, scope) : conditions
  }
  return result
}

/** Combines alternative conditions with each of the scope. An empty list finds all, as in TypeORM. */
export function combineAlternatives(where: object, scope: object): Conditions {
  const pairs = toAlternatives(where).flatMap((left) =>
    toAlternatives(scope).map((right) => combine(left, right)),
  )
  const [pair, ...others] = pairs
  return pair && others.length === 0 ? pair : pairs
}

function toAlternatives(conditions: object): readonly object[] {
  const list: object[] = [conditions].flat()
  return list.length === 0 ? [{}] : list
}

function combine(left: object, right: object): object {
  const result: Record<string, unknown> = { ...left }
  for (const [name, value] of Object.entries(right))
    result[name] = name in result ? combineValues(result[name], value) : value
  return result
}

function combineValues(left: unknown, right: unknown): unknown {
  // The id in the path, which is one of those in the scope, is one value, for which there are cached
  // statements.
  if (left === right || isOneOf(left, right)) return left
  if (isNested(left) && isNested(right)) return combineAlternatives(toConditions(left), toConditions(right))
  return And(toOperator(left), toOperator(right))
}

/** Whether a value is in the list of an `In` operator. */
function isOneOf(value: unknown, operator: unknown): boolean {
  if (!InstanceChecker.isFindOperator(operator) || operator.type !== 'in') return false
  const list: unknown = operator.value
  return typeof value === 'string' && Array.isArray(list) && list.includes(value)
}

/** Whether a value has conditions on a related record. */
function isNested(value: unknown): value is object {
  if (typeof value !== 'object' || value === null || InstanceChecker.isFindOperator(value)) return false
  return value instanceof Model || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype
}

function toConditions(value: object): object {
  return value instanceof Model ? { id: value.id } : value
}

function toOperator(value: unknown): FindOperator<unknown> {
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
