import type { EntityMetadata } from 'typeorm'

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
