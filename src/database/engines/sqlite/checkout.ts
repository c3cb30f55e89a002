import { QueryRunnerAlreadyReleasedError } from 'typeorm'
import type { Release } from '../../../common/semaphore.js'
import type { SqliteConnection } from './connection.js'
import type { ExclusiveConnection, SqlitePool } from './pool.js'

/** The connection and the write lock that a query runner holds. It acquires each when it first needs it. */
export class SqliteCheckout {
  /** The connection, once it is there. */
  current: ExclusiveConnection | undefined
  /** The connection that the runner holds or waits for. */
  private pending: Promise<ExclusiveConnection> | undefined
  /** Whether the connection was taken for the transaction, and is released with it. */
  private isForTransaction = false
  private writeLock: Promise<Release> | undefined
  /** Releases the write lock, once it has been acquired. */
  private releaseLock: Release | undefined
  private isEnded = false

  constructor(private readonly driver: { readonly pool: SqlitePool }) {}

  /** Whether the runner holds a connection, or waits for one. */
  get isHeld(): boolean {
    return this.pending !== undefined
  }

  /** Whether the runner holds the write lock. */
  get canWrite(): boolean {
    return this.releaseLock !== undefined
  }

  /** Returns a connection that only this runner uses until it is released. */
  async connect(): Promise<SqliteConnection> {
    return (await this.hold(() => this.driver.pool.take())).connection
  }

  /** Waits for the connection of a transaction, and for the write lock unless the transaction only reads. */
  async begin(isReading: boolean): Promise<void> {
    const { pool } = this.driver
    if (!isReading) await this.acquireWriteLock()
    this.isForTransaction = !this.pending
    await this.hold(() => (isReading ? pool.take() : pool.takeWriter()))
  }

  /** Acquires the write lock until the end of the transaction. */
  async acquireWriteLock(): Promise<void> {
    const lock = (this.writeLock ??= this.driver.pool.acquireWriteLock())
    try {
      const release = await lock
      if (this.writeLock === lock) this.releaseLock = release
    } catch (error) {
      this.writeLock = undefined
      throw error
    }
    // If the runner was released while it waited, it must not use the lock: the next transaction already uses
    // the connection.
    if (!this.isEnded) return
    await this.releaseWriteLock()
    throw new QueryRunnerAlreadyReleasedError()
  }

  /** Ends a transaction whose connection is there. A connection that the runner held before remains. */
  endTransaction(): void {
    if (this.isForTransaction) {
      this.current?.release()
      this.forget()
    }
    // If the lock has not been acquired yet, a statement is still waiting for it.
    if (!this.releaseLock) return
    this.releaseLock()
    this.writeLock = undefined
    this.releaseLock = undefined
  }

  /** Releases the write lock, or gives it back as soon as it is acquired. */
  async releaseWriteLock(): Promise<void> {
    const { writeLock } = this
    this.writeLock = undefined
    this.releaseLock = undefined
    await writeLock?.then((release) => release(), ignore)
  }

  /** Releases the connection and the write lock, even if the runner still waits for them. */
  async end(): Promise<void> {
    this.isEnded = true
    await this.releaseConnection()
    await this.releaseWriteLock()
  }

  private async hold(take: () => Promise<ExclusiveConnection>): Promise<ExclusiveConnection> {
    const pending = (this.pending ??= take())
    try {
      const held = await pending
      if (this.pending === pending) this.current = held
    } catch (error) {
      this.pending = undefined
      throw error
    }
    if (!this.isEnded) return pending
    // The runner is already released, so no later call would release this connection.
    if (this.pending === pending) await this.releaseConnection()
    throw new QueryRunnerAlreadyReleasedError()
  }

  private async releaseConnection(): Promise<void> {
    const { pending } = this
    this.forget()
    await pending?.then((held) => held.release(), ignore)
  }

  private forget(): void {
    this.pending = undefined
    this.current = undefined
    this.isForTransaction = false
  }
}

/** The caller that waited has already received the error. */
function ignore(): void {}
