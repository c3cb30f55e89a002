import type { MysqlDriver } from 'typeorm/driver/mysql/MysqlDriver.js'

/** A connection of `mysql2`, as far as it is needed here. */
interface Connection {
  query(sql: string, done: () => void): void
}

/** A pool of `mysql2`, as far as it is needed here. */
interface Pool {
  on(event: 'connection', listener: (connection: Connection) => void): void
}

/**
 * What every connection is told before it is used. A value that does not fit is an error and never cut, whatever the
 * server is configured to do, and what the server itself writes into a column (`CURRENT_TIMESTAMP`) is in UTC.
 */
const SESSION =
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'" +
  ", SESSION time_zone = '+00:00'"

/** Makes TypeORM's driver strict, gives text enough room, and detects a MariaDB also if the URL says `mysql://`. */
export function configureMysqlDriver(driver: MysqlDriver): void {
  configureConnections(driver)
  detectMariadb(driver)
  useLongText(driver)
  trimTimes(driver)
  useMilliseconds(driver)
}

/** Whether a server of MariaDB or MySQL is a MariaDB. */
export async function isMariadb(server: { query(sql: string): Promise<unknown> }): Promise<boolean> {
  // The type of a query's rows is unknown to the driver.
  const [row] = (await server.query('SELECT VERSION() AS version')) as { version: string }[]
  return /mariadb/i.test(row?.version ?? '')
}

function configureConnections(driver: MysqlDriver): void {
  const { createPool } = driver.mysql
  driver.mysql = {
    ...driver.mysql,
    createPool(options: unknown) {
      const pool: Pool = createPool(options)
      // Queries of a connection are run in the order in which they are asked, so this one comes first.
      pool.on('connection', (connection) => connection.query(SESSION, ignore))
      return pool
    },
  }
}

/** A connection that cannot be told is one that cannot be asked either: the first query says why. */
function ignore(): void {}

/** MariaDB has a type for UUIDs, which MySQL has not. TypeORM believes the url, many of which say `mysql` for both. */
function detectMariadb(driver: MysqlDriver): void {
  const connect = driver.connect.bind(driver)
  driver.connect = async () => {
    await connect()
    if (driver.options.type === 'mariadb' || !(await leadsToMariadb(driver))) return
    await driver.disconnect()
    Object.assign(driver.options, { type: 'mariadb' })
    await connect()
  }
}

async function leadsToMariadb(driver: MysqlDriver): Promise<boolean> {
  const runner = driver.createQueryRunner('master')
  try {
    return await isMariadb(runner)
  } finally {
    await runner.release()
  }
}

/** A time with parts of a second has six digits of them, as it is read; on the other engines it has those that it needs. */
function trimTimes(driver: MysqlDriver): void {
  const prepare = driver.prepareHydratedValue.bind(driver)
  driver.prepareHydratedValue = (value, column) => {
    const prepared: unknown = prepare(value, column)
    const isLong = column.type === 'time' && typeof prepared === 'string' && prepared.includes('.')
    return isLong ? prepared.replace(/\.?0+$/, '') : prepared
  }
}

/** A `text` of MariaDB and MySQL ends at 64 KB, that of the other engines does not. */
function useLongText(driver: MysqlDriver): void {
  const normalizeType = driver.normalizeType.bind(driver)
  driver.normalizeType = (column) => (column.type === 'text' ? 'longtext' : normalizeType(column))
}

/** Without a precision, MySQL drops the fractions of a second. */
function useMilliseconds({ mappedDataTypes }: MysqlDriver): void {
  const now = 'CURRENT_TIMESTAMP(3)'
  Object.assign(mappedDataTypes, { createDateDefault: now, updateDateDefault: now })
  Object.assign(mappedDataTypes, { createDatePrecision: 3, updateDatePrecision: 3, deleteDatePrecision: 3 })
}
