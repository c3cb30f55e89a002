import type {
  DataSource,
  DataSourceOptions,
  EntityMetadata,
  FindOneOptions,
  QueryRunner,
  TableColumnOptions,
} from 'typeorm'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import type { AttributeKind } from '../../models/attributes/attributes.js'
import type { ConnectionProblem } from './connection-hints.js'
import type { ConnectionLimits, Ping } from './connections.js'

/** The alias of the counts of `paginate`. An engine may cache their results, but no others. */
export const COUNT_ALIAS = 'counted_records'

/** The problems that an error of a database can report, the same for every engine. */
export type Problem =
  | 'unique'
  /** The record that a foreign key refers to does not exist. */
  | 'reference'
  /** Another record refers to the record to delete. */
  | 'referenced'
  | 'null'
  | 'length'
  | 'range'
  | 'type'
  | 'check'
  /** An exclusion constraint: two records exclude each other, for example because their times overlap. */
  | 'exclusion'
  /** The transaction conflicted with another one. It would succeed on its own. */
  | 'conflict'
  /** A lock was not released in time. */
  | 'busy'
  /** A statement was canceled, because it took too long. */
  | 'slow'
  /** The connection has ended. */
  | 'lost'
  /** The database cannot be reached or used. */
  | 'down'
  /** The transaction or the server is read-only. */
  | 'readonly'
  /** An earlier statement of the transaction has failed. */
  | 'aborted'
  /** A table or a column does not exist. */
  | 'missing'
  /** The database to create already exists. */
  | 'exists'
  /** The database does not exist. */
  | 'absent'
  /** The user lacks the privilege. */
  | 'denied'

/** The names in an error: its columns, its index, or the column whose own check failed. */
export type ErrorName = 'columns' | 'index' | 'checkedColumn'

/** The options of a column besides its name and kind. */
export type ColumnDetails = Omit<Partial<TableColumnOptions>, 'name' | 'type'>

/** How an engine reports errors. */
export interface EngineErrors {
  /** The codes of each problem. */
  codes: Partial<Record<Problem, readonly string[]>>
  /** Patterns of the messages of problems without a code. */
  messages?: readonly (readonly [pattern: RegExp, problem: Problem])[]
  /** Patterns that find names in an error's message or detail. */
  names: Partial<Record<ErrorName, readonly RegExp[]>>
  /** The message of an error for a connection that was closed before the statement was sent. */
  unsent?: RegExp
  /** The reasons why a database cannot be opened, by code. */
  opening: Readonly<Record<string, ConnectionProblem>>
  /** The same for errors without a code, by a part of their message. */
  openingTexts?: readonly (readonly [text: string, problem: ConnectionProblem])[]
}

/** A connection to a database server, for creating and dropping databases. */
export interface Server {
  query(statement: string): Promise<unknown>
}

/** How databases are created and dropped on a server. */
export interface ServerCommands {
  /** The databases to connect to, of which the first existing one is used; undefined for none. */
  databases: readonly (string | undefined)[]
  create(server: Server, name: string): Promise<unknown>
  /** Drops a database, and closes the connections to it. */
  drop(server: Server, name: string): Promise<unknown>
}

/** SQL functions that acquire a lock without waiting, and release it. */
export interface Lock {
  acquire: string
  release: string
  /** Whether the lock does not hold for the whole database, because of a pooler or a cluster. */
  isPartial(dataSource: DataSource): boolean
}

/** How rows are locked. */
export interface RowLocks {
  /** TypeORM's mode for rows that will be changed. */
  mode(metadata: EntityMetadata): FindOneOptions['lock']
  /** The end of a SELECT that locks rows of an alias as a foreign key does. */
  likeKey(alias: string): string
  /** The end of a SELECT that locks rows of an alias as an UPDATE does. */
  likeUpdate(alias: string): string
}

/** A table, and a table that it refers to. */
export interface Reference {
  table: string
  parent: string
}

/** Foreign keys whose target does not exist. */
export interface BrokenReferences {
  /** One for each row that refers to a missing row. */
  rows: Reference[]
  /** One for each foreign key to a missing table: no row can be inserted there. */
  keys: Reference[]
}

/** A comparison of a text column with a string, in SQL. Its number of parameters is constant. */
export interface TextComparison {
  parameters(text: string): unknown[]
  /** @param placeholders the placeholders of the parameters */
  sql(column: string, placeholders: readonly string[]): string
}

/** A comparison of the beginning of a text. */
export interface PrefixComparison extends TextComparison {
  /** The statement that creates the index of the comparison. */
  createIndex(runner: QueryRunner, name: string, table: string, column: string): string | Promise<string>
}

export interface Index {
  columns: string[]
  /** Whether the index can find text by its beginning. */
  findsPrefixes: boolean
  /** Whether the index has the order of the engine's ORDER BY. */
  sorts: boolean
}

/** How a statement that a person types is run: see `kit query`. */
export interface Inspection {
  /** The beginning of a statement that returns the plan of another one. */
  explain: 'EXPLAIN' | 'EXPLAIN QUERY PLAN'
  /** Lets the connection of a read-only transaction reject writes, and statements that take longer. */
  protect(runner: QueryRunner, milliseconds: number): Promise<unknown>
}

