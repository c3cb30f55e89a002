import type { QueryRunner } from 'typeorm'
import { shortName } from '../../naming/short-name.js'
import { engineOf } from '../../database/engines/engines.js'

/**
 * Creates the index with which `prefix` finds text by its beginning. On SQLite and MariaDB, it also sorts.
 *
 * @example
 * await prefixIndex(runner, 'posts', 'title')
 */
export async function prefixIndex(runner: QueryRunner, table: string, column: string): Promise<void> {
  const statement = await engineOf(runner.dataSource).prefix.createIndex(
    runner,
    shortName(`${table}_${column}_prefix`),
    table,
    column,
  )
  await runner.query(statement)
}
