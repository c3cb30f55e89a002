/** A connection that is used for one ping. */
export interface PingConnection {
  query(sql: string): unknown
  /** Returns the connection to its pool. */
  release(): void
  /** Closes the connection, even while a query runs. */
  destroy(): void
}

/** Sends a query to a database, and rejects if there is no response before the signal. */
export type Ping = (signal: AbortSignal) => Promise<void>

/**
 * Returns a ping that uses its own connection, so that it never waits for a request.
 *
 * @param connect opens or acquires a connection that requests do not use
 */
export function pingBy(connect: () => Promise<PingConnection>): Ping {
  async function query(signal: AbortSignal): Promise<void> {
    const connection = await connect()
    try {
      await untilAborted(signal, async () => connection.query('SELECT 1'))
      connection.release()
    } catch (error) {
      // The state of the connection is unknown.
      connection.destroy()
      throw error
    }
  }
  return (signal) => untilAborted(signal, () => query(signal))
}

async function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    const settled = (): void => signal.removeEventListener('abort', abort)
    work().finally(settled).then(resolve, reject)
  })
}
