import { QueryFailedError, QueryResult, QueryRunnerAlreadyReleasedError } from 'typeorm'
import type { ObjectLiteral, ReplicationMode } from 'typeorm'
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import { NamedPlaceholdersNotSupportedError } from 'typeorm/error/NamedPlaceholdersNotSupportedError.js'
import { BroadcasterResult } from 'typeorm/subscriber/BroadcasterResult.js'
import { HttpError, ReadOnlyTransaction, TransactionConflict, TransactionEnded } from '../../../errors.js'
import type { Release } from '../semaphore.js'
import type { PooledSqliteDriver } from './pooled-driver.js'
import { isStale } from './connection.js'
import type { SqliteConnection } from './connection.js'
import type { Held, SqlitePool } from './pool.js'
import type { Outcome } from './statement.js'

/** Statements that change the connection itself. The runner then keeps it until the end. */
const KEEPS_CONNECTION = /^\s*(BEGIN|SAVEPOINT|PRAGMA|ATTACH|DETACH|CREATE\s+TEMP)/i

/**
 * Runs single statements on the shared connection, and the statements of a transaction on an exclusive connection. It
 * acquires the write lock with the first statement that needs it, and holds it until the end of the transaction.
 */
export class PooledSqliteQueryRunner extends BetterSqlite3QueryRunner {
  declare driver: PooledSqliteDriver
  /** Whether its transactions are read-only, and reject statements that write. */
  isReadOnly = false
  private held: Promise<Held> | undefined
  /** The value of `held`, once it has resolved. */
  private current: Held | undefined
  private isHeldForTransaction = false
  private writeLock: Promise<Release> | undefined
  /** Releases the write lock, once it has been acquired. */
  private releaseWrite: Release | undefined
  /** The time limit of the statement that begins a transaction, including its wait for the write lock. */
  private deadline: number | undefined

  constructor(
    driver: PooledSqliteDriver,
    private readonly replicationMode: ReplicationMode,
  ) {
    super(driver)
  }

  private get isReading(): boolean {
    return this.isReadOnly || this.replicationMode === 'slave'
  }

  override getReplicationMode(): ReplicationMode {
    return this.replicationMode
  }

  /** Takes a connection that only this runner uses until it is released. */
  override async connect(): Promise<SqliteConnection['database']> {
    const { connection } = await this.hold(() => this.pool.take())
    return connection.database
  }

  /** Begins a transaction, or a savepoint within it. A transaction that writes waits for the write lock first. */
  override async startTransaction(isolationLevel?: IsolationLevel): Promise<void> {
    if (this.isTransactionActive) return super.startTransaction(isolationLevel)

    this.isTransactionActive = true
    try {
      if (this.hasSubscribers) await this.broadcaster.broadcast('BeforeTransactionStart')
      await this.begin()
    } catch (error) {
      this.isTransactionActive = false
      await this.endTransaction()
      throw error
    }
    this.transactionDepth = 1
    if (this.hasSubscribers) await this.broadcaster.broadcast('AfterTransactionStart')
  }

  /** Commits, or releases a savepoint. */
  override async commitTransaction(): Promise<void> {
    if (this.hasSubscribers || this.transactionDepth !== 1) return super.commitTransaction()

    await this.query('COMMIT')
    this.isTransactionActive = false
    this.transactionDepth = 0
  }

  /** Rolls back. After some errors (a full disk) SQLite has already done so, and nothing remains to be done. */
  override async rollbackTransaction(): Promise<void> {
    if (!(await this.isLost())) return this.rollbackHeld()

    this.transactionDepth -= 1
    this.isTransactionActive = this.transactionDepth > 0
    await this.broadcaster.broadcast('AfterTransactionRollback')
  }

  private async rollbackHeld(): Promise<void> {
    if (this.hasSubscribers || this.transactionDepth !== 1) return super.rollbackTransaction()

    await this.query('ROLLBACK')
    this.isTransactionActive = false
    this.transactionDepth = 0
  }

  /** Releases the connection and the write lock. A transaction that is still open is rolled back. */
  override async release(): Promise<void> {
    if (this.isReleased) return
    this.isReleased = true
    this.isTransactionActive = false
    this.transactionDepth = 0
    this.loadedTables = []
    this.clearSqlMemory()
    if (this.held) await this.giveBack()
    if (this.writeLock) await this.releaseWriteLock()
  }

