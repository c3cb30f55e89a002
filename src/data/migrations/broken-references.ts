import type { QueryRunner } from 'typeorm'

/** A table, and one that it refers to. */
interface Reference {
  table: string
  parent: string
}

/** The references of a database that lead nowhere. */
interface BrokenReferences {
  /** One for each row that refers to a row which does not exist. */
  rows: Reference[]
  /** One for each foreign key to a table that does not exist: no row can be inserted there. */
  keys: Reference[]
}

/** Finds references that lead nowhere. Only SQLite lets a migration leave such; the servers refuse each statement. */
export async function brokenReferences(runner: QueryRunner): Promise<BrokenReferences> {
  if (runner.dataSource.options.type !== 'better-sqlite3') return { rows: [], keys: [] }
  const keys: Reference[] = await runner.query(MISSING_TABLES)
  const rows: Reference[] = await runner.query('PRAGMA foreign_key_check')
  return { rows: rows.filter((row) => !keys.some((key) => isSame(key, row))), keys }
}

/** @throws Error when there are more references that lead nowhere than before */
export function refuseBrokenReferences(before: BrokenReferences, after: BrokenReferences): void {
  const keys = after.keys.filter((key) => !before.keys.some((other) => isSame(key, other)))
  if (keys.length > 0) {
    throw new Error(`the migration leaves foreign keys to tables that do not exist: ${pairs(keys)}`)
  }
  if (after.rows.length > before.rows.length) {
    throw new Error(`the migration leaves references to rows that do not exist: ${pairs(after.rows)}`)
  }
}

const MISSING_TABLES = `
  SELECT child.name AS "table", key."table" AS parent
  FROM sqlite_master child, pragma_foreign_key_list(child.name) key
  WHERE child.type = 'table' AND NOT EXISTS (
    SELECT 1 FROM sqlite_master WHERE type = 'table' AND lower(name) = lower(key."table")
  )`

function isSame(one: Reference, other: Reference): boolean {
  return one.table === other.table && one.parent === other.parent
}

function pairs(references: readonly Reference[]): string {
  return [...new Set(references.map(({ table, parent }) => `${table} to ${parent}`))].join(', ')
}
