import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { forgetLoaded, isAsLoaded, markLoaded } from './record-state.js'

/**
 * Writes a record without its unchanged loaded relations. TypeORM would overwrite a changed key with the id of the
 * loaded record, and links that others have added since with the loaded list.
 *
 * A relation with `cascade` is left to TypeORM, unless its key has been changed.
 */
export async function withoutLoaded<T>(
  metadata: EntityMetadata,
  record: object,
  write: () => Promise<T>,
): Promise<T> {
  const loaded = loadedIn(metadata, record)
  if (loaded.length === 0) return write()
  for (const { owner, relation } of loaded) Reflect.set(owner, relation.propertyName, undefined)
  try {
    return await write()
  } finally {
    for (const { owner, relation, value } of loaded) Reflect.set(owner, relation.propertyName, value)
  }
}

/** Removes loaded records that no longer match the keys of a record, so that they are not mistaken for the current ones. */
export function dropStale(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations) {
    if (!isAsLoaded(record, relation.propertyName) || !hasOtherKey(record, relation)) continue
    Reflect.deleteProperty(record, relation.propertyName)
    forgetLoaded(record, relation.propertyName)
  }
}

/**
 * Sets the keys of relations that were assigned. TypeORM would write the earlier key of a relation that is null, if another
 * request has removed it as well.
 */
export function assignKeys(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations) {
    if (!isSet(record, relation) || isAsLoaded(record, relation.propertyName)) continue
    for (const { propertyName, referencedColumn } of ownKeysOf(relation)) {
      const key = keyOf(Reflect.get(record, relation.propertyName), referencedColumn)
      // The id of a new record is set when it is inserted.
      if (key !== undefined) Reflect.set(record, propertyName, key)
    }
  }
}

/** Marks the relations of a record that was saved. A key that is assigned later differs from its record, and counts. */
export function markSaved(metadata: EntityMetadata, record: object): void {
  for (const relation of metadata.relations)
    if (isSet(record, relation)) markLoaded(record, relation.propertyName)
}

function isSet(record: object, { isLazy, propertyName }: RelationMetadata): boolean {
  return !isLazy && Reflect.get(record, propertyName) !== undefined
}

interface Loaded {
  owner: object
  relation: RelationMetadata
  value: unknown
}

/** The loaded relations of a record, and of the records that are written with it. */
function loadedIn(metadata: EntityMetadata, owner: object, seen = new Set<object>()): Loaded[] {
  if (metadata.relations.length === 0 || seen.has(owner)) return []
  seen.add(owner)
  return metadata.relations
    .filter(({ isLazy }) => !isLazy)
    .flatMap((relation) => {
      const value: unknown = Reflect.get(owner, relation.propertyName)
      if (value === undefined) return []
      const cascades = relation.isCascadeInsert || relation.isCascadeUpdate
      if (isAsLoaded(owner, relation.propertyName) && (!cascades || hasOtherKey(owner, relation)))
        return [{ owner, relation, value }]
      return cascades
        ? recordsOf(value).flatMap((record) => loadedIn(relation.inverseEntityMetadata, record, seen))
        : []
    })
}

/** The records in a relation. */
export function recordsOf(value: unknown): object[] {
  return [value].flat().filter((one) => typeof one === 'object' && one !== null)
}

/** Whether a record's key refers to another record than the one that its relation contains. */
function hasOtherKey(record: object, relation: RelationMetadata): boolean {
  const value: unknown = Reflect.get(record, relation.propertyName)
  return ownKeysOf(relation).some(({ propertyName, referencedColumn }) => {
    const key: unknown = Reflect.get(record, propertyName)
    return key !== undefined && key !== keyOf(value, referencedColumn)
  })
}

/** The key of a related record; null if there is none. */
function keyOf(value: unknown, column: ColumnMetadata | undefined): unknown {
  const [related] = recordsOf(value)
  return related ? column?.getEntityValue(related) : null
}

/** The columns of a relation's key that are properties of the model. A relation to many records has none. */
export function ownKeysOf(relation: RelationMetadata): RelationMetadata['joinColumns'] {
  if (!relation.isManyToOne && !relation.isOneToOneOwner) return []
  return relation.joinColumns.filter(({ isVirtual }) => !isVirtual)
}
