import type { DataSource, DataSourceOptions, EntityMetadata, FindOneOptions, QueryRunner } from 'typeorm'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { AttributeKind } from '../attributes.js'
import type { ColumnDetails } from '../columns.js'
import type { Ping } from './ping.js'

/** What an error of a database means, on every engine. */
export type Problem =
  | 'unique'
  | 'reference'
  | 'referenced'
  | 'null'
  | 'length'
  | 'range'
  | 'type'
  | 'check'
  /** The transaction was rolled back, and would succeed on its own. */
  | 'conflict'
  | 'busy'
  | 'slow'
  | 'lost'
  | 'down'
  /** The transaction, or the server, only reads. */
  | 'readonly'
  /** An earlier statement of the transaction has failed. */
  | 'aborted'
  /** A table or a column does not exist. */
  | 'missing'
  /** The database exists already, or does not exist. */
  | 'exists'
  | 'absent'
  /** The user lacks the privilege. */
  | 'denied'

/** Why a database cannot be opened, beyond what the system reports. */
export type OpeningProblem =
  | 'unreadable'
  | 'readonly'
  | 'not_a_database'
  | 'corrupt'
  | 'locked'
  | 'disk_full'
  | 'disk_error'
  | 'unknown_user'
  | 'wrong_password'
  | 'access_denied'
  | 'password_missing'
  | 'absent'
  | 'denied'
  | 'too_many_connections'
  | 'starting'
  | 'unencrypted'
  | 'untrusted'

/** The limits of the connections to a database. */
export interface ConnectionLimits {
  /** The number of connections. */
  size: number
  /** Milliseconds that a query waits for a connection, for the write lock, or for the locks of others. */
  acquireTimeout: number
  /** Milliseconds after which a statement is canceled; never without it. */
  statementTimeout?: number | undefined
}

/** How an engine reports errors. */
export interface EngineErrors {
  /** The codes of each problem. */
  codes: Partial<Record<Problem, readonly string[]>>
  /** The texts of problems that have no code of their own. */
  messages?: readonly (readonly [text: RegExp, problem: Problem])[]
  /** How texts name the columns of an error, in the group `columns`. */
  columns: readonly RegExp[]
  /** How texts name the index of an error, in the group `index`. */
  indexes?: readonly RegExp[]
  /** How texts name a check that belongs to one column, in the group `columns`: its value isn't of the column's type. */
  columnCheck?: RegExp
  /** The text of errors of a connection that was gone before the statement was sent. */
  unsent?: RegExp
  /** Why a database cannot be opened, by code. */
  opening: Readonly<Record<string, OpeningProblem>>
  /** The same for errors without a code, by a part of their text. */
  openingTexts?: readonly (readonly [text: string, problem: OpeningProblem])[]
}

/** A connection to a server, to none of the application's databases. */
export interface Server {
  query(statement: string): Promise<unknown>
}

/** How databases are created and dropped on a server. */
export interface ServerCommands {
  /** The databases to connect to, the second one if the first one does not exist; undefined for none. */
  databases: readonly (string | undefined)[]
  create(server: Server, name: string): Promise<unknown>
  /** Drops a database, and ends the connections to it. */
  drop(server: Server, name: string): Promise<unknown>
}

/** SQL functions that acquire a lock, at once or not at all, and release it. */
export interface Lock {
  take: string
  release: string
}

/** A table, and a table that it refers to. */
export interface Reference {
  table: string
  parent: string
}

/** References that lead nowhere. */
export interface BrokenReferences {
  /** One for each row that refers to a row which does not exist. */
  rows: Reference[]
  /** One for each foreign key to a table that does not exist: no row can be inserted there. */
  keys: Reference[]
}

/** Everything that differs between the engines. Everybody else asks here, never for an engine's name. */
export interface Engine {
  /** The npm package of its driver. */
  readonly driverPackage: string
  /** How many connections a database has unless `pool` is configured. */
  readonly defaultPool: number
  readonly errors: EngineErrors
  /** Whether a failed statement makes its transaction useless, so that a statement that may fail needs a savepoint. */
  readonly failureAborts: boolean
  /** Whether a conflict has rolled its transaction back, so that further statements would be committed one by one. */
  readonly conflictRollsBack: boolean
  /** Whether a change of the schema commits the transaction. */
  readonly schemaChangesCommit: boolean
  /** Whether records of plain models can be written by cached statements. */
  readonly hasFastWrites: boolean

  /** Whether a transaction reads rows as they were at its first read, also those that it has locked since. */
  readonly readsSnapshots: boolean

  /** TypeORM's options for a URL. */
  options(url: string, limits: ConnectionLimits): DataSourceOptions
  /**
   * Adapts TypeORM's driver: limits connections, stores datetimes in UTC, and makes types equal on all engines.
   *
   * @returns a ping that waits for no request's connection
   */
  adapt(dataSource: DataSource, limits: ConnectionLimits): Ping
  /** @throws ServiceUnavailable when the open database can no longer be used, although it responds */
  check?(dataSource: DataSource): Promise<void>
  /** Begins a transaction that only reads. */
  beginReadOnly(runner: QueryRunner, isolation: IsolationLevel | undefined): Promise<void>
  /** Closes a connection in an unknown state, which would otherwise return to the pool. */
  discard?(runner: QueryRunner): Promise<void>

  /** The file of a database; an engine with a server has none. */
  file?(dataSource: DataSource): string | undefined
  /** How databases are created and dropped on its server. */
  readonly server?: ServerCommands

  /** What a column of a migration needs beyond its type. */
  columnDetails?(driver: DataSource['driver'], kind: AttributeKind): ColumnDetails
  /** What the column `updated_at` needs beyond that. */
  updatedAtDetails?(driver: DataSource['driver']): ColumnDetails
  /** Prepares a record that TypeORM is going to insert. */
  prepareInsert?(metadata: EntityMetadata, record: object): void
  /** How TypeORM locks rows of a table; an engine without it locks the database with each transaction that writes. */
  rowLock?(metadata: EntityMetadata): FindOneOptions['lock']
  /** Reads a column faster than TypeORM's `hydrate`; undefined where that is needed. */
  readerOf?(
    column: ColumnMetadata,
    hydrate: (value: unknown) => unknown,
  ): ((value: unknown) => unknown) | undefined

  /** Keeps processes from migrating at the same time; an engine without it locks the database with each transaction. */
  readonly migrationLock?: Lock
  /** Finds the references that a migration can leave; an engine without it refuses the statement. */
  findBrokenReferences?(runner: QueryRunner): Promise<BrokenReferences>
}
