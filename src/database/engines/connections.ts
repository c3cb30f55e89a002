import { ServiceUnavailable } from '../../errors.js'
import { rejectOwnWait } from './own-waits.js'
import { Semaphore } from '../../common/semaphore.js'
import { answerTimeout, type WatchedConnection } from './server-watch.js'

/** The limits of the connections to a database. */
export interface ConnectionLimits {
  /** The number of connections. */
  size: number
  /** Milliseconds that a query waits for a connection, for the write lock, or for the locks of others. */
  acquireTimeout: number
  /** Milliseconds after which a statement is canceled; undefined for no limit. */
  statementTimeout?: number | undefined
}

/** The milliseconds after `statementTimeout` at which a connection without a response counts as lost. */
export const socketTimeoutMargin = 5000

/** Node counts a timer in whole milliseconds, so that a driver's timeout may come up to two of them early. */
const earliness = 2

/** Connections for pings, in addition to the pool's size: a ping must not fail because it is busy. */
export const pingConnections = 1

/** Milliseconds that a server has to accept a connection. */
export function connectTimeout({ acquireTimeout }: ConnectionLimits): number {
  return Math.min(acquireTimeout, answerTimeout)
}

/**
 * Connects. If there is no answer, it tries again, because the address may lead to another server by now.
 *
 * @param timeout milliseconds for all attempts
 * @throws the error of the last attempt
 */
export async function whileSilent<T>(timeout: number, connect: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeout
  for (;;) {
    const start = performance.now()
    try {
      return await connect()
    } catch (error) {
      const now = performance.now()
      // An error that comes sooner is an answer.
      if (now < start + answerTimeout - earliness || now + answerTimeout > deadline) throw error
    }
  }
}

/**
 * Limits the connections of a pool. Queries wait for a connection in the order of their arrival. The wait has
 * a timeout, which the pool of mysql2 does not support.
 */
export function connectionSemaphore({ size, acquireTimeout }: ConnectionLimits): Semaphore {
  const message = `None of the ${size} database connections became free within ${acquireTimeout / 1000} s.`
  return new Semaphore(size, acquireTimeout, () => new ServiceUnavailable(message))
}

/** A connection that the pool of a driver has given. */
export interface PooledConnection<Connection> {
  readonly connection: Connection
  readonly watched: WatchedConnection | undefined
  query(sql: string): unknown
  /** Returns the connection to the pool, or closes it because of an error, even while a query runs. */
  release(error?: unknown): void
}

/** Gives connections of a driver to requests, within the limits. */
export interface ConnectionLimiter<Connection> {
  /**
   * Acquires a connection as soon as it may be used.
   *
   * @throws WaitsForItself when the only connection belongs to the transaction of the same request;
   *   ServiceUnavailable for every error of the driver
   */
  acquire(): Promise<PooledConnection<Connection>>
  readonly ping: Ping
}

/**
 * @param take takes a connection of the pool
 * @param statement the query of a ping
 */
export function limiterOf<Connection>(
  limits: ConnectionLimits,
  take: () => Promise<PooledConnection<Connection>>,
  statement?: string,
): ConnectionLimiter<Connection> {
  const semaphore = connectionSemaphore(limits)

  /** Takes a connection that may still be used, and closes those that may not. */
  async function takeUsable(): Promise<PooledConnection<Connection>> {
    for (;;) {
      const taken = await take()
      if (!taken.watched?.isOver) return taken
      taken.watched.close()
      taken.release(new Error('The connection is over.'))
    }
  }

  async function acquire(): Promise<PooledConnection<Connection>> {
    // TypeORM's query runners keep their connection in this property, which is private.
    if (limits.size === 1)
      rejectOwnWait((runner) => !runner.isReleased && Reflect.get(runner, 'databaseConnection'))
    const leave = await semaphore.acquire()
    try {
      const taken = await whileSilent(limits.acquireTimeout, takeUsable)
      const release = (error?: unknown): void => {
        const { watched } = taken
        if (watched) watched.isReadOnly = false
        taken.release(error ?? (watched?.isOver ? new Error('The connection is over.') : undefined))
        leave()
      }
      return { ...taken, release }
    } catch (error) {
      leave()
      throw new ServiceUnavailable('The database does not respond.', 5, { cause: error })
    }
  }

  return { acquire, ping: pingBy(takeUsable, statement) }
}

/** Sends a statement, by default a ping's. Rejects if the signal is aborted before the response. */
export type Ping = (signal: AbortSignal, sql?: string) => Promise<void>

/**
 * Returns a ping that uses its own connection, so that it never waits for a request. When it is aborted, it
 * does not wait for `take`.
 *
 * @param take takes a connection that requests do not use
 * @param statement the query of a ping
 */
export function pingBy(
  take: () => Promise<Pick<PooledConnection<unknown>, 'query' | 'release'>>,
  statement = 'SELECT 1',
): Ping {
  return async (signal, sql = statement) => {
    signal.throwIfAborted()
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    async function query(): Promise<void> {
      const connection = await take()
      try {
        signal.throwIfAborted()
        await Promise.race([connection.query(sql), aborted])
        connection.release()
      } catch (error) {
        // The state of the connection is unknown.
        connection.release(error)
        throw error
      }
    }
    await Promise.race([query(), aborted])
  }
}
