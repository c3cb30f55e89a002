import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { socketTimeoutMargin } from './connections.js'
import type { ConnectionLimits } from './engine.js'
import { watchedConnections, type ServerWatch, type WatchedConnection } from './server-watch.js'
import { Table, type TableColumn } from 'typeorm'
import type { MysqlDriver } from 'typeorm/driver/mysql/MysqlDriver.js'
import { MysqlQueryRunner } from 'typeorm/driver/mysql/MysqlQueryRunner.js'
import { Query } from 'typeorm/driver/Query.js'
import { MetadataTableType } from 'typeorm/driver/types/MetadataTableType.js'

/** The members of a `mysql2` connection that the framework uses. */
export interface Connection {
  query(sql: unknown, ...others: unknown[]): { stream(options: object): Readable }
  on(event: 'error', listener: (error: Error) => unknown): unknown
  off(event: 'error', listener: (error: Error) => unknown): unknown
  promise(): { query(sql: string): Promise<unknown> }
  release(): void
  destroy(): void
  stream: Socket
}

/** The members of a `mysql2` pool that this file uses. */
interface Pool {
  on(event: 'connection', listener: (connection: Connection) => void): void
}

/**
 * Configures every connection before it is used. A value that does not fit is an error and never truncated, whatever the
 * server's own configuration is, and datetimes that the server sets (`CURRENT_TIMESTAMP`) are in UTC.
 */
const SESSION =
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'" +
  ", SESSION time_zone = '+00:00'"

/** The query of a server's address. `isNode` is true on a node of a Galera cluster. */
export const SERVER = "SELECT CONCAT(@@hostname, ':', @@port) AS server /*M!100100 , @@wsrep_on AS isNode */"

/** The databases whose servers are the nodes of a Galera cluster. */
export const clusters = new WeakSet<object>()

/** Makes TypeORM's driver strict, limits its statements, keeps long text and milliseconds, and detects MariaDB at `mysql://`. */
export function configureMysqlDriver(
  driver: MysqlDriver,
  limits: ConnectionLimits,
  watch: ServerWatch,
): void {
  configureConnections(driver, limits, watch)
  detectMariadb(driver, limits)
  useLongText(driver)
  trimTimes(driver)
  useMilliseconds(driver)
  driver.createQueryRunner = (mode) => new MariadbRunner(driver, mode)
}

/**
 * TypeORM's query runner, except that a generated column needs no table of TypeORM: the server itself has the expressions.
 * `queries/publish.ts` replaces the `query` method of this class, so that TypeORM's class is unchanged.
 */
export class MariadbRunner extends MysqlQueryRunner {
  /**
   * Drops a column with its indexes. The unique indexes that it shares with other columns are dropped, too, as on the other engines.
   * All of it is one statement, because MariaDB cannot roll back an earlier one.
   */
  override async dropColumn(
    table: Table | string,
    column: TableColumn | string,
    ifExists?: boolean,
  ): Promise<void> {
    const name = typeof column === 'string' ? column : column.name
    const found = (await this.getTable(this.getTablePath(table)))?.findColumnByName(name)
    if (!found || found.isPrimary) return super.dropColumn(table, column, ifExists)
    const { tableName } = this.driver.parseTableName(table)
    const indexes: { name: string }[] = await this.query(SHARED_UNIQUE, [tableName, name])
    const changes = [
      ...indexes.map((index) => `DROP INDEX ${this.driver.escape(index.name)}`),
      `DROP COLUMN ${this.driver.escape(name)}`,
    ]
    const statement = `ALTER TABLE ${this.escapePath(table)} ${changes.join(', ')}`
    await this.query(statement).catch((error: unknown) => this.explainUse(error, tableName, name))
    const changed = await this.getTable(this.getTablePath(table))
    if (changed && table instanceof Table) Object.assign(table, changed)
  }

