import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { socketTimeoutMargin } from './connections.js'
import type { ConnectionLimits } from './connections.js'
import { MariadbRunner } from './mariadb-runner.js'
import { createRunner } from './mode.js'
import { watchedConnections, type ServerWatch, type WatchedConnection } from './server-watch.js'
import type { MysqlDriver } from 'typeorm/driver/mysql/MysqlDriver.js'

/** The members of a `mysql2` connection that the framework uses. */
export interface MysqlConnection {
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
  on(event: 'connection', listener: (connection: MysqlConnection) => void): void
}

/**
 * Configures every connection before it is used. A value that does not fit is an error and never truncated,
 * whatever the server's own configuration is, and datetimes that the server sets (`CURRENT_TIMESTAMP`) are in
 * UTC.
 */
const SESSION =
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'" +
  ", SESSION time_zone = '+00:00'"

/** The query of a server's address. `isNode` is true on a node of a Galera cluster. */
export const SERVER = "SELECT CONCAT(@@hostname, ':', @@port) AS server /*M!100100 , @@wsrep_on AS isNode */"

/** The databases whose servers are the nodes of a Galera cluster. */
export const clusters = new WeakSet<object>()

/** Makes TypeORM's driver strict: limits statements, keeps long text and milliseconds, detects MariaDB. */
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

/** The time limits of a new connection. */
function timeouts({ acquireTimeout, statementTimeout: limit }: ConnectionLimits): string {
  const locks = `, ${lockTimeouts(acquireTimeout)}`
  return limit ? `${locks}, ${statementTimeouts(limit)}` : locks
}

/** A session's settings that limit statements. MariaDB and MySQL each execute their own comment. */
export function statementTimeouts(milliseconds: number): string {
  const seconds = milliseconds / 1000
  return `/*M!100100 SESSION max_statement_time = ${seconds} */ /*!50708 SESSION max_execution_time = ${milliseconds} */`
}

/** The settings of a session that limit how long its statements wait for a lock. */
export function lockTimeouts(milliseconds: number): string {
  // Whole seconds, at least one.
  const wait = Math.max(1, Math.ceil(milliseconds / 1000))
  return `SESSION innodb_lock_wait_timeout = ${wait}, SESSION lock_wait_timeout = ${wait}`
}

/** Watches the statements of a connection, and gives each its own timeout, which mysql2 does not have. */
function observe(
  connection: MysqlConnection,
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
 * Detects MariaDB, which has a type for UUIDs unlike MySQL. TypeORM relies on the URL, which is often
 * `mysql:` for both. Rejects a server that rejects the settings of a session, because the errors of new
 * connections are ignored.
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
  const runner = createRunner(driver, 'write')
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

/** Stores text as `longtext`: `text` has at most 64 KB, and no limit on the other engines. */
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
