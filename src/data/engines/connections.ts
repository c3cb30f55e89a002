import { ServiceUnavailable } from '../../errors.js'
import type { ConnectionLimits } from './engine.js'
import { rejectOwnWait } from './own-waits.js'
import { Semaphore, type Release } from './semaphore.js'
import { serverPatience } from './server-watch.js'

/** A connection without a response counts as lost this many milliseconds after `statementTimeout`. */
export const socketTimeoutMargin = 5000

/** Connections that a server's pool has in addition to its size, for pings: a busy pool doesn't mean that the server is down. */
export const pingConnections = 1

/** Milliseconds that a server has to accept a connection. */
export function connectTimeout({ acquireTimeout }: ConnectionLimits): number {
  return Math.min(acquireTimeout, serverPatience)
}

/** Tries to connect again until `timeout` while nothing answers: the address may lead to another server by now. */
export async function whileSilent<T>(timeout: number, connect: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + timeout
  for (;;) {
    const from = performance.now()
    try {
      return await connect()
    } catch (error) {
      const now = performance.now()
      if (now < from + serverPatience || now + serverPatience > deadline) throw error
    }
  }
}

/**
 * Limits the connections of a server's driver. Queries wait for a connection in the order of their arrival. The wait has a
 * timeout, which mysql2 doesn't support.
 */
export function connectionSemaphore({ size, acquireTimeout }: ConnectionLimits): Semaphore {
  const message = `None of the ${size} database connections became free within ${acquireTimeout / 1000} s.`
  return new Semaphore(size, acquireTimeout, message)
}

/**
 * Returns a function that opens or acquires a connection as soon as it may be used, and a release for its permit. It throws
 * WaitsForItself when the only connection belongs to the transaction of the same request, and ServiceUnavailable for every
 * error of the driver.
 */
export function limiterOf(
  limits: ConnectionLimits,
): <T>(connect: () => Promise<T>) => Promise<[connection: T, release: Release]> {
  const semaphore = connectionSemaphore(limits)
  return async function permitted(connect) {
    if (limits.size === 1)
      rejectOwnWait((runner) => !runner.isReleased && Reflect.get(runner, 'databaseConnection'))
    const release = await semaphore.acquire()
    try {
      return [await whileSilent(limits.acquireTimeout, connect), release]
    } catch (error) {
      release()
      throw new ServiceUnavailable('The database does not respond.', 5, { cause: error })
    }
  }
}
