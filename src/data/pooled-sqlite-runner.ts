import { QueryFailedError, QueryResult, QueryRunnerAlreadyReleasedError } from 'typeorm'
import type { ObjectLiteral, ReplicationMode } from 'typeorm'
import { BetterSqlite3QueryRunner } from 'typeorm/driver/better-sqlite3/BetterSqlite3QueryRunner.js'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import { NamedPlaceholdersNotSupportedError } from 'typeorm/error/NamedPlaceholdersNotSupportedError.js'
import { BroadcasterResult } from 'typeorm/subscriber/BroadcasterResult.js'
import { HttpError, ServiceUnavailable } from '../errors.js'
import type { Leave } from './places.js'
import type { PooledSqliteDriver } from './pooled-sqlite.js'
import { isStale } from './sqlite-connection.js'
import type { SqliteConnection } from './sqlite-connection.js'
import type { Held, SqlitePool } from './sqlite-pool.js'
import type { Outcome } from './sqlite-statement.js'

/** Statements that change the connection itself, which the runner then keeps to the end. */
const STAYS = /^\s*(BEGIN|SAVEPOINT|PRAGMA|ATTACH|DETACH|CREATE\s+TEMP)/i

/**
 * Runs statements: single ones on the connection that everybody shares, those of a transaction on a connection of
 * their own. It takes the turn to write with the first statement that needs it, and keeps it to the transaction's end.
 */
export class PooledSqliteQueryRunner extends BetterSqlite3QueryRunner {
  declare driver: PooledSqliteDriver
  private held: Promise<Held> | undefined
  private isHeldForTransaction = false
  private turn: Promise<Leave> | undefined
  /** When the patience of the statement that begins a transaction ends, waiting for its turn included. */
  private deadline: number | undefined

  constructor(
    driver: PooledSqliteDriver,
    private readonly replicationMode: ReplicationMode,
  ) {
    super(driver)
  }

  override getReplicationMode(): ReplicationMode {
    return this.replicationMode
  }

  /** Takes a connection that this runner has to itself until it is released. */
  override async connect(): Promise<SqliteConnection['database']> {
    const { connection } = await this.hold(() => this.pool.take())
    return connection.database
  }

  /** Begins a transaction, or a savepoint within it. A transaction waits for its turn to write before it begins. */
  override async startTransaction(isolationLevel?: IsolationLevel): Promise<void> {
    if (this.isTransactionActive) return super.startTransaction(isolationLevel)

    this.isTransactionActive = true
    try {
      await this.broadcaster.broadcast('BeforeTransactionStart')
      await this.begin()
    } catch (error) {
      this.isTransactionActive = false
      await this.endTransaction()
      throw error
    }
    this.transactionDepth = 1
    await this.broadcaster.broadcast('AfterTransactionStart')
  }

  /** Rolls back. SQLite has done so already after some errors (a full disk): then there is nothing left to do. */
  override async rollbackTransaction(): Promise<void> {
    if (!(await this.isLost())) return super.rollbackTransaction()

    this.transactionDepth -= 1
    this.isTransactionActive = this.transactionDepth > 0
    await this.broadcaster.broadcast('AfterTransactionRollback')
  }

  /** Gives everything back. A transaction that is still open is rolled back. */
  override async release(): Promise<void> {
    if (this.isReleased) return
    this.isReleased = true
    this.isTransactionActive = false
    this.transactionDepth = 0
    this.loadedTables = []
    this.clearSqlMemory()
    if (this.held) await this.giveBack()
    if (this.turn) await this.leaveTurn()
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

    const values = (parameters ?? []).map(toSqlite)
    const { logger } = this.dataSource
    const after = new BroadcasterResult()
    logger.logQuery(query, values, this)
    await this.broadcaster.broadcast('BeforeQuery', query, values)
    const start = performance.now()
    try {
      const result = toResult(await this.run(query, values))
      const duration = performance.now() - start
      this.broadcaster.broadcastAfterQueryEvent(after, query, values, true, duration, result.raw, undefined)
      return structured ? result : result.raw
    } catch (error) {
      logger.logQueryError(error instanceof Error ? error : String(error), query, values, this)
      this.broadcaster.broadcastAfterQueryEvent(after, query, values, false, undefined, undefined, error)
      throw error instanceof HttpError || !(error instanceof Error)
        ? error
        : new QueryFailedError(query, values, error)
    } finally {
      await after.wait()
    }
  }

