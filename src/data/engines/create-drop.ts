import { existsSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import { DatabaseRefused, DeclarationError } from '../../errors.js'
import type { Database } from '../database.js'
import { addressOf, placeOf as placeOfUrl } from './database-url.js'
import { codeOf } from './connection-errors.js'
import { maintain } from './server-maintenance.js'

/**
 * Creates the database, without tables. On a server it holds text of any language, and compares it letter by letter.
 *
 * @returns whether it was not there before
 * @throws DatabaseNotOpened when the server cannot be reached; DatabaseRefused when it does not let the user
 */
export async function createDatabase(database: Database): Promise<boolean> {
  const file = sqliteFile(database)
  if (file !== undefined) return createFile(database, file)

  return maintain(database, async (server) => {
    const statement = server.statements.create(nameOf(database))
    return succeeds(server.query(statement), IS_THERE, new DatabaseRefused('created', placeOf(database)))
  })
}

/**
 * Deletes the database with all that is in it. A server ends the connections of those who still use it.
 *
 * @returns whether it was there
 * @throws DatabaseNotOpened when the server cannot be reached; DatabaseRefused when it does not let the user
 */
export async function dropDatabase(database: Database): Promise<boolean> {
  await database.close()
  const file = sqliteFile(database)
  if (file !== undefined) return deleteFile(file)

  return maintain(database, async (server) => {
    const name = nameOf(database)
    await server.statements.disconnect?.(server, name)
    const statement = server.statements.drop(name)
    return succeeds(server.query(statement), IS_ABSENT, new DatabaseRefused('deleted', placeOf(database)))
  })
}

/**
 * Opens the database, and creates it before when the server has none of this name. A file of SQLite is always made.
 *
 * @throws DatabaseNotOpened, DatabaseRefused
 */
export async function openOrCreate(database: Database): Promise<void> {
  try {
    await database.open()
  } catch (error) {
    if (!(error instanceof Error) || !HAS_NONE.includes(codeOf(error.cause))) throw error
    await createDatabase(database)
    await database.open()
  }
}

/** The file of a SQLite database. */
export function sqliteFile({ options }: Database): string | undefined {
  return options.type === 'better-sqlite3' ? options.database : undefined
}

/** What people call the database: its file from here, or its host, port and name; never a password. */
export function placeOf(database: Database): string {
  const file = sqliteFile(database)
  if (file === undefined) return placeOfUrl(database.url)
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}

/** The codes of PostgreSQL and MariaDB for a database that is there, or is not, and for what a user may not do. */
const IS_THERE = ['42P04', 'ER_DB_CREATE_EXISTS']
const IS_ABSENT = ['3D000', 'ER_DB_DROP_EXISTS']
const HAS_NONE = ['3D000', 'ER_BAD_DB_ERROR']
const IS_REFUSED = ['42501', 'ER_DBACCESS_DENIED_ERROR', 'ER_ACCESS_DENIED_ERROR']

/** Whether a statement has changed something: not when the server says that there is nothing to change. */
async function succeeds(
  statement: Promise<unknown>,
  nothingToDo: readonly string[],
  refusal: DatabaseRefused,
): Promise<boolean> {
  try {
    await statement
    return true
  } catch (error) {
    const code = codeOf(error)
    if (nothingToDo.includes(code)) return false
    if (!IS_REFUSED.includes(code)) throw error
    refusal.cause = error
    throw refusal
  }
}

async function createFile(database: Database, file: string): Promise<boolean> {
  if (existsSync(file)) return false
  await database.open()
  await database.close()
  return true
}

function deleteFile(file: string): boolean {
  const wasThere = existsSync(file)
  for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
  return wasThere
}

function nameOf(database: Database): string {
  const name = addressOf(database.url).database
  if (name) return name
  throw new DeclarationError(
    `The url ${placeOf(database)} has no database name. Add it, like ${placeOf(database)}blog.`,
  )
}
