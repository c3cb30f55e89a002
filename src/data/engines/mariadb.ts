import type { DataSource, EntityMetadata } from 'typeorm'
import type { MysqlDriver } from 'typeorm/driver/mysql/MysqlDriver.js'

type Driver = DataSource['driver']

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

/** What `COLLATE` calls the comparison letter by letter. */
export const COLLATIONS = { mariadb: 'utf8mb4_nopad_bin', mysql: 'utf8mb4_0900_bin' }

/** Whether a driver is that of MariaDB and MySQL. */
export function isMysql(driver: Driver): driver is MysqlDriver {
  return driver.options.type === 'mysql' || driver.options.type === 'mariadb'
}

/** Whether a server of MariaDB or MySQL says that it is a MariaDB. */
export async function isMariadb(server: {
  query(sql: string): Promise<{ version: string }[]>
}): Promise<boolean> {
  const [row] = await server.query('SELECT VERSION() AS version')
  return /mariadb/i.test(row?.version ?? '')
}

/** Makes MariaDB and MySQL strict and roomy, and knows a MariaDB also where the url says `mysql://`. */
export function tameMysql(driver: Driver): void {
  if (!isMysql(driver)) return
  instructConnections(driver)
  recogniseMariadb(driver)
  leaveRoomForText(driver)
  shortenTimes(driver)
}

/**
 * Makes a new record's missing words NULL, which the database refuses: left out, a column of type `enum` that must not be
 * null would be given the first of its words.
 */
export function insistOnWords({ dataSource, columns }: EntityMetadata, record: object): void {
  if (!isMysql(dataSource.driver)) return
  for (const column of columns) {
    const isFilled = !column.enum || column.isNullable || column.default !== undefined
    if (!isFilled && column.getEntityValue(record) === undefined) column.setEntityValue(record, null)
  }
}

/**
 * How a column of text is kept and compared: text of any language, and letter by letter with its case and the spaces at
 * its end, as the other engines do it, whatever the database says.
 */
export function textComparison(driver: MysqlDriver): { charset: string; collation: string } {
  const collation = driver.options.type === 'mariadb' ? COLLATIONS.mariadb : COLLATIONS.mysql
  return { charset: 'utf8mb4', collation }
}

function instructConnections(driver: MysqlDriver): void {
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
function recogniseMariadb(driver: MysqlDriver): void {
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
function shortenTimes(driver: MysqlDriver): void {
  const prepare = driver.prepareHydratedValue.bind(driver)
  driver.prepareHydratedValue = (value, column) => {
    const prepared: unknown = prepare(value, column)
    const isLong = column.type === 'time' && typeof prepared === 'string' && prepared.includes('.')
    return isLong ? prepared.replace(/\.?0+$/, '') : prepared
  }
}

/** A `text` of MariaDB and MySQL ends at 64 KB, that of the other engines does not. */
function leaveRoomForText(driver: MysqlDriver): void {
  const normalizeType = driver.normalizeType.bind(driver)
  driver.normalizeType = (column) => (column.type === 'text' ? 'longtext' : normalizeType(column))
}
