import type { QueryRunner } from 'typeorm'
import { permit } from '../../queries/statement-guards.js'
import { TableDefinition } from './table-definition.js'

/** The table with the rows while their own table is created again. */
const ROWS = 'temp."rows of a changed table"'

/** @throws Error when there is no such table */
export async function definitionOf(runner: QueryRunner, table: string): Promise<TableDefinition> {
  return new TableDefinition(await statementOf(runner, table))
}

/**
 * Changes a table in a way for which SQLite has no statement: stores its rows elsewhere, drops the table, and
 * creates it again from its changed statement, with its rows, indexes and triggers. Views, and foreign keys
 * of other tables, refer to it by its name.
 *
 * @throws Error when foreign keys are on, because SQLite would delete the rows that refer to the table
 */
export async function rebuildTable(
  runner: QueryRunner,
  table: string,
  change: (definition: TableDefinition) => void,
): Promise<void> {
  const statement = await statementOf(runner, table)
  const [before, after] = [new TableDefinition(statement), new TableDefinition(statement)]
  change(after)
  if (String(after) === statement) return

  await rejectForeignKeys(runner, table)
  const startsTransaction = !runner.isTransactionActive
  if (startsTransaction) await runner.startTransaction()
  try {
    await replace(runner, table, before, after)
    if (startsTransaction) await runner.commitTransaction()
  } catch (error) {
    if (startsTransaction) await runner.rollbackTransaction()
    throw error
  }
}

async function replace(
  runner: QueryRunner,
  table: string,
  before: TableDefinition,
  after: TableDefinition,
): Promise<void> {
  const escape = (name: string): string => runner.dataSource.driver.escape(name)
  const list = (names: readonly string[]): string => names.map(escape).join(', ')
  const attached: { sql: string }[] = await runner.query(ATTACHED, [table])
  const last = before.countsRows && after.countsRows ? await lastNumber(runner, table) : undefined
  const all = before.columns.map(({ name }) => name)
  const kept = after.stored.filter((name) => before.column(name))

  await runner.query(
    `CREATE TEMP TABLE ${ROWS.slice('temp.'.length)} AS SELECT ${list(all)} FROM ${escape(table)}`,
  )
  await runner.query(`DROP TABLE ${escape(table)}`)
  await runner.query(String(after))
  // It is the same rows, so this is a change of the schema.
  const insertion = `INSERT INTO ${escape(table)} (${list(kept)}) SELECT ${list(kept)} FROM ${ROWS}`
  await runner.query(insertion, permit([]))
  await runner.query(`DROP TABLE ${ROWS}`)
  if (last !== undefined) await setLastNumber(runner, table, last)
  for (const { sql } of attached) await runner.query(sql)
}

/** The statements of the indexes and triggers of a table, in the order in which they were created. */
const ATTACHED = `
  SELECT sql FROM sqlite_schema
  WHERE type IN ('index', 'trigger') AND tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL ORDER BY rowid`

async function statementOf(runner: QueryRunner, table: string): Promise<string> {
  const [row]: { sql: string }[] = await runner.query(
    "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
    [table],
  )
  if (!row) throw new Error(`The database has no table "${table}".`)
  return row.sql
}

async function rejectForeignKeys(runner: QueryRunner, table: string): Promise<void> {
  const [row]: { foreign_keys: number }[] = await runner.query('PRAGMA foreign_keys')
  if (row?.foreign_keys !== 1) return
  throw new Error(
    `SQLite changes the table "${table}" in this way only by creating it again, and would delete the rows that refer to ` +
      'its rows. Make the change in a migration, which turns foreign keys off.',
  )
}

/** The number of the last row that was inserted into a table with AUTOINCREMENT. */
async function lastNumber(runner: QueryRunner, table: string): Promise<number | undefined> {
  const [row]: { seq: number }[] = await runner.query(
    'SELECT seq FROM sqlite_sequence WHERE name = ? COLLATE NOCASE',
    [table],
  )
  return row?.seq
}

async function setLastNumber(runner: QueryRunner, table: string, last: number): Promise<void> {
  await runner.query('DELETE FROM sqlite_sequence WHERE name = ? COLLATE NOCASE', [table])
  await runner.query(
    `INSERT INTO sqlite_sequence (name, seq)
     SELECT name, ? FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE`,
    [last, table],
  )
}