  /** Rejects with a sentence that names what uses a column, or with the same error. */
  private async explainUse(error: unknown, table: string, column: string): Promise<never> {
    const [, where] = /in '(CHECK|GENERATED ALWAYS AS)'$/.exec(String(Object(error).message)) ?? []
    if (!where) throw error
    const isCheck = where === 'CHECK'
    const users: { name: string }[] = await this.query(isCheck ? CHECKS : GENERATED, [table, column])
    const kind = isCheck ? 'check constraint' : 'generated column'
    throw new Error(
      `MariaDB cannot drop the column "${column}" of "${table}", because a ${kind} uses it: ` +
        `${users.map(({ name }) => name).join(', ')}. Drop the ${kind} first.`,
      { cause: error },
    )
  }

  protected override selectTypeormMetadataSql(
    row: Parameters<MysqlQueryRunner['selectTypeormMetadataSql']>[0],
  ): Query {
    const { schema, table, type, name } = row
    return type === MetadataTableType.GENERATED_COLUMN
      ? new Query(EXPRESSION, [schema, table, name])
      : super.selectTypeormMetadataSql(row)
  }

  protected override insertTypeormMetadataSql(
    row: Parameters<MysqlQueryRunner['insertTypeormMetadataSql']>[0],
  ): Query {
    return row.type === MetadataTableType.GENERATED_COLUMN ? NOTHING : super.insertTypeormMetadataSql(row)
  }

  protected override deleteTypeormMetadataSql(
    row: Parameters<MysqlQueryRunner['deleteTypeormMetadataSql']>[0],
  ): Query {
    return row.type === MetadataTableType.GENERATED_COLUMN ? NOTHING : super.deleteTypeormMetadataSql(row)
  }
}

/** The statement that is run instead of one for TypeORM's table with the expressions of generated columns. */
const NOTHING = new Query('SELECT 1 FROM DUAL WHERE FALSE')

/** The unique indexes that have a column among others. MariaDB and MySQL reject to drop such a column. */
const SHARED_UNIQUE = `
  SELECT index_name AS name FROM information_schema.statistics
  WHERE table_schema = DATABASE() AND table_name = ? AND non_unique = 0 AND index_name <> 'PRIMARY'
  GROUP BY index_name HAVING COUNT(*) > 1 AND MAX(column_name = ?) = 1`

/** The checks of a table in which a column occurs. */
const CHECKS = `
  SELECT constraint_name AS name FROM information_schema.check_constraints
  WHERE constraint_schema = DATABASE() AND table_name = ? AND LOCATE(CONCAT('\`', ?, '\`'), check_clause)`

/** The generated columns of a table in whose expressions a column occurs. */
const GENERATED = `
  SELECT column_name AS name FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = ? AND LOCATE(CONCAT('\`', ?, '\`'), generation_expression)`

/** The expression of a generated column. */
const EXPRESSION = `
  SELECT generation_expression AS value FROM information_schema.columns
  WHERE table_schema = ? AND table_name = ? AND column_name = ?`

/** Whether the server is MariaDB, and not MySQL. */
export async function isMariadb(server: { query(sql: string): Promise<unknown> }): Promise<boolean> {
  // The type of the rows is unknown here.
  const [row] = (await server.query('SELECT VERSION() AS version')) as { version: string }[]
  return /mariadb/i.test(row?.version ?? '')
}

function configureConnections(driver: MysqlDriver, limits: ConnectionLimits, watch: ServerWatch): void {
  const { createPool } = driver.mysql
  driver.mysql = {
    ...driver.mysql,
    createPool(options: unknown) {
      const pool: Pool = createPool(options)
      pool.on('connection', (connection) => {
        const watched = watch.add(connection.stream)
        watchedConnections.set(connection, watched)
        observe(connection, watched, limits)
        // A connection runs its queries in the order in which they are sent, so these two come first.
        connection.query(SESSION + timeouts(limits), ignore)
        connection.query(
          SERVER,
          (_error: unknown, [row]: { server: string; isNode?: string | number }[] = []) => {
            if (row) watch.noteServer((watched.server = row.server))
            if (Number(row?.isNode) === 1) clusters.add(driver.dataSource)
          },
        )
      })
      return pool
    },
  }
}

