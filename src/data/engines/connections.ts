import type { DataSource, QueryRunner } from 'typeorm'
import { ServiceUnavailable } from '../../errors.js'
import { isMysql } from './mariadb.js'
import { pingBy, type Ping } from './ping.js'
import { Semaphore } from './semaphore.js'
import type { PoolOptions } from './sqlite/pool.js'

type Driver = DataSource['driver']

/** A connection of `pg`, as far as it is needed here. */
interface PostgresConnection {
  query(...args: unknown[]): unknown
  /** `I` outside of a transaction; older releases of `pg` do not say. */
  getTransactionStatus?(): string | null
}

/** A connection of `mysql2`, as far as it is needed here. */
interface MysqlConnection {
  query(sql: unknown, ...others: unknown[]): unknown
  promise(): { query(sql: string): Promise<unknown> }
  release(): void
  destroy(): void
}

/** How TypeORM's drivers get and give connections, which their types do not tell. */
interface PostgresDriver {
  obtainMasterConnection(): Promise<[PostgresConnection, Release]>
}
interface MysqlDriver {
  obtainMasterConnection(): Promise<MysqlConnection>
}
type Release = (error?: unknown) => void

/** How long the server works, or waits, for one statement. */
export interface ConnectionOptions extends PoolOptions {
  /** Milliseconds after which a statement is ended; never without it. */
  statementTimeout?: number | undefined
}

/** Milliseconds beyond `statementTimeout` after which a server that says nothing is taken for lost. */
const grace = 5000

/** What the options are called by `pg`, which tells the server. */
export function postgresTimeouts({ acquireTimeout, statementTimeout: limit }: ConnectionOptions): object {
  // A host that has gone without a word is found out by the probes of the system.
  const common = { lock_timeout: acquireTimeout, keepAlive: true, keepAliveInitialDelayMillis: 10_000 }
  return { ...common, ...(limit && { statement_timeout: limit, query_timeout: limit + grace }) }
}

/** The statement by which a new connection tells the options to MariaDB or MySQL, each of which heeds its own comment. */
function mysqlTimeouts({ acquireTimeout, statementTimeout: limit }: ConnectionOptions): string {
  // In whole seconds, and at least one.
  const wait = Math.max(1, Math.ceil(acquireTimeout / 1000))
  const timeouts = `SET SESSION innodb_lock_wait_timeout = ${wait}, SESSION lock_wait_timeout = ${wait}`
  if (!limit) return timeouts
  const ofMariadb = `/*M!100100 , SESSION max_statement_time = ${limit / 1000} */`
  return `${timeouts} ${ofMariadb} /*!50708 , SESSION max_execution_time = ${limit} */`
}

/**
 * Makes whoever wants a connection of PostgreSQL or MariaDB wait in line, first come, first served, and not forever:
 * mysql2 knows no end to it. What goes wrong on the way to a connection is a ServiceUnavailable, whatever the driver
 * calls it. SQLite has a pool of its own.
 *
 * @returns a ping by the one connection more that the pool has: a pool that is busy with requests is no sign of a dead
 * server; undefined for SQLite
 */
export function limitConnections(driver: Driver, options: ConnectionOptions): Ping | undefined {
  const { size, acquireTimeout } = options
  const timeoutMessage = `None of the ${size} database connections became free within ${acquireTimeout / 1000} s.`
  const semaphore = new Semaphore(size, acquireTimeout, timeoutMessage)
  switch (driver.options.type) {
    case 'postgres':
      // A border: the members are those of TypeORM's PostgresDriver.
      return boundPostgres(driver as unknown as PostgresDriver, semaphore)
    case 'mysql':
    case 'mariadb':
      return boundMysql(driver as unknown as MysqlDriver, semaphore, options)
    default:
      return undefined
  }
}

/** Closes the connection of a runner, where nobody knows what state it is in, in place of giving it to the next one. */
export async function discardConnection(runner: QueryRunner): Promise<void> {
  // pg's are looked at when they are given back. SQLite's are reset.
  if (!isMysql(runner.dataSource.driver) || runner.isReleased) return
  const connection: MysqlConnection = await runner.connect()
  connection.destroy()
}

function boundPostgres(driver: PostgresDriver, semaphore: Semaphore): Ping {
  const obtain = driver.obtainMasterConnection.bind(driver)
  const known = new WeakSet<PostgresConnection>()
  driver.obtainMasterConnection = async () => {
    const leavePool = await semaphore.acquire()
    const [connection, release] = await connected(obtain(), leavePool)
    if (!known.has(connection)) askInTurn(connection)
    known.add(connection)
    const giveBack: Release = (error) => {
      release(error ?? unfinished(connection))
      leavePool()
    }
    return [connection, giveBack]
  }
  return pingBy(async () => {
    const [connection, release] = await obtain()
    const destroy = () => release(new Error('it has not responded'))
    return { query: (sql) => connection.query(sql), release: () => release(), destroy }
  })
}

/** Lets statements that are asked for at once (`Promise.all`) take turns: pg 9 no longer sees to that. */
function askInTurn(connection: PostgresConnection): void {
  const query = connection.query.bind(connection)
  let last: Promise<unknown> = Promise.resolve()
  connection.query = (...args) => {
    // With a callback, and for a stream, pg does it in its own way.
    if (typeof args[0] !== 'string' || args.some((arg) => typeof arg === 'function')) return query(...args)
    const answer = last.then(() => query(...args))
    last = answer.catch(() => undefined)
    return answer
  }
}

/** A transaction that nobody has ended would be that of the next one: the pool closes such a connection. */
function unfinished(connection: PostgresConnection): Error | undefined {
  const status = connection.getTransactionStatus?.() ?? 'I'
  return status === 'I' ? undefined : new Error('The transaction of the connection was not ended.')
}

function boundMysql(driver: MysqlDriver, semaphore: Semaphore, options: ConnectionOptions): Ping {
  const obtain = driver.obtainMasterConnection.bind(driver)
  const known = new WeakSet<MysqlConnection>()
  async function prepared(): Promise<MysqlConnection> {
    const connection = await obtain()
    if (known.has(connection)) return connection
    try {
      await connection.promise().query(mysqlTimeouts(options))
    } catch (error) {
      connection.destroy()
      throw error
    }
    known.add(connection)
    if (options.statementTimeout) endWaiting(connection, options.statementTimeout + grace)
    return connection
  }

  driver.obtainMasterConnection = async () => {
    const leavePool = await semaphore.acquire()
    const connection = await connected(prepared(), leavePool)
    const release = connection.release.bind(connection)
    connection.release = () => {
      connection.release = release
      release()
      leavePool()
    }
    return connection
  }
  return pingBy(async () => {
    const connection = await obtain()
    return {
      query: (sql) => connection.promise().query(sql),
      release: () => connection.release(),
      destroy: () => connection.destroy(),
    }
  })
}

/** Makes a connection wait for no answer longer than that: mysql2 takes the time with each statement only. */
function endWaiting(connection: MysqlConnection, timeout: number): void {
  const query = connection.query.bind(connection)
  connection.query = (sql, ...others) => query(typeof sql === 'string' ? { sql, timeout } : sql, ...others)
}

async function connected<T>(connection: Promise<T>, leavePool: () => void): Promise<T> {
  try {
    return await connection
  } catch (error) {
    leavePool()
    throw new ServiceUnavailable('The database does not respond.', 5, { cause: error })
  }
}
