import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'

/** The state of a record that is not in its properties. */
interface RecordState {
  /** The value of each property when it was loaded or saved, and a list's elements, which can change. */
  readonly loaded: Map<string, { value: unknown; elements: readonly unknown[] }>
  /** Whether the record was read with a lock. */
  isLocked: boolean
  /** The conditions by which the record was found, if it has a version and they lack its id. */
  conditions?: object
}

const states = new WeakMap<object, RecordState>()

function stateOf(record: object): RecordState {
  let state = states.get(record)
  if (!state) states.set(record, (state = { loaded: new Map(), isLocked: false }))
  return state
}

export function markLocked(record: object): void {
  stateOf(record).isLocked = true
}

export function isLocked(record: object): boolean {
  return states.get(record)?.isLocked === true
}

/** Stores the conditions by which a record was found, because its values can change later. */
export function storeConditions(record: object, conditions: object): void {
  stateOf(record).conditions = conditions
}

/** The conditions by which a record of a model with versions was found; undefined if they had its id. */
export function conditionsOf(record: object): object | undefined {
  return states.get(record)?.conditions
}

/** Marks the current value of a property as loaded, so that it is not written with the record. */
export function markLoaded(record: object, property: string): void {
  const value: unknown = Reflect.get(record, property)
  stateOf(record).loaded.set(property, { value, elements: elementsOf(value) })
}

/** The elements of the list that a property was loaded with; undefined if it was not loaded. */
export function loadedElements(record: object, property: string): readonly unknown[] | undefined {
  return states.get(record)?.loaded.get(property)?.elements
}

/** Whether a property has the value with which it was loaded. An assigned list with equal elements is not. */
export function isUnchanged(record: object, property: string): boolean {
  const loaded = states.get(record)?.loaded.get(property)
  const value: unknown = Reflect.get(record, property)
  if (!loaded || loaded.value !== value) return false
  const elements = elementsOf(value)
  return (
    elements.length === loaded.elements.length &&
    elements.every((element, index) => element === loaded.elements[index])
  )
}

function elementsOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? [...value] : []
}

/** Sets a property to ids that the database contains. Saving the record does not write them. */
export function setLoadedIds(record: object, property: string, ids: readonly string[]): void {
  // The order of the ids in the database differs between engines.
  Object.assign(record, { [property]: ids.toSorted() })
  markLoaded(record, property)
}

/** The new, distinct ids of a property; undefined if it has neither been bound nor assigned nor changed. */
export function assignedIds(record: object, property: string): unknown[] | undefined {
  const value: unknown = Reflect.get(record, property)
  return value === undefined || isUnchanged(record, property) ? undefined : [...new Set([value].flat())]
}

/** Sets the keys of relations that were assigned, and returns these relations. */
export function assignKeys(metadata: EntityMetadata, record: object): readonly RelationMetadata[] {
  const assigned = metadata.relations.filter(
    (relation) => isSet(record, relation) && !isUnchanged(record, relation.propertyName),
  )
  for (const relation of assigned) {
    for (const { propertyName, referencedColumn } of ownKeysOf(relation)) {
      const key = keyOf(Reflect.get(record, relation.propertyName), referencedColumn)
      // The id of a new record is set when it is inserted.
      if (key !== undefined) Object.assign(record, { [propertyName]: key })
    }
  }
  return assigned
}

/**
 * Marks the relations of a saved record as unchanged. A relation that was loaded is deleted from the object
 * if the record's key refers to another related record by now.
 */
export function markSaved(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations) {
    const { propertyName } = relation
    if (isUnchanged(record, propertyName) && hasOtherKey(record, relation)) {
      Reflect.deleteProperty(record, propertyName)
      states.get(record)?.loaded.delete(propertyName)
    } else if (isSet(record, relation)) markLoaded(record, propertyName)
  }
}

function isSet(record: object, { propertyName }: RelationMetadata): boolean {
  return Reflect.get(record, propertyName) !== undefined
}

/** Returns the records that the value of a relation contains. */
export function recordsOf(value: unknown): object[] {
  return [value].flat().filter((element) => typeof element === 'object' && element !== null)
}

/** Whether a record's key refers to another record than the one that its relation contains. */
function hasOtherKey(record: object, relation: RelationMetadata): boolean {
  const value: unknown = Reflect.get(record, relation.propertyName)
  return ownKeysOf(relation).some(({ propertyName, referencedColumn }) => {
    const key: unknown = Reflect.get(record, propertyName)
    return key !== undefined && key !== keyOf(value, referencedColumn)
  })
}

/** The key of a related record; null if the relation contains none. */
function keyOf(value: unknown, column: ColumnMetadata | undefined): unknown {
  const [related] = recordsOf(value)
  return related ? column?.getEntityValue(related) : null
}

/** The key columns of a relation that are properties of its own model. A to-many relation has none. */
export function ownKeysOf(relation: RelationMetadata): RelationMetadata['joinColumns'] {
  if (!relation.isManyToOne && !relation.isOneToOneOwner) return []
  return relation.joinColumns.filter(({ isVirtual }) => !isVirtual)
}

/** The places of the lines of a record in the list of a body. */
const places = new WeakMap<object, number>()

/** Notes the place of a line in the list of a body. */
export function setPlace(line: object, place: number): void {
  places.set(line, place)
}

/** The place of a line in the body, by which its errors are named; else its index in the list. */
export function placeOf(line: object, index: number): number {
  return places.get(line) ?? index
}
