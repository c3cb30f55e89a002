import { underscore } from 'inflection'
import type { EntityMetadata } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { kindOf } from '../../models/attributes/attributes.js'
import type { Database } from '../database.js'

/** Returns the commands that generate missing migrations of the tables in a statement, or their columns. */
export async function missingMigrations(database: Database, sql: string): Promise<string[]> {
  const models = database.entityMetadatas.filter(
    ({ tableType, tableName }) => tableType === 'regular' && sql.includes(tableName),
  )
  const runner = database.createQueryRunner()
  try {
    const commands: string[] = []
    for (const model of models) {
      const table = await runner.getTable(model.tablePath)
      const columns = model.columns.filter(({ databaseName }) => !table?.findColumnByName(databaseName))
      if (columns.length > 0) commands.push(commandFor(model, columns, table !== undefined))
    }
    return commands
  } finally {
    await runner.release()
  }
}

function commandFor({ tableName }: EntityMetadata, columns: ColumnMetadata[], exists: boolean): string {
  // The generator knows the columns and the index of this table.
  if (tableName === 'history_entries' && !exists) return 'npx kit generate migration create_history_entries'
  const named = columns.filter(({ databaseName: name }) => exists || !AUTOMATIC.includes(name))
  const names = named.map(({ databaseName }) => databaseName)
  const added = `add_${names.join('_and_')}_to_${tableName}`
  // The name of a migration has at most 50 characters.
  const change = added.length <= 50 ? added : `add_columns_to_${tableName}`
  const name = exists ? change : `create_${tableName}`
  return ['npx kit generate migration', name, ...named.map(argumentFor)].join(' ')
}

/** The columns that a migration adds to each table that it creates. */
const AUTOMATIC = ['id', 'created_at', 'updated_at']

/** The argument of the generator: `rank:int`, `description:nulls.text`, `author:references`. */
function argumentFor(column: ColumnMetadata): string {
  const { databaseName, isNullable, enum: values, relationMetadata } = column
  const kind = relationMetadata ? 'references' : values ? 'enum' : (kindOf(column.type) ?? 'string')
  const target = relationMetadata && underscore(relationMetadata.inverseEntityMetadata.name)
  const name = relationMetadata ? databaseName.replace(/_id$/, '') : databaseName
  const details = target === name ? undefined : (target ?? values?.join(','))
  return [name, `${isNullable ? 'nulls.' : ''}${kind}`, ...(details ? [details] : [])].join(':')
}
