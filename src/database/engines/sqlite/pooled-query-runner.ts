import { setImmediate as nextTurn } from 'node:timers/promises'
import { QueryFailedError, QueryResult, QueryRunnerAlreadyReleasedError } from 'typeorm'
import type { ObjectLiteral, ReplicationMode } from 'typeorm'
import type { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js'
import { SqliteSchemaRunner } from './schema-runner.js'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import { NamedPlaceholdersNotSupportedError } from 'typeorm/error/NamedPlaceholdersNotSupportedError.js'
import { BroadcasterResult } from 'typeorm/subscriber/BroadcasterResult.js'
import { HttpError, ReadOnlyTransaction, TransactionConflict, TransactionEnded } from '../../../errors.js'
import { SqliteCheckout } from './checkout.js'
import { isStale, type SqliteConnection } from './connection.js'
import type { SqlitePool } from './pool.js'
import { otherSubscribers } from '../../../models/model-subscriber.js'
import { SqliteStatement, type StatementResult } from './statement.js'

/** The driver, as far as its runners use it. */
type Driver = BetterSqlite3Driver & { readonly pool: SqlitePool }

/** Statements that change the connection itself. The runner then keeps the connection until its release. */
const KEEPS_CONNECTION = /^\s*(BEGIN|SAVEPOINT|PRAGMA|ATTACH|DETACH|CREATE\s+TEMP)/i

/**
 * Runs single statements on the shared connection, and the statements of a transaction on an exclusive
 * connection. A transaction holds the write lock from the first statement that needs it until its end.
 */
export class PooledSqliteQueryRunner extends SqliteSchemaRunner {
  declare driver: Driver
  /** Whether its transactions reject statements that write. */
  isReadOnly = false
  private readonly checkout: SqliteCheckout
  /** The deadline of the statement that begins a transaction, including its wait for the write lock. */
  private deadline: number | undefined

  constructor(
    driver: Driver,
    private readonly replicationMode: ReplicationMode,
  ) {
    super(driver)
    this.checkout = new SqliteCheckout(driver)
  }

  private get isReading(): boolean {
    return this.isReadOnly || this.replicationMode === 'slave'
  }

  /** Whether other transactions that write wait for it. */
  get holdsWriteLock(): boolean {
    return this.checkout.canWrite
  }

  override getReplicationMode(): ReplicationMode {
    return this.replicationMode
  }

  /** Takes a connection that only this runner uses until it is released. */
  override async connect(): Promise<SqliteConnection['database']> {
    const { database } = await this.checkout.connect()
    return database
  }

  override async startTransaction(isolationLevel?: IsolationLevel): Promise<void> {
    if (this.isTransactionActive) return super.startTransaction(isolationLevel)

    this.isTransactionActive = true
    try {
      if (this.hasSubscribers) await this.broadcaster.broadcast('BeforeTransactionStart')
      this.deadline = this.driver.pool.newDeadline()
      await this.checkout.begin(this.isReading)
      await this.query(this.isReading ? 'BEGIN DEFERRED' : 'BEGIN IMMEDIATE')
    } catch (error) {
      this.isTransactionActive = false
      this.checkout.endTransaction()
      throw error
    } finally {
      this.deadline = undefined
    }
    this.transactionDepth = 1
    if (this.hasSubscribers) await this.broadcaster.broadcast('AfterTransactionStart')
  }

  /** Commits, or releases a savepoint. */
  override commitTransaction(): Promise<void> {
    const isPlain = !this.hasSubscribers && this.transactionDepth === 1
    return isPlain ? this.endPlain('COMMIT') : super.commitTransaction()
  }

  /** Rolls back. After some errors (a full disk) SQLite has already done so, and nothing remains. */
  override async rollbackTransaction(): Promise<void> {
    if (!this.isLost) {
      const isPlain = !this.hasSubscribers && this.transactionDepth === 1
      return isPlain ? this.endPlain('ROLLBACK') : super.rollbackTransaction()
    }
    this.transactionDepth -= 1
    this.isTransactionActive = this.transactionDepth > 0
    await this.broadcaster.broadcast('AfterTransactionRollback')
  }

  /** Ends a transaction to which no subscriber listens. */
  private async endPlain(statement: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await this.query(statement)
    this.isTransactionActive = false
    this.transactionDepth = 0
  }

  /** A transaction that is still open is rolled back. */
  override release(): Promise<void> {
    if (this.isReleased) return Promise.resolve()
    this.isReleased = true
    this.isTransactionActive = false
    this.transactionDepth = 0
    this.loadedTables = []
    this.clearSqlMemory()
    return this.checkout.end()
  }

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
      // Awaiting a result that `runNow` has returned would delay it by a turn of the promise queue.
      const result = this.hasSubscribers
        ? await this.runWithEvents(query, values)
        : (this.runNow(query, values) ?? (await this.run(query, values)))
      return structured ? toResult(result) : (result.rows ?? result.lastId)
    } catch (error) {
      logger.logQueryError(error instanceof Error ? error : String(error), query, values, this)
      throw error instanceof HttpError || !(error instanceof Error)
        ? error
        : new QueryFailedError(query, values, error)
    }
  }

  /** Reads the rows of a query, 100 at a time. In the meantime, its connection runs no other statement. */
  async *rows(sql: string, parameters: unknown[]): AsyncGenerator<unknown[]> {
    this.dataSource.logger.logQuery(sql, parameters, this)
    const { database } = await this.checkout.connect()
    // The cached statement could not run again before the last row.
    const statement = new SqliteStatement(database.prepare(sql))
    let part: unknown[] = []
    for (const row of statement.iterate(parameters.map(toSqlite))) {
      if (part.push(row) < 100) continue
      yield part
      part = []
      // Other requests have a turn, because SQLite reads synchronously.
      await nextTurn()
    }
    if (part.length > 0) yield part
  }

  /** Whether the application has a subscriber, which may listen to queries and transactions. */
  private get hasSubscribers(): boolean {
    return otherSubscribers(this.dataSource).length > 0
  }

  /** Runs one statement, and notifies the subscribers before and after it. */
  private async runWithEvents(query: string, values: unknown[]): Promise<StatementResult> {
    const after = new BroadcasterResult()
    await this.broadcaster.broadcast('BeforeQuery', query, values)
    const start = performance.now()
    try {
      const outcome = this.runNow(query, values) ?? (await this.run(query, values))
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

  /** Runs a statement if it needs no wait. Else undefined, for example because of a lock. */
  private runNow(sql: string, values: unknown[]): StatementResult | undefined {
    const connection = this.checkout.current?.connection
    if (!connection || this.isLost) return undefined
    const statement = connection.prepare(sql)
    if (!statement.readonly && !this.checkout.canWrite) return undefined
    try {
      const outcome = connection.runNow(statement, values)
      // The statement may have been COMMIT or ROLLBACK.
      if (outcome && !connection.database.inTransaction) this.checkout.endTransaction()
      return outcome
    } catch (error) {
      // SQLite rolls back by itself after some errors.
      if (!connection.database.inTransaction) this.checkout.endTransaction()
      throw error
    }
  }

  private run(sql: string, values: unknown[]): Promise<StatementResult> {
    const isSingle = !this.checkout.isHeld && this.transactionDepth === 0 && !KEEPS_CONNECTION.test(sql)
    return isSingle ? this.driver.pool.run(sql, values) : this.runHeld(sql, values)
  }

  /** Runs a statement on the runner's own connection. */
  private async runHeld(sql: string, values: unknown[]): Promise<StatementResult> {
    if (this.isLost) throw new Error('SQLite rolled back this transaction after an earlier error.')
    const deadline = this.deadline ?? this.driver.pool.newDeadline()
    const connection = await this.checkout.connect()
    try {
      const statement = connection.prepare(sql)
      if (!statement.readonly && this.isReadOnly) throw new ReadOnlyTransaction()
      if (!statement.readonly) await this.acquireWriteLockOn(connection)
      return await connection.run(statement, values, deadline)
    } catch (error) {
      if (!isStale(error)) throw error
      await this.checkout.releaseWriteLock()
      throw new TransactionConflict({ cause: error })
    } finally {
      if (!connection.database.inTransaction) this.checkout.endTransaction()
    }
  }

  /** @throws TransactionEnded when the transaction has ended, because others may use its connection */
  private async acquireWriteLockOn(connection: SqliteConnection): Promise<void> {
    await this.checkout.acquireWriteLock()
    if (this.checkout.current?.connection === connection) return
    if (!this.isTransactionActive) await this.checkout.releaseWriteLock()
    throw new TransactionEnded()
  }

  /** Whether SQLite rolled back by itself. Without this check, later statements would be committed alone. */
  private get isLost(): boolean {
    return this.transactionDepth > 0 && !this.checkout.current?.connection.database.inTransaction
  }
}

/** better-sqlite3 cannot bind booleans. */
function toSqlite(value: unknown): unknown {
  return typeof value === 'boolean' ? Number(value) : value
}

function toResult({ rows, affected, lastId }: StatementResult): QueryResult {
  const result = new QueryResult()
  result.raw = rows ?? lastId
  if (rows) result.records = rows
  if (affected !== undefined) result.affected = affected
  return result
}
