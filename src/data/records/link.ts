import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { UnknownRelation } from '../../errors.js'

/** The table that links the records: the one with the foreign key, or the join table. */
export interface Link {
  table: string
  /** The column that refers to the record whose relation it is. */
  toOwner: ColumnMetadata
  /** The column that refers to the related record. */
  toRelated: ColumnMetadata
}

/**
 * Returns the table that links the records of a relation, and its columns.
 *
 * @throws UnknownRelation for a key of several columns
 */
export function linkOf(relation: RelationMetadata): Link {
  const { entityMetadata, inverseEntityMetadata, inverseRelation, junctionEntityMetadata } = relation
  const owning = relation.isOwning ? relation : inverseRelation
  const keys = owning?.joinColumns ?? []
  const [table, toOwner, toRelated] = junctionEntityMetadata
    ? relation.isOwning
      ? [junctionEntityMetadata, keys, relation.inverseJoinColumns]
      : [junctionEntityMetadata, owning?.inverseJoinColumns ?? [], keys]
    : relation.isOwning
      ? [entityMetadata, entityMetadata.primaryColumns, keys]
      : [inverseEntityMetadata, keys, inverseEntityMetadata.primaryColumns]
  if (!toOwner[0] || !toRelated[0] || toOwner.length + toRelated.length > 2)
    throw new UnknownRelation(entityMetadata.targetName, relation.propertyName)
  return { table: table.tablePath, toOwner: toOwner[0], toRelated: toRelated[0] }
}

/** The column that a key refers to; for a primary key, the column itself. */
export function referencedBy(key: ColumnMetadata): ColumnMetadata {
  return key.referencedColumn ?? key
}

/** The distinct values of a column. */
export function valuesOf(records: readonly object[], { propertyName }: ColumnMetadata): unknown[] {
  const values = records.map((record): unknown => Reflect.get(record, propertyName))
  return [...new Set(values.filter((value) => value !== undefined && value !== null))]
}
