/** A connection that is used for one ping. */
export interface PingConnection {
  query(sql: string): unknown
  /** Returns the connection to its pool. */
  release(): void
  /** Closes the connection, also while a query runs. */
  destroy(): void
}

/** Sends a query to a database, and rejects when there is no response before the signal. */
export type Ping = (signal: AbortSignal) => Promise<void>

/**
 * Makes a ping that waits for no other request.
 *
 * @param connect takes a connection that is not one of the requests'
 */
export function pingBy(connect: () => Promise<PingConnection>): Ping {
  async function ask(signal: AbortSignal): Promise<void> {
    const connection = await connect()
    try {
      await orAborted(signal, async () => connection.query('SELECT 1'))
      connection.release()
    } catch (error) {
      // Nobody knows what state it is in.
      connection.destroy()
      throw error
    }
  }
  return (signal) => orAborted(signal, () => ask(signal))
}

async function orAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    const settled = (): void => signal.removeEventListener('abort', abort)
    work().finally(settled).then(resolve, reject)
  })
}
