import { QueryRunnerAlreadyReleasedError } from 'typeorm'
import type { Release } from '../semaphore.js'
import type { SqliteConnection } from './connection.js'
import type { ExclusiveConnection, SqlitePool } from './pool.js'

/** The connection and the write lock that a query runner holds. It acquires each when it first needs it. */
export class SqliteLease {
  /** The connection that the runner holds, once it is there. */
  current: ExclusiveConnection | undefined
  private pending: Promise<ExclusiveConnection> | undefined
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
    const { connection } = await this.hold(() => this.driver.pool.take())
    return connection
  }

  /** Waits for the connection, if any. */
  async settled(): Promise<ExclusiveConnection | undefined> {
    return this.pending
  }

  /**
   * Acquires the connection of a transaction, and the write lock unless the transaction only reads, if both are free.
   *
   * @returns whether the runner has them now; otherwise `begin` waits for them
   */
  beginNow(isReading: boolean): boolean {
    if (!isReading && !this.tryAcquireWriteLock()) return false
    this.isForTransaction = !this.pending
    return this.holdNow(isReading)
  }

  /** Waits for the connection of a transaction, and for the write lock unless the transaction only reads. */
  async begin(isReading: boolean): Promise<void> {
    const { pool } = this.driver
    if (!isReading) await this.acquireWriteLock()
    this.isForTransaction = !this.pending
    if (!this.holdNow(isReading)) await this.hold(() => (isReading ? pool.take() : pool.takeWriter()))
  }

  /** Acquires the write lock. It is released at the end of the transaction. */
  async acquireWriteLock(): Promise<void> {
    const lock = (this.writeLock ??= this.driver.pool.acquireWriteLock())
    try {
      const release = await lock
      if (this.writeLock === lock) this.releaseLock = release
    } catch (error) {
      this.writeLock = undefined
      throw error
    }
    // If the runner was released while it waited, it must not use the lock: the next transaction already uses the connection.
    if (!this.isEnded) return
    await this.releaseWriteLock()
    throw new QueryRunnerAlreadyReleasedError()
  }

  /** Ends a transaction whose connection and lock need not be waited for. */
  endTransactionNow(): void {
    const { current, releaseLock } = this
    if (this.isForTransaction) {
      current?.release()
      this.forget()
    }
    // If the lock has not been acquired yet, a statement is still waiting for it.
    if (!releaseLock) return
    releaseLock()
    this.writeLock = undefined
    this.releaseLock = undefined
  }

  /** Ends a transaction. A connection that the runner held before remains. */
  async endTransaction(): Promise<void> {
    if (this.isForTransaction) await this.releaseConnection()
    await this.releaseWriteLock()
  }

  async releaseWriteLock(): Promise<void> {
    const { writeLock } = this
    this.writeLock = undefined
    this.releaseLock = undefined
    await writeLock?.then((release) => release(), ignore)
  }

  /** Releases the connection and the write lock, also those for which the runner still waits. */
  end(): Promise<void> {
    this.isEnded = true
    return this.pending || this.writeLock ? this.releaseBoth() : Promise.resolve()
  }

  /** Acquires the write lock if it is free. Returns whether the runner has it now. */
  private tryAcquireWriteLock(): boolean {
    if (this.writeLock) return this.canWrite
    this.releaseLock = this.driver.pool.tryAcquireWriteLock()
    if (!this.releaseLock) return false
    this.writeLock = Promise.resolve(this.releaseLock)
    return true
  }

  /** Takes a connection that is open and idle. Returns whether the runner has one now. */
  private holdNow(isReading: boolean): boolean {
    if (this.pending) return this.current !== undefined
    const { pool } = this.driver
    this.current = isReading ? pool.takeNow() : pool.takeWriterNow()
    if (!this.current) return false
    this.pending = Promise.resolve(this.current)
    return true
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

  private async releaseBoth(): Promise<void> {
    await this.releaseConnection()
    await this.releaseWriteLock()
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
