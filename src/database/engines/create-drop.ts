import { existsSync, rmSync } from 'node:fs'
import { relative } from 'node:path'
import { DataSource } from 'typeorm'
import type { DataSourceOptions } from 'typeorm'
import { DatabasePermissionDenied, DeclarationError } from '../../errors.js'
import type { Database } from '../database.js'
import { codeOf, explainConnectionError } from './connection-errors.js'
import { addressOf, placeOf as placeOfUrl, withDatabase } from './database-url.js'
import type { Problem, ServerCommands } from './engine.js'
import { engineOf } from './engines.js'
import { problemOfCode } from './problems.js'

/**
 * Creates the database without tables. On a server, its encoding is UTF-8, and its collation compares text
 * exactly.
 *
 * @returns whether it was created; false when it already exists
 * @throws DatabaseNotOpened when the server cannot be reached; DatabasePermissionDenied when the user lacks
 *   the privilege; DeclarationError when the URL has no database name
 */
export async function createDatabase(database: Database): Promise<boolean> {
  const { server: commands } = engineOf(database)
  if (!commands) return createFile(database)
  return onServer(database, commands, 'create', 'exists')
}

/**
 * Deletes the database with all its records. A server closes the connections to it.
 *
 * @returns whether it existed
 * @throws DatabaseNotOpened, DatabasePermissionDenied and DeclarationError as `createDatabase` does
 */
export async function dropDatabase(database: Database): Promise<boolean> {
  await database.close()
  const { server: commands } = engineOf(database)
  if (!commands) return deleteFile(fileOf(database) ?? '')
  return onServer(database, commands, 'drop', 'absent')
}

/**
 * Opens the database, and creates it first if the server does not have it. SQLite creates its file itself.
 *
 * @throws DatabaseNotOpened, and DatabasePermissionDenied as `createDatabase` does
 */
export async function openOrCreate(database: Database): Promise<void> {
  try {
    await database.open()
  } catch (error) {
    if (!(error instanceof Error) || problemOfCode(codeOf(error.cause)) !== 'absent') throw error
    await createDatabase(database)
    await database.open()
  }
}

/** The file of a database, if its engine stores it in a file. */
export function fileOf(database: Database): string | undefined {
  return engineOf(database).file?.(database)
}

/** The name of a database in messages: its relative file, or its host, port and name without a password. */
export function placeOf(database: Database): string {
  const file = fileOf(database)
  if (file === undefined) return placeOfUrl(database.url)
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}

/** Runs a command over its own connection. Returns false if the server reports the problem `nothingToDo`. */
async function onServer(
  database: Database,
  commands: ServerCommands,
  command: 'create' | 'drop',
  nothingToDo: Problem,
): Promise<boolean> {
  const source = await connect(database, commands.databases)
  try {
    await commands[command](source, nameOf(database))
    return true
  } catch (error) {
    const problem = problemOfCode(codeOf(error))
    if (problem === nothingToDo) return false
    if (problem !== 'denied') throw error
    const done = command === 'create' ? 'created' : 'deleted'
    throw Object.assign(new DatabasePermissionDenied(done, placeOf(database)), { cause: error })
  } finally {
    await source.destroy()
  }
}

/** Connects to the first of the named databases that exists; undefined is a connection without a database. */
async function connect(
  database: Database,
  [name, ...others]: readonly (string | undefined)[],
): Promise<DataSource> {
  const { options, url } = database
  const target = name === undefined ? { database: undefined } : { url: withDatabase(url, name) }
  const connectionOptions = {
    ...options,
    entities: [],
    migrations: [],
    subscribers: [],
    extra: {},
    ...target,
  }
  // The options come from an existing DataSource; only the database differs.
  const source = new DataSource(connectionOptions as DataSourceOptions)
  try {
    return await source.initialize()
  } catch (error) {
    if (others.length > 0 && problemOfCode(codeOf(error)) === 'absent') return connect(database, others)
    // The message names the server only, because its database need not exist.
    throw explainConnectionError(error, addressOf(url).database ? withDatabase(url, '') : url)
  }
}

async function createFile(database: Database): Promise<boolean> {
  if (existsSync(fileOf(database) ?? '')) return false
  await database.open()
  await database.close()
  return true
}

function deleteFile(file: string): boolean {
  const existed = existsSync(file)
  for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true })
  return existed
}

function nameOf(database: Database): string {
  const name = addressOf(database.url).database
  if (name) return name
  throw new DeclarationError(
    `The url ${placeOf(database)} has no database name. Add it, like ${placeOf(database)}blog.`,
  )
}