  private get pool(): SqlitePool {
    return this.driver.pool
  }

  private async begin(): Promise<void> {
    const isReading = this.replicationMode === 'slave'
    this.deadline = this.newDeadline()
    try {
      if (!isReading) await this.takeTurn()
      this.isHeldForTransaction = !this.held
      await this.hold(() => (isReading ? this.pool.take() : this.pool.takeWriter()))
      await this.query(isReading ? 'BEGIN DEFERRED' : 'BEGIN IMMEDIATE')
    } finally {
      this.deadline = undefined
    }
  }

  private newDeadline(): number {
    return performance.now() + this.pool.options.patience
  }

  private run(sql: string, values: unknown[]): Promise<Outcome> {
    const isSingle = !this.held && this.transactionDepth === 0 && !STAYS.test(sql)
    return isSingle ? this.runSingle(sql, values) : this.runHeld(sql, values)
  }

  private async runSingle(sql: string, values: unknown[]): Promise<Outcome> {
    const deadline = this.newDeadline()
    const connection = await this.pool.share()
    const statement = connection.prepare(sql)
    if (statement.readonly) return connection.run(statement, values, deadline)
    const leave = await this.pool.takeTurn()
    try {
      return await connection.run(statement, values, deadline)
    } finally {
      leave()
    }
  }

  private async runHeld(sql: string, values: unknown[]): Promise<Outcome> {
    if (await this.isLost()) throw new Error('SQLite has rolled back this transaction after an earlier error')
    const deadline = this.deadline ?? this.newDeadline()
    const { connection } = await this.hold(() => this.pool.take())
    try {
      const statement = connection.prepare(sql)
      if (!statement.readonly) await this.takeTurn()
      return await connection.run(statement, values, deadline)
    } catch (error) {
      if (!isStale(error)) throw error
      await this.leaveTurn()
      throw new ServiceUnavailable('what this transaction has read has changed meanwhile', 1, {
        cause: error,
      })
    } finally {
      if (!connection.isInTransaction) await this.endTransaction()
    }
  }

  /** Whether SQLite has rolled back on its own. Without this check, what follows would be committed at once. */
  private async isLost(): Promise<boolean> {
    if (this.transactionDepth === 0) return false
    const held = await this.held
    return !held?.connection.isInTransaction
  }

  private async endTransaction(): Promise<void> {
    if (this.isHeldForTransaction) await this.giveBack()
    await this.leaveTurn()
  }

  private async hold(take: () => Promise<Held>): Promise<Held> {
    this.held ??= take()
    try {
      return await this.held
    } catch (error) {
      this.held = undefined
      throw error
    }
  }

  private async giveBack(): Promise<void> {
    const { held } = this
    this.held = undefined
    this.isHeldForTransaction = false
    await held?.then(({ giveBack }) => giveBack(), ignore)
  }

  private async takeTurn(): Promise<void> {
    this.turn ??= this.pool.takeTurn()
    try {
      await this.turn
    } catch (error) {
      this.turn = undefined
      throw error
    }
    // Whoever was released while he waited has no turn: the connection for writing is already that of the next one.
    if (this.isReleased) throw new QueryRunnerAlreadyReleasedError()
  }

  private async leaveTurn(): Promise<void> {
    const { turn } = this
    this.turn = undefined
    await turn?.then((leave) => leave(), ignore)
  }
}

/** Who waited for what could not be had has been told. */
function ignore(): void {}

/** better-sqlite3 binds no booleans. */
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
