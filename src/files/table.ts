import { QueryFailedError, Table, type QueryRunner } from 'typeorm'
import { pendingMigrations, problemOf } from '../extension.js'
import { column, DeclarationError } from '../index.js'
import type { FileTable } from './file-table.js'

/**
 * The table of stored files, for a migration.
 *
 * @example await runner.createTable(storedFilesTable(runner))
 */
export function storedFilesTable(runner: QueryRunner, name = 'stored_files'): Table {
  const isNullable = true
  return new Table({
    name,
    columns: [
      column(runner, 'id', 'uuid', { isPrimary: true }),
      column(runner, 'key', 'string', { length: '64' }),
      column(runner, 'filename', 'string'),
      column(runner, 'content_type', 'string', { length: '100' }),
      column(runner, 'byte_size', 'bigint'),
      column(runner, 'sha256', 'string', { length: '64' }),
      column(runner, 'width', 'int', { isNullable }),
      column(runner, 'height', 'int', { isNullable }),
      column(runner, 'original_id', 'uuid', { isNullable }),
      column(runner, 'variant', 'string', { length: '40', isNullable }),
      // Milliseconds since 1970, the same in every engine and time zone; null while a record has the file.
      column(runner, 'expires_at', 'bigint', { isNullable }),
      column(runner, 'created_at', 'bigint'),
    ],
    indices: [
      { name: `${name}_key`, columnNames: ['key'], isUnique: true },
      { name: `${name}_expires_at`, columnNames: ['expires_at'] },
      { name: `${name}_variant`, columnNames: ['original_id', 'variant'], isUnique: true },
    ],
    foreignKeys: [
      {
        name: `${name}_original`,
        columnNames: ['original_id'],
        referencedTableName: name,
        referencedColumnNames: ['id'],
      },
    ],
  })
}

/**
 * Checks that the table exists. While migrations are pending, the first request reports them instead.
 *
 * @throws DeclarationError with the migration that creates it
 */
export async function checkTable(table: FileTable): Promise<void> {
  const { database, name } = table
  try {
    await table.select(database.manager).where('1 = 0').getRawMany()
  } catch (cause) {
    if (!(cause instanceof QueryFailedError) || problemOf(cause) !== 'missing') throw cause
    if ((await pendingMigrations(database)).length > 0) return
    throw new DeclarationError(
      `The database has no table "${name}", or one of an earlier version of resource-kit. Generate a migration ` +
        `(\`npx kit generate migration create_${name}\`), and write this into its method up: ` +
        `\`await runner.createTable(storedFilesTable(runner${name === 'stored_files' ? '' : `, '${name}'`}))\`.`,
      { cause },
    )
  }
}
