import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { RelationMetadata } from 'typeorm/metadata/RelationMetadata.js'
import { kindOf, type AttributeKind } from '../models/attributes/attributes.js'
import { exposedName, isHiddenProperty } from '../models/attributes/transform-metadata.js'
import { nearest } from '../naming/spelling.js'

/** A column of a CSV file. */
export interface Column {
  /** Its heading: the name in JSON, or `supplier.code`. */
  name: string
  metadata: ColumnMetadata
  kind: AttributeKind
  /** The relation to the record that has it; undefined for a column of the model itself. */
  relation: RelationMetadata | undefined
}

/**
 * Finds a column that the `csv` option names.
 *
 * @returns the column, or the reason why a file cannot have it
 */
export function findColumn(metadata: EntityMetadata, name: string): Column | string {
  const own = metadata.columns.find(({ propertyPath, isVirtual }) => propertyPath === name && !isVirtual)
  if (own) return toColumn(own, exposedName(metadata.target as Function, name), undefined)
  const [first = '', attribute = ''] = name.split('.')
  const relation = metadata.relations.find(({ propertyName }) => propertyName === first)
  if (!relation) {
    const names = metadata.columns.map(({ propertyPath }) => propertyPath)
    const suggestion = nearest(name, names)
    return `is not a column of ${metadata.targetName}.${suggestion ? ` Did you mean "${suggestion}"?` : ''}`
  }
  const isOne = relation.isManyToOne || relation.isOneToOneOwner
  if (!isOne || relation.joinColumns.length !== 1)
    return `leads to many records. JSON has them: remove it from the option csv.`
  const { columns, targetName } = relation.inverseEntityMetadata
  const related = columns.find(({ propertyPath, isVirtual }) => propertyPath === attribute && !isVirtual)
  if (related) return toColumn(related, name, relation)
  return attribute === ''
    ? `is a relation. Name its key "${relation.joinColumns[0]?.propertyName}", or an attribute: "${first}.id".`
    : `names "${attribute}", which is not a column of ${targetName}.`
}

function toColumn(
  metadata: ColumnMetadata,
  name: string,
  relation: RelationMetadata | undefined,
): Column | string {
  const { target, targetName } = metadata.entityMetadata
  const [property = ''] = metadata.propertyPath.split('.')
  if (!metadata.isSelect || isHiddenProperty(target, property))
    return `is hidden in the JSON of ${targetName}, or shown in another form. Remove it from the option csv.`
  const kind = metadata.isArray ? undefined : kindOf(metadata.type)
  return kind
    ? { name, metadata, kind, relation }
    : `has the type ${String(metadata.type)}, which has no text.`
}

/** The columns of the `csv` option, which have been checked at the start. */
export function columnsOf(metadata: EntityMetadata, names: readonly string[] = []): Column[] {
  return names.map((name) => findColumn(metadata, name)).filter((column) => typeof column !== 'string')
}

/** Whether a unique index covers a column, alone or together with some of the others that are given. */
export function isUnique(column: ColumnMetadata, others: readonly ColumnMetadata[] = []): boolean {
  const { uniques, indices, primaryColumns } = column.entityMetadata
  const indexes = [
    primaryColumns,
    ...uniques.map(({ columns }) => columns),
    ...indices.filter((index) => index.isUnique && !index.where).map(({ columns }) => columns),
  ]
  return indexes.some(
    (columns) => columns.includes(column) && columns.every((it) => it === column || others.includes(it)),
  )
}
