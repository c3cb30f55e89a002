import { connectionSemaphore } from '../connections.js'
import type { ConnectionLimits } from '../connections.js'
import { rejectOwnWait } from '../own-waits.js'
import { Semaphore, type Release } from '../../../common/semaphore.js'
import { ServiceUnavailable } from '../../../errors.js'
import type { SqliteConnection } from './connection.js'
import type { StatementResult } from './statement.js'

/** A connection that one query runner uses exclusively until it returns it. */
export interface ExclusiveConnection {
  readonly connection: SqliteConnection
  release(): void
}

/**
 * The connections to a SQLite file. Each one is opened when it is first needed:
 *
 * - a shared connection for single statements. They are synchronous, so they cannot overlap on it;
 * - a connection for the transaction that holds the write lock;
 * - some connections for read transactions, and for query runners that change settings of their connection.
 */
export class SqlitePool {
  /** The queue of transactions that write: SQLite has one writer at a time. */
  private readonly writeLock: Semaphore
  /** The queue for the connections of `take`. */
  private readonly readers: Semaphore
  private readonly idle: SqliteConnection[] = []
  private readonly opened = new Set<SqliteConnection>()
  private shared: Promise<SqliteConnection> | undefined
  private writer: Promise<SqliteConnection> | undefined
  /** The error for later callers, once the pool is closed. */
  private closed: Error | undefined

  constructor(
    private readonly open: () => Promise<SqliteConnection>,
    private readonly limits: ConnectionLimits,
  ) {
    const message =
      `Waited ${limits.acquireTimeout / 1000} s to write, because another transaction has not ended. ` +
      'Inside a transaction, use its own manager (ctx.tx), never the DataSource.'
    this.writeLock = new Semaphore(1, limits.acquireTimeout, () => new ServiceUnavailable(message))
    this.readers = connectionSemaphore(limits)
  }

  /** @throws WaitsForItself when its own transaction holds it; ServiceUnavailable after the timeout */
  acquireWriteLock(): Promise<Release> {
    rejectOwnWait((runner) => Reflect.get(runner, 'holdsWriteLock') === true)
    return this.writeLock.acquire()
  }

  /** Returns the shared connection for single statements. */
  share(): Promise<SqliteConnection> {
    return this.openOnce('shared')
  }

  /** Runs a single statement on the shared connection. */
  async run(sql: string, values: unknown[]): Promise<StatementResult> {
    const deadline = this.newDeadline()
    const connection = await this.share()
    const statement = connection.prepare(sql)
    if (statement.readonly) return connection.run(statement, values, deadline)
    const release = await this.acquireWriteLock()
    try {
      return await connection.run(statement, values, deadline)
    } finally {
      release()
    }
  }

  /** The time of `performance.now()` at which a statement that begins to wait now times out. */
  newDeadline(): number {
    return performance.now() + this.limits.acquireTimeout
  }

  /** Waits for a connection for a read transaction, or for settings of the connection. */
  async take(): Promise<ExclusiveConnection> {
    const leave = await this.readers.acquire()
    try {
      const connection = this.idle.pop() ?? (await this.openAnother())
      const release = (): void => {
        if (this.makeReady(connection)) this.idle.push(connection)
        leave()
      }
      return { connection, release }
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Takes the connection for the transaction that writes. The caller must hold the write lock. */
  async takeWriter(): Promise<ExclusiveConnection> {
    const connection = await this.openOnce('writer')
    const release = (): void => {
      if (!this.makeReady(connection)) this.writer = undefined
    }
    return { connection, release }
  }

  /** Closes all connections, which rolls back their transactions. */
  close(): void {
    this.closed = new Error('The database has been closed.')
    this.writeLock.close(this.closed)
    this.readers.close(this.closed)
    for (const connection of this.opened) connection.close()
    this.opened.clear()
  }

  /** Opens a connection when it is first used, and again after a failure. */
  private openOnce(name: 'shared' | 'writer'): Promise<SqliteConnection> {
    this[name] ??= this.openAnother().catch((error: unknown) => {
      this[name] = undefined
      throw error
    })
    return this[name]
  }

  private async openAnother(): Promise<SqliteConnection> {
    const connection = await this.open()
    if (this.closed) {
      connection.close()
      throw this.closed
    }
    this.opened.add(connection)
    return connection
  }

  /** Prepares a connection for its next use. If that fails, it closes the connection, and returns false. */
  private makeReady(connection: SqliteConnection): boolean {
    if (!this.opened.has(connection)) return false
    try {
      connection.reset()
      return true
    } catch {
      this.opened.delete(connection)
      connection.close()
      return false
    }
  }
}
