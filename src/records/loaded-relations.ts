import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { forgetLoaded, isUnchanged, markLoaded } from '../models/record-state.js'

/** Deletes a loaded relation from the object if the record's key refers to another related record by now. */
export function dropStale(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations) {
    if (!isUnchanged(record, relation.propertyName) || !hasOtherKey(record, relation)) continue
    Reflect.deleteProperty(record, relation.propertyName)
    forgetLoaded(record, relation.propertyName)
  }
}

/** Sets the keys of relations that were assigned. */
export function assignKeys(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations) {
    if (!isSet(record, relation) || isUnchanged(record, relation.propertyName)) continue
    for (const { propertyName, referencedColumn } of ownKeysOf(relation)) {
      const key = keyOf(Reflect.get(record, relation.propertyName), referencedColumn)
      // The id of a new record is set when it is inserted.
      if (key !== undefined) Reflect.set(record, propertyName, key)
    }
  }
}

/** Marks the relations of a saved record as unchanged. */
export function markSaved(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations)
    if (isSet(record, relation)) markLoaded(record, relation.propertyName)
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

/** Returns the key columns of a relation that are properties of its own model. A relation to many records has none. */
export function ownKeysOf(relation: RelationMetadata): RelationMetadata['joinColumns'] {
  if (!relation.isManyToOne && !relation.isOneToOneOwner) return []
  return relation.joinColumns.filter(({ isVirtual }) => !isVirtual)
}