/** The time limits of a new connection. MariaDB (seconds) and MySQL (milliseconds) each execute their own version comments. */
function timeouts({ acquireTimeout, statementTimeout: limit }: ConnectionLimits): string {
  const locks = `, ${lockTimeouts(acquireTimeout)}`
  if (!limit) return locks
  const forMariadb = `/*M!100100 , SESSION max_statement_time = ${limit / 1000} */`
  return `${locks} ${forMariadb} /*!50708 , SESSION max_execution_time = ${limit} */`
}

/** The settings of a session that limit how long its statements wait for a lock. */
export function lockTimeouts(milliseconds: number): string {
  // Whole seconds, at least one.
  const wait = Math.max(1, Math.ceil(milliseconds / 1000))
  return `SESSION innodb_lock_wait_timeout = ${wait}, SESSION lock_wait_timeout = ${wait}`
}

/** Watches the statements of a connection, and gives each its own timeout, because mysql2 has none for a connection. */
function observe(
  connection: Connection,
  watched: WatchedConnection,
  { statementTimeout }: ConnectionLimits,
): void {
  const query = connection.query.bind(connection)
  const timeout = statementTimeout && statementTimeout + socketTimeoutMargin
  connection.query = (sql, ...others) => {
    const callback = others.at(-1)
    const limited = timeout && typeof sql === 'string' ? { sql, timeout } : sql
    if (typeof callback !== 'function') return query(limited, ...others)
    watched.sent()
    return query(limited, ...others.slice(0, -1), (error: unknown, ...results: unknown[]) => {
      watched.answered(error)
      callback(error, ...results)
    })
  }
}

/** If a connection is lost while it is configured, its next query fails, too. */
export function ignore(): void {}

/**
 * Detects MariaDB, which has a type for UUIDs unlike MySQL. TypeORM relies on the URL, which is often `mysql:` for both. Rejects
 * a server that rejects the settings of a session, because the errors of new connections are ignored.
 */
function detectMariadb(driver: MysqlDriver, limits: ConnectionLimits): void {
  const connect = driver.connect.bind(driver)
  driver.connect = async () => {
    await connect()
    const isDetected = await leadsToMariadb(driver, limits).catch(async (error: unknown) => {
      await driver.disconnect()
      throw error
    })
    if (!isDetected || driver.options.type === 'mariadb') return
    await driver.disconnect()
    Object.assign(driver.options, { type: 'mariadb' })
    await connect()
  }
}

async function leadsToMariadb(driver: MysqlDriver, limits: ConnectionLimits): Promise<boolean> {
  const runner = driver.createQueryRunner('master')
  try {
    await runner.query(SESSION + timeouts(limits))
    return await isMariadb(runner)
  } finally {
    await runner.release()
  }
}

/** Reads a time with fractions of a second without trailing zeros, as on the other engines. */
function trimTimes(driver: MysqlDriver): void {
  const prepare = driver.prepareHydratedValue.bind(driver)
  driver.prepareHydratedValue = (value, column) => {
    const prepared: unknown = prepare(value, column)
    const hasFraction = column.type === 'time' && typeof prepared === 'string' && prepared.includes('.')
    return hasFraction ? prepared.replace(/\.?0+$/, '') : prepared
  }
}

/** Stores text as `longtext`, because the `text` of MariaDB and MySQL is limited to 64 KB, and that of the other engines is not. */
function useLongText(driver: MysqlDriver): void {
  const normalizeType = driver.normalizeType.bind(driver)
  driver.normalizeType = (column) => (column.type === 'text' ? 'longtext' : normalizeType(column))
}

/** Without a precision, MySQL drops fractions of a second. */
function useMilliseconds({ mappedDataTypes }: MysqlDriver): void {
  const now = 'CURRENT_TIMESTAMP(3)'
  Object.assign(mappedDataTypes, { createDateDefault: now, updateDateDefault: now })
  Object.assign(mappedDataTypes, { createDatePrecision: 3, updateDatePrecision: 3, deleteDatePrecision: 3 })
}
