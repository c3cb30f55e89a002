import { ServiceUnavailable } from '../../errors.js'
import type { ConnectionLimits } from './engine.js'
import { rejectOwnWait } from './own-waits.js'
import { Semaphore, type Release } from './semaphore.js'

/** A connection without a response counts as lost this many milliseconds after `statementTimeout`. */
export const socketTimeoutMargin = 5000

/** Connections that a server's pool has in addition to its size, for pings: a busy pool doesn't mean that the server is down. */
export const pingConnections = 1

/**
 * Limits the connections of a server's driver. Queries wait for a connection in the order of their arrival. The wait has a
 * timeout, which mysql2 doesn't support.
 */
export function connectionSemaphore({ size, acquireTimeout }: ConnectionLimits): Semaphore {
  const message = `None of the ${size} database connections became free within ${acquireTimeout / 1000} s.`
  return new Semaphore(size, acquireTimeout, message)
}

/**
 * Waits until a connection may be used.
 *
 * @throws WaitsForItself when the only connection belongs to the transaction of the same request
 */
export function permitConnection(semaphore: Semaphore, { size }: ConnectionLimits): Promise<Release> {
  if (size === 1) rejectOwnWait((runner) => !runner.isReleased && Reflect.get(runner, 'databaseConnection'))
  return semaphore.acquire()
}

/**
 * Waits for a connection, and releases its permit if there is none.
 *
 * @throws ServiceUnavailable, for every error of the driver
 */
export async function connected<T>(connection: Promise<T>, release: Release): Promise<T> {
  try {
    return await connection
  } catch (error) {
    release()
    throw new ServiceUnavailable('The database does not respond.', 5, { cause: error })
  }
}
