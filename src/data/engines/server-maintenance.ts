import { DataSource } from 'typeorm'
import type { DataSourceOptions } from 'typeorm'
import type { Database } from '../database.js'
import { addressOf, withDatabase } from './database-url.js'
import { COLLATIONS, isMariadb } from './mariadb.js'
import { codeOf, explainOpening } from './connection-errors.js'

/** A connection to the server of a database, not to the database itself. */
export interface Server {
  statements: Statements
  query(statement: string): Promise<unknown>
}

/** What an engine is told. */
interface Statements {
  create(name: string): string
  drop(name: string): string
  /** Ends the connections to a database, where deleting it does not. */
  disconnect?(server: Server, name: string): Promise<void>
}

const POSTGRES: Statements = {
  create: (name) => `CREATE DATABASE ${quoted(name)} TEMPLATE template0 ENCODING 'UTF8'`,
  drop: (name) => `DROP DATABASE ${quoted(name)} WITH (FORCE)`,
}

const MARIADB: Statements = mysqlStatements(COLLATIONS.mariadb)
const MYSQL: Statements = mysqlStatements(COLLATIONS.mysql)

/**
 * Works on the server of a database, over a connection of its own.
 *
 * @throws DatabaseNotOpened when the server cannot be reached
 */
export async function maintain<T>(database: Database, work: (server: Server) => Promise<T>): Promise<T> {
  const source = await open(database)
  try {
    return await work({
      statements: await statementsOf(source),
      query: (statement) => source.query(statement),
    })
  } finally {
    await source.destroy()
  }
}

/** PostgreSQL has no connection without a database: one of those that every server has. */
async function open(database: Database): Promise<DataSource> {
  const { options, url } = database
  const plain = { ...options, entities: [], migrations: [], subscribers: [], extra: {} }
  if (options.type !== 'postgres') return opened({ ...plain, database: undefined }, url)
  try {
    return await opened({ ...plain, url: withDatabase(url, 'postgres') }, url)
  } catch (error) {
    if (codeOf(error instanceof Error ? error.cause : error) !== '3D000') throw error
    return opened({ ...plain, url: withDatabase(url, 'template1') }, url)
  }
}

async function opened(options: object, url: string): Promise<DataSource> {
  // The options are those of a DataSource that exists, with another database.
  const source = new DataSource(options as DataSourceOptions)
  const server = addressOf(url).database ? withDatabase(url, '') : url
  return source.initialize().catch((error: unknown) => {
    throw explainOpening(error, server)
  })
}

async function statementsOf(source: DataSource): Promise<Statements> {
  if (source.options.type === 'postgres') return POSTGRES
  return (await isMariadb(source)) ? MARIADB : MYSQL
}

function mysqlStatements(collation: string): Statements {
  return {
    create: (name) => `CREATE DATABASE ${ticked(name)} CHARACTER SET utf8mb4 COLLATE ${collation}`,
    drop: (name) => `DROP DATABASE ${ticked(name)}`,
    disconnect: endConnections,
  }
}

/** MariaDB would wait for the transactions of others, for a day. */
async function endConnections(server: Server, name: string): Promise<void> {
  const text = name.replaceAll(/['\\]/g, '\\$&')
  const rows = await server.query(
    `SELECT id FROM information_schema.processlist WHERE db = '${text}' AND id <> CONNECTION_ID()`,
  )
  // Those of other users it does not end for everybody.
  for (const { id } of rows as { id: string }[]) await server.query(`KILL ${id}`).catch(() => undefined)
  await server.query('SET SESSION lock_wait_timeout = 10')
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

function ticked(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