  /** Runs one statement. */
  override query(
    query: string,
    parameters: unknown[] | ObjectLiteral | undefined,
    structured: true,
  ): Promise<QueryResult>
  override query(
    query: string,
    parameters?: unknown[] | ObjectLiteral,
    structured?: boolean,
  ): Promise<unknown>
  override async query(
    query: string,
    parameters?: unknown[] | ObjectLiteral,
    structured = false,
  ): Promise<unknown> {
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError()
    if (parameters && !Array.isArray(parameters)) throw new NamedPlaceholdersNotSupportedError()

    const values = parameters?.map(toSqlite) ?? []
    const { logger } = this.dataSource
    logger.logQuery(query, values, this)
    try {
      const result = this.hasSubscribers
        ? await this.runWithEvents(query, values)
        : await this.outcomeOf(query, values)
      return structured ? toResult(result) : (result.rows ?? result.lastId)
    } catch (error) {
      logger.logQueryError(error instanceof Error ? error : String(error), query, values, this)
      throw error instanceof HttpError || !(error instanceof Error)
        ? error
        : new QueryFailedError(query, values, error)
    }
  }

  /** Whether the application has a subscriber, which may listen to queries and transactions. */
  private get hasSubscribers(): boolean {
    // The first subscriber is the framework's own, which listens to neither.
    return this.dataSource.subscribers.length > 1
  }

  /** Runs one statement, and notifies the subscribers before and after it. */
  private async runWithEvents(query: string, values: unknown[]): Promise<Outcome> {
    const after = new BroadcasterResult()
    await this.broadcaster.broadcast('BeforeQuery', query, values)
    const start = performance.now()
    try {
      const outcome = await this.outcomeOf(query, values)
      const [duration, raw] = [performance.now() - start, outcome.rows ?? outcome.lastId]
      this.broadcaster.broadcastAfterQueryEvent(after, query, values, true, duration, raw, undefined)
      return outcome
    } catch (error) {
      this.broadcaster.broadcastAfterQueryEvent(after, query, values, false, undefined, undefined, error)
      throw error
    } finally {
      await after.wait()
    }
  }

  private outcomeOf(sql: string, values: unknown[]): Outcome | Promise<Outcome> {
    return this.runNow(sql, values) ?? this.run(sql, values)
  }

  private get pool(): SqlitePool {
    return this.driver.pool
  }

  private async begin(): Promise<void> {
    const { isReading } = this
    this.deadline = this.newDeadline()
    try {
      if (!isReading && !this.tryAcquireWriteLock()) await this.acquireWriteLock()
      this.isHeldForTransaction = !this.held
      if (!this.holdNow(isReading))
        await this.hold(() => (isReading ? this.pool.take() : this.pool.takeWriter()))
      await this.query(isReading ? 'BEGIN DEFERRED' : 'BEGIN IMMEDIATE')
    } finally {
      this.deadline = undefined
    }
  }

  /** Acquires the write lock if it is free. Returns whether the runner has it now. */
  private tryAcquireWriteLock(): boolean {
    if (this.writeLock) return this.releaseWrite !== undefined
    this.releaseWrite = this.pool.tryAcquireWriteLock()
    if (!this.releaseWrite) return false
    this.writeLock = Promise.resolve(this.releaseWrite)
    return true
  }

  /** Takes a connection that is open and idle. Returns whether the runner has one now. */
  private holdNow(isReading: boolean): boolean {
    if (this.held) return this.current !== undefined
    this.current = isReading ? this.pool.takeNow() : this.pool.takeWriterNow()
    if (!this.current) return false
    this.held = Promise.resolve(this.current)
    return true
  }

  /**
   * Runs a statement synchronously if it need not wait: the runner has a connection, and the write lock if the statement
   * writes.
   *
   * @returns undefined when `run` has to do it, also if another process holds a lock
   */
  private runNow(sql: string, values: unknown[]): Outcome | undefined {
    const connection = this.current?.connection
    if (!connection || (this.transactionDepth > 0 && !connection.isInTransaction)) return undefined
    const statement = connection.prepare(sql)
    if (!statement.readonly && !this.releaseWrite) return undefined
    try {
      const outcome = connection.runNow(statement, values)
      if (outcome && !connection.isInTransaction) this.endTransactionNow()
      return outcome
    } catch (error) {
      if (!connection.isInTransaction) this.endTransactionNow()
      throw error
    }
  }

