import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { EntityListenerMetadata } from 'typeorm/metadata/EntityListenerMetadata.js'
import { kindOf, type AttributeKind } from '../../models/attributes/attributes.js'
import { engineOf } from '../../database/engines/engines.js'
import { Model } from '../../models/model.js'

/**
 * Whether the records of a model consist of columns only: no eager relations, embedded or computed columns,
 * inheritance, trees or `@AfterLoad`. TypeORM must not add a `typename` to records, or cache its queries.
 */
export function isPlain(metadata: EntityMetadata): boolean {
  const { options, queryResultCache } = metadata.dataSource
  const extras = [
    metadata.eagerRelations,
    metadata.relationIds,
    metadata.embeddeds,
    metadata.childEntityMetadatas,
    metadata.afterLoadListeners,
    metadata.columns.filter((column) => column.isVirtualProperty),
  ]
  return (
    typeof metadata.target === 'function' &&
    metadata.tableType === 'regular' &&
    !metadata.discriminatorColumn &&
    !metadata.treeType &&
    extras.every((list) => list.length === 0) &&
    options.typename === undefined &&
    !queryResultCache
  )
}

/** Whether a record contains only values of its columns: no other record, and no SQL expression. */
export function hasOnlyColumns({ relations, columns }: EntityMetadata, record: object): boolean {
  return (
    relations.every(({ propertyName }) => Reflect.get(record, propertyName) === undefined) &&
    columns.every(({ propertyName }) => typeof Reflect.get(record, propertyName) !== 'function')
  )
}

/** Whether the fast path can write the records of a plain model. If not, TypeORM writes them. */
export function hasPlainWrites(metadata: EntityMetadata): boolean {
  return (
    engineOf(metadata.dataSource).hasFastWrites === true &&
    metadata.primaryColumns.length === 1 &&
    metadata.primaryColumns[0]?.propertyName === 'id' &&
    metadata.columns.every(isPlainColumn) &&
    metadata.relations.every((relation) => relation.isManyToOne) &&
    metadata.listeners.every(isTimestampListener)
  )
}

function isPlainColumn(column: ColumnMetadata): boolean {
  const isTimestamp = column.propertyName === 'created_at' || column.propertyName === 'updated_at'
  const isSpecial =
    column.isVirtual ||
    column.isGenerated ||
    column.isDeleteDate ||
    column.isArray ||
    !column.isSelect ||
    !column.isInsert ||
    !column.isUpdate ||
    column.asExpression !== undefined ||
    column.transformer !== undefined
  // TypeORM reads values back that the database sets: defaults and further timestamps. The fast path sets those of Model.
  const isSetElsewhere = column.default !== undefined || column.isCreateDate || column.isUpdateDate
  const kind = kindOf(column.type)
  if (column.isVersion) return !isSpecial && kind === 'int'
  return !isSpecial && (isTimestamp || !isSetElsewhere) && kind !== undefined && !INCOMPARABLE.includes(kind)
}

/** The kinds whose values cannot be compared with the stored values. */
const INCOMPARABLE: readonly AttributeKind[] = ['json', 'enum']

/** Whether a listener is one of those of `Model`, which the fast path calls itself. */
function isTimestampListener({ target, propertyName }: EntityListenerMetadata): boolean {
  return target === Model && (propertyName === 'setGeneratedColumns' || propertyName === 'stampUpdate')
}
