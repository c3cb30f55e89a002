import { existsSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import { CommandError } from '../errors.js'
import type { Database } from './database.js'
import { databasePlace } from './opening-errors.js'

/**
 * Creates the database, without tables.
 *
 * @returns whether it was not there before
 * @throws CommandError for an engine other than SQLite
 */
export async function createDatabase(database: Database): Promise<boolean> {
  const file = sqliteFile(database) ?? refuse(database, 'created')
  if (existsSync(file)) return false
  await database.open()
  await database.close()
  return true
}

/**
 * Deletes the database with all that is in it.
 *
 * @returns whether it was there
 * @throws CommandError for an engine other than SQLite
 */
export async function dropDatabase(database: Database): Promise<boolean> {
  const file = sqliteFile(database) ?? refuse(database, 'deleted')
  const wasThere = existsSync(file)
  await database.close()
  for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
  return wasThere
}

/** The file of a SQLite database. */
export function sqliteFile({ options }: Database): string | undefined {
  return options.type === 'better-sqlite3' ? options.database : undefined
}

/** What people call the database: its file from here, or its host, port and name; never a password. */
export function placeOf(database: Database): string {
  const file = sqliteFile(database)
  if (file === undefined) return databasePlace(database.options)
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}

function refuse(database: Database, what: string): never {
  throw new CommandError(
    `Only SQLite databases can be ${what} by this command so far. Use the tools of the server for ${placeOf(database)}, then \`kit db migrate\`.`,
  )
}