/** All differences between the engines. Other code never compares an engine's name. */
export interface Engine {
  /** Its name in messages. */
  readonly name: 'sqlite' | 'postgres' | 'mariadb'
  /** The npm package of its driver. */
  readonly driverPackage: string
  /** The number of connections unless `pool` is configured. */
  readonly defaultPool: number
  readonly errors: EngineErrors
  /** Whether a failed statement makes its transaction unusable, so that it needs a savepoint. */
  readonly failureAborts?: true
  /** Whether a conflict rolls the transaction back, so that later statements would be committed alone. */
  readonly conflictRollsBack?: true
  /** Whether a change of the schema commits the transaction. */
  readonly schemaChangesCommit?: true
  /** Whether a new row cannot have `DEFAULT` as the value of a column. */
  readonly lacksDefault?: true
  /** Whether requests can read from `replicas`. */
  readonly hasReplicas?: true
  /** The time of the server's clock, in milliseconds since 1970, in SQL. It is fixed within a statement. */
  readonly now: string
  /** The end of a SELECT that locks free rows only; undefined if transactions lock the whole database. */
  readonly skipLocked?: 'FOR UPDATE SKIP LOCKED'
  /** How rows are locked; undefined if each transaction that writes locks the whole database. */
  readonly rowLocks?: RowLocks
  /** Whether a query can contain an UPDATE. */
  readonly updatesInQueries?: true
  /** Whether a transaction that has locked a row may still read it as of the transaction's first read. */
  readonly readsSnapshots?: true

  /** TypeORM's options for a URL. */
  options(url: string, limits: ConnectionLimits): DataSourceOptions
  /**
   * Configures TypeORM's driver: limits connections, stores datetimes in UTC, and makes types the same on all
   * engines.
   *
   * @returns a ping that does not wait for the connections of requests. It throws ServiceUnavailable when the
   *   database can no longer be used although it responds
   */
  adapt(dataSource: DataSource, limits: ConnectionLimits): Ping
  /** Whether each query of a transaction reads what is committed when it begins (READ COMMITTED). */
  readsCommitted?(dataSource: DataSource, isolation: IsolationLevel | undefined): boolean
  /** Limits how long the later statements of a transaction wait for a lock, in milliseconds. */
  limitLocks?(runner: QueryRunner, milliseconds: number): Promise<unknown>

  /** Begins a read-only transaction. */
  beginReadOnly(runner: QueryRunner, isolation: IsolationLevel | undefined): Promise<void>
  /** Reads the rows of a query in a transaction, some at a time, at the pace of their reader. */
  rows(runner: QueryRunner, sql: string, values: unknown[]): AsyncIterable<unknown[]>
  readonly inspection: Inspection
  /** Closes a connection in an unknown state, so that it does not return to the pool. */
  discard?(runner: QueryRunner): Promise<void>

  /** The file of a database; undefined for engines with a server. */
  file?(dataSource: DataSource): string | undefined
  /** How databases are created and dropped on its server. */
  readonly server?: ServerCommands

  /** The options of a migration's column besides its type, or further options of `updated_at`. */
  columnDetails?(driver: DataSource['driver'], kind: AttributeKind | 'updated_at'): ColumnDetails
  /** Writes the parameter of a column's value in a statement; undefined if it is the parameter alone. */
  parameterOf?(column: ColumnMetadata, parameter: string): string | undefined
  /** Statements with the id of a row before its deletion, because its keys may refer to itself. */
  beforeDelete?(metadata: EntityMetadata): readonly string[]
  /** Returns a faster converter of values than TypeORM's `hydrate`; undefined if `hydrate` is needed. */
  readerOf?(
    column: ColumnMetadata,
    hydrate: (value: unknown) => unknown,
  ): ((value: unknown) => unknown) | undefined

  /** Prepares a value that is compared with a column; missing if it is prepared like a stored value. */
  prepareComparison?(column: ColumnMetadata, value: unknown): unknown

  /** Finds text by its beginning, case-sensitively. */
  readonly prefix: PrefixComparison
  /** Finds text that contains another text. Ignores case; on SQLite, of ASCII letters. */
  readonly contains: TextComparison
  /** Whether a comparison of rows, `(title, id) > (?, ?)`, uses an index. */
  readonly comparesRows?: true
  /** The SQL that sorts an enum in its declared order; undefined if the engine does so itself. */
  enumOrder?(column: string, values: readonly string[]): string
  findIndexes(runner: QueryRunner, table: string): Promise<Index[]>
  /** The number of fractional digits that a datetime column stores; undefined without a limit. */
  datetimeDigits?(runner: QueryRunner, table: string, column: string): Promise<number | undefined>

  /**
   * Returns the beginning of a statement that reads what all nodes of a cluster have committed; undefined if
   * the servers are not the nodes of a cluster, which can all write. There, a commit can conflict, too.
   */
  afterOthers?(dataSource: DataSource): string | undefined
  /** Prevents processes from migrating at the same time; undefined if transactions lock all. */
  readonly migrationLock?: Lock
  /** Finds broken references after a migration; undefined if the engine rejects breaking ones. */
  findBrokenReferences?(runner: QueryRunner): Promise<BrokenReferences>
}
