/** A connection that is used for one ping. */
export interface PingConnection {
  query(sql: string): unknown
  /** Returns the connection to its pool. */
  release(): void
  /** Closes the connection, even while a query runs. */
  destroy(): void
}

/** Sends a statement to a database (that of a ping), and rejects if there is no response before the signal. */
export type Ping = (signal: AbortSignal, sql?: string) => Promise<void>

/**
 * Returns a ping that uses its own connection, so that it never waits for a request.
 *
 * @param connect opens or acquires a connection that requests do not use
 * @param statement the query of a ping
 */
export function pingBy(connect: () => Promise<PingConnection>, statement = 'SELECT 1'): Ping {
  async function query(signal: AbortSignal, aborted: Promise<never>, sql = statement): Promise<void> {
    const connection = await connect()
    try {
      signal.throwIfAborted()
      await Promise.race([connection.query(sql), aborted])
      connection.release()
    } catch (error) {
      // The state of the connection is unknown.
      connection.destroy()
      throw error
    }
  }
  return async (signal, sql) => {
    signal.throwIfAborted()
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
    await Promise.race([query(signal, aborted, sql), aborted])
  }
}
