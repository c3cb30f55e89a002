import { Semaphore, type Release } from '../semaphore.js'
import { SqliteConnection } from './connection.js'

/** A connection that one query runner has for itself until it gives it back. */
export interface Held {
  readonly connection: SqliteConnection
  giveBack(): void
}

/** The limits of a connection pool. */
export interface PoolOptions {
  /** Connections for transactions that read. */
  size: number
  /** Milliseconds that a query waits for a connection, for the write lock, or for the locks of others. */
  acquireTimeout: number
}

/**
 * The connections to one SQLite file, each opened when it is first needed:
 *
 * - one that everybody shares for single statements. Those are synchronous, so they never meet on it;
 * - one for the transaction that writes. It belongs to whoever has the turn to write;
 * - a few for transactions that read, and for whoever sets something on his connection.
 */
export class SqlitePool {
  /** The line of those who want to write: SQLite has one writer at a time. */
  private readonly writeLock: Semaphore
  private readonly readers: Semaphore
  private readonly idle: SqliteConnection[] = []
  private readonly opened = new Set<SqliteConnection>()
  private shared: Promise<SqliteConnection> | undefined
  private writer: Promise<SqliteConnection> | undefined
  /** Why nobody gets a connection any more. */
  private closed: Error | undefined
  /** The same, once it is open. */
  private openWriter: SqliteConnection | undefined

  constructor(
    private readonly open: () => Promise<SqliteConnection>,
    readonly options: PoolOptions,
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

  /** Waits for the turn to write. */
  acquireWriteLock(): Promise<Release> {
    return this.writeLock.acquire()
  }

  /** The turn to write where nobody has it; else undefined. */
  tryAcquireWriteLock(): Release | undefined {
    return this.writeLock.tryAcquire()
  }

  /** The connection for single statements. */
  share(): Promise<SqliteConnection> {
    this.shared ??= this.openAnother().catch((error: unknown) => {
      this.shared = undefined
      throw error
    })
    return this.shared
  }

  /** A connection for a transaction that reads. */
  async take(): Promise<Held> {
    const release = await this.readers.acquire()
    try {
      return this.held(this.idle.pop() ?? (await this.openAnother()), release)
    } catch (error) {
      release()
      throw error
    }
  }

  /** A connection for a transaction that reads, where one is idle; else undefined. */
  takeNow(): Held | undefined {
    if (this.idle.length === 0) return undefined
    const release = this.readers.tryAcquire()
    const connection = release && this.idle.pop()
    return connection && this.held(connection, release)
  }

  /** The connection for the transaction that writes. Only who has the turn may take it. */
  async takeWriter(): Promise<Held> {
    this.writer ??= this.openAnother()
    try {
      this.openWriter = await this.writer
      return this.heldWriter(this.openWriter)
    } catch (error) {
      this.writer = undefined
      throw error
    }
  }

  /** The connection for the transaction that writes, where it is open already. Only who has the turn may take it. */
  takeWriterNow(): Held | undefined {
    return this.openWriter && this.heldWriter(this.openWriter)
  }

  /** Closes every connection; SQLite then writes the log back into the file. What is unfinished is rolled back. */
  close(): void {
    this.closed = new Error('The database has been closed.')
    this.writeLock.close(this.closed)
    this.readers.close(this.closed)
    for (const connection of this.opened) connection.close()
    this.opened.clear()
    this.openWriter = undefined
  }

  private held(connection: SqliteConnection, release: Release): Held {
    const giveBack = (): void => {
      if (this.makeReady(connection)) this.idle.push(connection)
      release()
    }
    return { connection, giveBack }
  }

  private heldWriter(connection: SqliteConnection): Held {
    const giveBack = (): void => {
      if (this.makeReady(connection)) return
      this.writer = undefined
      this.openWriter = undefined
    }
    return { connection, giveBack }
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

  /** Makes a connection ready for the next one. One that cannot be is closed. */
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
