import type { DataSource, EntityMetadata, QueryRunner } from 'typeorm'

/** A unique index, or a unique constraint, as the database has it. */
export interface UniqueIndex {
  table: string
  name: string
  columns: string[]
  /** Its condition, if it is partial. */
  where?: string | undefined
}

/** Reads the unique indexes of a model's table, without that of the primary key. */
export async function uniqueIndexesOf(runner: QueryRunner, metadata: EntityMetadata): Promise<UniqueIndex[]> {
  const { tablePath, tableName, primaryColumns } = metadata
  const { indices = [], uniques = [] } = (await runner.getTable(tablePath)) ?? {}
  const all = [...indices.filter(({ isUnique }) => isUnique), ...uniques].map(({ name = '', ...one }) => ({
    table: tableName,
    name,
    columns: one.columnNames,
    where: 'where' in one ? one.where : undefined,
  }))
  const primary = primaryColumns.map(({ databaseName }) => databaseName)
  // MariaDB reports an index as a constraint, too.
  return [...new Map(all.map((index) => [index.name, index])).values()].filter(
    ({ columns }) => !columns.some((column) => primary.includes(column)),
  )
}

/** Finds the unique indexes of tables with a trash that count trashed rows, whose values are not free. */
export async function findIndexesOfTrash(dataSource: DataSource): Promise<UniqueIndex[]> {
  const models = dataSource.entityMetadatas.filter(({ deleteDateColumn }) => deleteDateColumn)
  if (models.length === 0) return []
  const runner = dataSource.createQueryRunner()
  try {
    const found: UniqueIndex[] = []
    for (const metadata of models) {
      const date = metadata.deleteDateColumn?.databaseName ?? ''
      const indexes = await uniqueIndexesOf(runner, metadata)
      found.push(
        ...indexes.filter(
          ({ columns, where }) => !where?.includes(date) && !columns.includes('outside_trash'),
        ),
      )
    }
    return found
  } finally {
    await runner.release()
  }
}