  private endTransactionNow(): void {
    if (this.isHeldForTransaction) this.current?.giveBack()
    if (this.isHeldForTransaction) this.forget()
    // If the lock has not been acquired yet, a statement is still waiting for it.
    if (!this.releaseWrite) return
    this.releaseWrite()
    this.writeLock = undefined
    this.releaseWrite = undefined
  }

  private forget(): void {
    this.held = undefined
    this.current = undefined
    this.isHeldForTransaction = false
  }

  private newDeadline(): number {
    return performance.now() + this.pool.options.acquireTimeout
  }

  private run(sql: string, values: unknown[]): Promise<Outcome> {
    const isSingle = !this.held && this.transactionDepth === 0 && !KEEPS_CONNECTION.test(sql)
    return isSingle ? this.runSingle(sql, values) : this.runHeld(sql, values)
  }

  private async runSingle(sql: string, values: unknown[]): Promise<Outcome> {
    const deadline = this.newDeadline()
    const connection = await this.pool.share()
    const statement = connection.prepare(sql)
    if (statement.readonly) return connection.run(statement, values, deadline)
    const release = await this.pool.acquireWriteLock()
    try {
      return await connection.run(statement, values, deadline)
    } finally {
      release()
    }
  }

  private async runHeld(sql: string, values: unknown[]): Promise<Outcome> {
    if (await this.isLost()) throw new Error('SQLite rolled back this transaction after an earlier error.')
    const deadline = this.deadline ?? this.newDeadline()
    const { connection } = await this.hold(() => this.pool.take())
    try {
      const statement = connection.prepare(sql)
      if (!statement.readonly && this.isReadOnly) throw new ReadOnlyTransaction()
      if (!statement.readonly) await this.acquireWriteLockOn(connection)
      return await connection.run(statement, values, deadline)
    } catch (error) {
      if (!isStale(error)) throw error
      await this.releaseWriteLock()
      throw new TransactionConflict({ cause: error })
    } finally {
      if (!connection.isInTransaction) await this.endTransaction()
    }
  }

  /** Whether SQLite has rolled back by itself. Without this check, later statements would be committed one by one. */
  private async isLost(): Promise<boolean> {
    if (this.transactionDepth === 0) return false
    const held = await this.held
    return !held?.connection.isInTransaction
  }

  private async endTransaction(): Promise<void> {
    if (this.isHeldForTransaction) await this.giveBack()
    await this.releaseWriteLock()
  }

  private async hold(take: () => Promise<Held>): Promise<Held> {
    const held = (this.held ??= take())
    try {
      const current = await held
      if (this.held === held) this.current = current
    } catch (error) {
      this.held = undefined
      throw error
    }
    if (!this.isReleased) return held
    // The runner is already released, so no later call would return this connection.
    if (this.held === held) await this.giveBack()
    throw new QueryRunnerAlreadyReleasedError()
  }

  private async giveBack(): Promise<void> {
    const { held } = this
    this.forget()
    await held?.then(({ giveBack }) => giveBack(), ignore)
  }

  private async acquireWriteLock(): Promise<void> {
    const lock = (this.writeLock ??= this.pool.acquireWriteLock())
    try {
      const release = await lock
      if (this.writeLock === lock) this.releaseWrite = release
    } catch (error) {
      this.writeLock = undefined
      throw error
    }
    // If the runner was released while it waited, it must not use the lock: the next transaction already uses the connection.
    if (!this.isReleased) return
    await this.releaseWriteLock()
    throw new QueryRunnerAlreadyReleasedError()
  }

  /** Acquires the write lock for a statement. Fails if its transaction has ended meanwhile: the connection may be in use again. */
  private async acquireWriteLockOn(connection: SqliteConnection): Promise<void> {
    await this.acquireWriteLock()
    if (this.current?.connection === connection) return
    if (!this.isTransactionActive) await this.releaseWriteLock()
    throw new TransactionEnded()
  }

  private async releaseWriteLock(): Promise<void> {
    const { writeLock } = this
    this.writeLock = undefined
    this.releaseWrite = undefined
    await writeLock?.then((release) => release(), ignore)
  }
}

/** The caller that waited has already received the error. */
function ignore(): void {}

/** better-sqlite3 cannot bind booleans. */
function toSqlite(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

function toResult({ rows, affected, lastId }: Outcome): QueryResult {
  const result = new QueryResult()
  result.raw = rows ?? lastId
  if (rows) result.records = rows
  if (affected !== undefined) result.affected = affected
  return result
}
