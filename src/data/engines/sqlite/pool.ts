import { rejectOwnWait } from '../own-waits.js'
import { Semaphore, type Release } from '../semaphore.js'
import type { SqliteConnection } from './connection.js'
import type { StatementResult } from './statement.js'

/** A connection that one query runner uses exclusively until it returns it. */
export interface ExclusiveConnection {
  readonly connection: SqliteConnection
  release(): void
}

/** The limits of a connection pool. */
export interface PoolOptions {
  /** The maximum number of connections for read transactions. */
  size: number
  /** Milliseconds that a query waits for a connection, for the write lock, or for the locks of others. */
  acquireTimeout: number
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
  private readonly readers: Semaphore
  private readonly idle: SqliteConnection[] = []
  private readonly opened = new Set<SqliteConnection>()
  private shared: Promise<SqliteConnection> | undefined
  private writer: Promise<SqliteConnection> | undefined
  /** The error for later requests for a connection, once the pool is closed. */
  private closed: Error | undefined
  /** The connection of `writer`, once it is open. */
  private openWriter: SqliteConnection | undefined

  constructor(
    private readonly open: () => Promise<SqliteConnection>,
    private readonly options: PoolOptions,
  ) {
    const { size, acquireTimeout } = options
    const seconds = acquireTimeout / 1000
    this.writeLock = new Semaphore(
      1,
      acquireTimeout,
      `Waited ${seconds} s to write, because another transaction has not ended. ` +
        'Inside a transaction, use its own manager (ctx.tx), never the DataSource.',
    )
    this.readers = new Semaphore(
      size,
      acquireTimeout,
      `None of the ${size} database connections became free within ${seconds} s.`,
    )
  }

  /** Waits for the write lock. */
  acquireWriteLock(): Promise<Release> {
    rejectOwnWait((runner) => Reflect.get(runner, 'holdsWriteLock') === true)
    return this.writeLock.acquire()
  }

  /** Acquires the write lock if it is free; otherwise undefined. */
  tryAcquireWriteLock(): Release | undefined {
    return this.writeLock.tryAcquire()
  }

  /** Returns the shared connection for single statements. */
  share(): Promise<SqliteConnection> {
    this.shared ??= this.openAnother().catch((error: unknown) => {
      this.shared = undefined
      throw error
    })
    return this.shared
  }

  /** Runs a single statement on the shared connection. A statement that writes waits for the write lock. */
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
    return performance.now() + this.options.acquireTimeout
  }

  /** Waits for a connection for a read transaction. */
  async take(): Promise<ExclusiveConnection> {
    const release = await this.readers.acquire()
    try {
      return this.held(this.idle.pop() ?? (await this.openAnother()), release)
    } catch (error) {
      release()
      throw error
    }
  }

  /** Takes a connection for a read transaction if one is idle; otherwise undefined. */
  takeNow(): ExclusiveConnection | undefined {
    if (this.idle.length === 0) return undefined
    const release = this.readers.tryAcquire()
    const connection = release && this.idle.pop()
    return connection && this.held(connection, release)
  }

  /** Takes the connection for the transaction that writes. The caller must hold the write lock. */
  async takeWriter(): Promise<ExclusiveConnection> {
    this.writer ??= this.openAnother()
    try {
      this.openWriter = await this.writer
      return this.heldWriter(this.openWriter)
    } catch (error) {
      this.writer = undefined
      throw error
    }
  }

  /** The same if the connection is already open; otherwise undefined. The caller must hold the write lock. */
  takeWriterNow(): ExclusiveConnection | undefined {
    return this.openWriter && this.heldWriter(this.openWriter)
  }

  /** Closes all connections, which rolls back their transactions. SQLite then writes the WAL into the database file. */
  close(): void {
    this.closed = new Error('The database has been closed.')
    this.writeLock.close(this.closed)
    this.readers.close(this.closed)
    for (const connection of this.opened) connection.close()
    this.opened.clear()
    this.openWriter = undefined
  }

  private held(connection: SqliteConnection, releasePermit: Release): ExclusiveConnection {
    const release = (): void => {
      if (this.makeReady(connection)) this.idle.push(connection)
      releasePermit()
    }
    return { connection, release }
  }

  private heldWriter(connection: SqliteConnection): ExclusiveConnection {
    const release = (): void => {
      if (this.makeReady(connection)) return
      this.writer = undefined
      this.openWriter = undefined
    }
    return { connection, release }
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

  /** Prepares a connection for its next use. If that fails, it closes the connection. */
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
