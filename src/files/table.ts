import { Table, type QueryRunner } from 'typeorm'
import { column } from '../index.js'

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
