import type { EntityMetadata } from 'typeorm'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'

/** The value of each relation when it was loaded. A list is copied, because lists can be changed. */
const loadedValues = new WeakMap<object, Map<string, unknown>>()

/** Marks a relation as loaded: its present value is not written with the record. */
export function markLoaded(record: object, relation: string): void {
  const values = loadedValues.get(record) ?? new Map<string, unknown>()
  loadedValues.set(record, values)
  const value: unknown = Reflect.get(record, relation)
  values.set(relation, Array.isArray(value) ? [...value] : value)
}

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
  for (const relation of metadata.relations)
    if (isAsLoaded(record, relation) && hasOtherKey(record, relation))
      Reflect.deleteProperty(record, relation.propertyName)
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
      if (isAsLoaded(owner, relation) && (!cascades || hasOtherKey(owner, relation)))
        return [{ owner, relation, value }]
      return cascades
        ? recordsOf(value).flatMap((record) => loadedIn(relation.inverseEntityMetadata, record, seen))
        : []
    })
}

function recordsOf(value: unknown): object[] {
  return [value].flat().filter((one) => typeof one === 'object' && one !== null)
}

/** Whether a relation contains the records with which it was loaded. */
export function isAsLoaded(record: object, { propertyName }: RelationMetadata): boolean {
  const values = loadedValues.get(record)
  if (!values?.has(propertyName)) return false
  const value: unknown = Reflect.get(record, propertyName)
  const loaded = values.get(propertyName)
  if (!Array.isArray(value) || !Array.isArray(loaded)) return value === loaded
  return value.length === loaded.length && value.every((one, index) => one === loaded[index])
}

/** Whether a record's key refers to another record than the one that its relation contains. */
function hasOtherKey(record: object, relation: RelationMetadata): boolean {
  const value: unknown = Reflect.get(record, relation.propertyName)
  return ownKeysOf(relation).some(({ propertyName, referencedColumn }) => {
    const key: unknown = Reflect.get(record, propertyName)
    const led = recordsOf(value).map((one) => referencedColumn?.getEntityValue(one))
    return key !== undefined && key !== (led[0] ?? null)
  })
}

/** The columns of a relation's key that are properties of the model. A relation to many records has none. */
export function ownKeysOf(relation: RelationMetadata): RelationMetadata['joinColumns'] {
  if (!relation.isManyToOne && !relation.isOneToOneOwner) return []
  return relation.joinColumns.filter(({ isVirtual }) => !isVirtual)
}
