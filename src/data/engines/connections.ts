import { ServiceUnavailable } from '../../errors.js'
import type { ConnectionLimits } from './engine.js'
import { Semaphore, type Release } from './semaphore.js'

/** Milliseconds beyond `statementTimeout` after which a silent server counts as lost. */
export const silenceGrace = 5000

/** How many connections a server's pool has beyond its size, for pings: a pool that is busy is no sign of a dead server. */
export const pingConnections = 1

/**
 * Limits the connections of a server's driver: queries wait in line for one, first come, first served, and not forever.
 * mysql2 has no such timeout.
 */
export function connectionSemaphore({ size, acquireTimeout }: ConnectionLimits): Semaphore {
  const message = `None of the ${size} database connections became free within ${acquireTimeout / 1000} s.`
  return new Semaphore(size, acquireTimeout, message)
}

/**
 * Waits for a connection, and releases the permit for it when there is none.
 *
 * @throws ServiceUnavailable, whatever the driver throws
 */
export async function connected<T>(connection: Promise<T>, release: Release): Promise<T> {
  try {
    return await connection
  } catch (error) {
    release()
    throw new ServiceUnavailable('The database does not respond.', 5, { cause: error })
  }
}
