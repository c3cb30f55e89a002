import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import type { DataSource, EntityManager, QueryRunner } from 'typeorm'
import { channels } from '../../common/channels.js'
import {
  ClientClosedRequest,
  NotAwaited,
  RowsNotRead,
  TransactionAlreadyBegun,
  TransactionConflict,
  TransactionEnded,
} from '../../errors.js'
import type { Engine } from '../engines/engine.js'
import { engineOf } from '../engines/engines.js'
import { createRunner, type Mode } from '../engines/mode.js'
import { refusalOf } from '../queries/statement-guards.js'
import { beginStatement } from '../queries/publish.js'
import type { BeginOptions, Open, OpenServer } from './opening.js'
import { RowStream } from './row-stream.js'
import { RunningWork } from './running-work.js'
import { TransactionHealth } from './transaction-health.js'
import { TransactionManager } from './transaction-manager.js'
import { allows, type Goal, type TransactionState } from './transaction-state.js'
import { waitForTurn } from './turns.js'
import { TransactionWatch } from './transaction-watch.js'
import { WaitLimit } from './wait-limit.js'

/** The options of a LazyTransaction. */
export interface LazyOptions extends Pick<BeginOptions, 'isolation' | 'replica'> {
  /** Whether the client has disconnected. Then a transaction that has not begun yet does not begin. */
  isAbandoned?: () => boolean
  /** Receives the errors of work that was not awaited. */
  onLost?: (error: unknown) => void
  /** Receives, at the end, the longest time in milliseconds in which it ran no statement. */
  onIdle?: ((milliseconds: number) => void) | undefined
  /** Milliseconds that earlier attempts of the request took (0). They count as a part of `maxWait`. */
  waited?: number
  /** Milliseconds that the transaction may wait for its connection and for locks (no limit). */
  maxWait?: number
  /** The clock of `onIdle`; without it, the time for which the process has waited. */
  now?: () => number
  /** The number of earlier attempts of the request (0), which is published with its end. */
  attempt?: number
  /** Opens its server, on a database with several. */
  open?: Open | undefined
}

/** Statements that wait to be sent together. */
export interface Waiting {
  /**
   * Sends them before another statement, unless there are none or they can wait.
   *
   * @param sql a query of the framework that only reads; undefined for any other statement
   */
  before(sql: string | undefined): Promise<void> | undefined
}

/**
 * A transaction that begins with its first query. Until then it holds no connection and locks nothing.
 *
 * @example
 * ```ts
 * const transaction = new LazyTransaction(dataSource, 'write')
 * await transaction.manager.save(post)
 * await transaction.commit()
 * ```
 */
export class LazyTransaction {
  /** Runs queries in the transaction. It throws after the end of the transaction. */
  readonly manager: EntityManager
  /** The work that must end before the transaction. */
  readonly work: RunningWork
  /** The callbacks that the request runs after the commit. */
  readonly hooks: (() => unknown)[] = []
  /** Called when the transaction has ended, committed or not, and perhaps twice. */
  afterEnd: (() => void) | undefined
  /** Its connection. `open` may replace it, before it is connected. */
  runner: QueryRunner
  /** Its server, on a database with several. */
  server: OpenServer | undefined
  /** Where the code has used the transaction first, in development and in tests. */
  begunAt: Error | undefined
  private state: TransactionState = 'new'
  /** The promises of the open connection and of the begun transaction; missing until needed. */
  private readonly reached: { connected?: Promise<void>; begun?: Promise<void> | undefined } = {}
  private opening: Promise<void> | undefined
  /** The open savepoints, the innermost last. At the beginning, the first one is the transaction. */
  private readonly savepoints: ('transaction' | 'savepoint')[] = []
  /** Whether a statement may have changed something. */
  private hasWritten = false
  /** Statements that wait to be sent together. */
  waiting: Waiting | undefined
  /** The last stream of rows. While it is open, the connection belongs to it. */
  private rows: RowStream | undefined
  private beginOptions: BeginOptions
  private readonly isReading: boolean
  private readonly limit: WaitLimit
  private readonly health: TransactionHealth
  private readonly open: Open | undefined
  private readonly watch: TransactionWatch | undefined
  private readonly isAbandoned: () => boolean
  private readonly onIdle: LazyOptions['onIdle']

  /**
   * @param mode `read` for a transaction that only reads, which on SQLite does not wait for writers
   */
  constructor(dataSource: DataSource, mode: Mode, options: LazyOptions = {}) {
    const { isolation, replica, isAbandoned = () => false, onLost, onIdle, now = timeWaited } = options
    this.beginOptions = { isolation, readOnly: false, replica }
    this.isReading = mode === 'read'
    this.limit = new WaitLimit(options.waited, options.maxWait)
    this.open = options.open
    this.watch = channels.transaction.hasSubscribers ? new TransactionWatch(options.attempt ?? 0) : undefined
    this.isAbandoned = isAbandoned
    this.onIdle = onIdle
    this.work = new RunningWork(onLost, onIdle && now)
    this.runner = createRunner(dataSource, mode)
    this.health = new TransactionHealth(this)
    this.manager = new TransactionManager(dataSource, this)
  }

  /**
   * Sets how the transaction begins. Options that are not given do not change.
   *
   * @throws TransactionAlreadyBegun when it has already begun
   */
  configure(options: BeginOptions): void {
    if (this.isUsed) throw new TransactionAlreadyBegun()
    const { isolation = this.beginOptions.isolation, readOnly = this.beginOptions.readOnly } = options
    this.beginOptions = { isolation, readOnly, replica: options.replica ?? this.beginOptions.replica }
    this.health.isReadOnly = readOnly === true
  }

  /** Whether the runner may have a connection. */
  get isUsed(): boolean {
    return this.state !== 'new'
  }

  /** Runs a query that only reads records, and locks nothing. */
  read(sql: string, values: unknown[]): Promise<unknown> {
    const query = () => this.runner.query(sql, values)
    return this.afterWaiting(sql, () =>
      this.work.query(() => (this.readsCommitted ? this.runRead(query) : this.run(query))),
    )
  }

  /**
   * Runs one statement in a savepoint, so that the transaction survives if the database rejects it.
   *
   * @returns the `QueryResult`, with the number of changed rows
   */
  write(sql: string, values: unknown[]): Promise<unknown> {
    this.hasWritten = true
    return this.afterWaiting(undefined, () =>
      this.work.nestStatement(async () => {
        await this.startSavepoint()
        try {
          const result = await this.run(() => this.runner.query(sql, values, true))
          await this.releaseSavepoint()
          return result
        } catch (error) {
          // The error to throw is that of the statement.
          await this.undoSavepoint().catch(() => undefined)
          throw error
        }
      }),
    )
  }

  /** Runs a statement after those that wait, unless they can wait for longer. */
  private afterWaiting<T>(sql: string | undefined, run: () => Promise<T>): Promise<T> {
    const sent = this.waiting?.before(sql)
    return sent ? sent.then(run) : run()
  }

  /** Runs a statement of TypeORM or of the application. */
  query(...args: Parameters<QueryRunner['query']>): Promise<unknown> {
    this.hasWritten ||= !isRead(args[0])
    const query = () => this.work.query(() => this.run(() => this.runner.query(...args)))
    return this.work.observe(this.afterWaiting(undefined, query))
  }

  /** Runs a query of the framework that locks rows of a table. */
  readLocked(sql: string, values: unknown[]): Promise<unknown> {
    return this.afterWaiting(sql, () => this.work.query(() => this.run(() => this.runner.query(sql, values))))
  }

  /** Streams the rows of a query. Statements that already run end before it begins. */
  stream(sql: string, values: unknown[] = []): Promise<RowStream> {
    return this.work.query(async () => {
      this.work.stopClock()
      const refusal = refusalOf(this.runner, sql, values)
      if (refusal) throw refusal
      const publish = beginStatement(this.runner, sql)
      const rows = await this.run(async () => this.engine.rows(this.runner, sql, values))
      return (this.rows = new RowStream(rows, publish, (error) => this.health.noteRow(error, sql, values)))
    })
  }

  /** Begins the transaction, and returns the connection to code that may send any statement. */
  connect(): Promise<unknown> {
    return this.afterWaiting(undefined, () => this.work.run(() => this.run(() => this.runner.connect())))
  }

  /** Whether rows of a stream have not been read yet. */
  get isStreaming(): boolean {
    return this.rows?.isOpen ?? false
  }

  /**
   * Lets the open stream outlive the handler. The transaction is committed after the last row, before the
   * stream ends, so that the stream fails if the commit does.
   *
   * @param afterCommit runs after the commit
   * @returns the stream
   * @throws RowsNotRead when the transaction has written; it is then rolled back
   */
  async streamOn(afterCommit: () => Promise<void>): Promise<Readable> {
    if (!this.rows || this.hasWritten) return this.reject(new RowsNotRead())
    this.rows.afterLast = async () => {
      await this.commit()
      await afterCommit()
    }
    return this.rows
  }

  /**
   * Commits, if there is anything to commit, and releases the connection.
   *
   * @throws RowsNotRead when a stream of rows is still open; the transaction is then rolled back
   * @throws NotAwaited when some of its work is still running; it is then rolled back
   * @throws the error that has ended the transaction before, even if the handler has caught it
   * @throws OutcomeUnknown when the connection is lost during the commit
   */
  async commit(): Promise<void> {
    // Whether an error was awaited is known only after the pending microtasks. On SQLite, all work may
    // consist of these.
    if (this.work.hasFailed) await nextTurn()
    if (this.work.isUnfinished) return this.reject(new NotAwaited())
    if (this.isStreaming) return this.reject(new RowsNotRead())
    const state = this.end()
    if (state === 'new' || state === 'late') return this.afterEnd?.()
    try {
      if (allows(state, 'begun')) await this.commitAll()
      else if (this.health.endError) throw this.health.endError
      else await this.server?.end()
      this.watch?.end(undefined, 'committed')
    } catch (error) {
      await this.rollback().catch(() => undefined)
      throw error
    } finally {
      await this.release()
    }
  }

  /** Rolls back, if there is anything to roll back, and releases the connection. */
  async rollback(): Promise<void> {
    const state = this.end()
    if (state === 'new' || state === 'late') return this.afterEnd?.()
    this.server?.fail()
    try {
      if (await this.closeRows()) return await this.discard()
      await this.work.waitForStatements()
      if (this.health.isConnectionLost) return await this.discard()
      // The transaction may still be beginning.
      await this.reached.begun?.catch(() => undefined)
      // Also ends savepoints that a promise without await has left open.
      while (this.state !== 'late' && this.runner.isTransactionActive) await this.runner.rollbackTransaction()
    } catch (error) {
      await this.discard().catch(() => undefined)
      throw error
    } finally {
      await this.release()
    }
  }

  /** Rejects all later statements. Returns the state that the transaction had. */
  private end(): TransactionState {
    const { state } = this
    if (state === 'ended') return state
    this.state = 'ended'
    this.work.stopClock()
    this.onIdle?.(this.work.maxIdle)
    return state
  }

  /** Rolls back, and throws an error. */
  private async reject(error: Error): Promise<never> {
    await this.rollback()
    throw error
  }

  /** Closes an open stream. Returns whether the connection must be closed, because rows remain. */
  private async closeRows(): Promise<boolean> {
    if (!this.rows?.isOpen) return false
    if (this.engine.discard) {
      this.rows.destroy()
      return this.rows.hasBegun
    }
    await this.rows.close()
    return false
  }

  /** Closes the connection, whose state is unknown. */
  private async discard(): Promise<void> {
    await this.engine.discard?.(this.runner)
  }

  /** Releases the connection once only: mysql2 would give it to two requests otherwise. */
  private release(): Promise<void> {
    this.watch?.end(this.health.endError ?? this.health.failure)
    this.afterEnd?.()
    return this.runner.isReleased || this.state === 'late' ? Promise.resolve() : this.runner.release()
  }

  /** Commits. Savepoints that are still open are unfinished, and are rolled back first. */
  private async commitAll(): Promise<void> {
    while (this.savepoints.pop()) await this.runner.rollbackTransaction()
    if (this.health.isInDoubt) await this.health.check()
    try {
      while (this.runner.isTransactionActive)
        await (this.server?.commit(this.hasWritten) ?? this.runner.commitTransaction())
    } catch (error) {
      throw this.health.noteCommit(error)
    }
  }

  /** Opens the connection or begins the transaction once, and waits for that. */
  private async reach(goal: Goal): Promise<void> {
    this.rejectAfterEnd()
    if (this.state === 'new') this.state = 'opening'
    await (this.reached[goal] ??= this.watch?.wait(() => this.advanceTo(goal)) ?? this.advanceTo(goal))
    this.rejectAfterEnd()
  }

  private async advanceTo(goal: Goal): Promise<void> {
    const from = performance.now()
    try {
      if (this.isAbandoned()) throw new ClientClosedRequest()
      if (this.open) await (this.opening ??= this.openServer(this.open))
      await (goal === 'begun' ? this.start() : this.runner.connect())
      this.limit.add(from)
      const turn = waitForTurn()
      if (turn) await turn
      // The client may have disconnected during the wait for a connection or for the write lock.
      if (this.isAbandoned()) {
        if (goal === 'begun') await this.runner.rollbackTransaction()
        throw new ClientClosedRequest()
      }
      if (this.state !== 'ended' && !allows(this.state, goal)) this.state = goal
    } catch (error) {
      throw this.health.noteBegin(error)
    }
  }

  private async openServer(open: Open): Promise<void> {
    this.server = await open(this.runner, this.beginOptions)
    this.runner = this.server.runner
  }

  /** Begins the transaction. After a second of waiting, only the rest of `maxWait` is left. */
  private async start(): Promise<void> {
    const { isolation, readOnly } = this.beginOptions
    const beginning =
      readOnly || this.server?.isReplica
        ? this.engine.beginReadOnly(this.runner, isolation)
        : this.runner.startTransaction(isolation)
    if (!this.limit.isTooLong) return await beginning
    if (await this.limit.allows(beginning)) return
    this.state = 'late'
    this.abandon(beginning).catch(() => undefined)
    throw new TransactionConflict()
  }

  /** Rolls back a transaction that begins too late. */
  private async abandon(beginning: Promise<void>): Promise<void> {
    try {
      await beginning
      await this.runner.rollbackTransaction()
    } finally {
      await this.runner.release()
    }
  }

  /** Whether each query reads what is committed when it begins, so that they may read different states. */
  private get readsCommitted(): boolean {
    return this.engine.readsCommitted?.(this.runner.dataSource, this.beginOptions.isolation) ?? false
  }

  /** Runs a command of the query runner in the transaction, unless an error has ended it. Begins it first. */
  private async run<T>(command: () => Promise<T>): Promise<T> {
    if (!allows(this.state, 'begun')) await this.reach('begun')
    this.state = 'active'
    return await this.send(command)
  }

  /**
   * Runs a query that returns the same rows at READ COMMITTED as outside of a transaction. In a request that
   * reads, it therefore does not begin the transaction.
   */
  private async runRead<T>(query: () => Promise<T>): Promise<T> {
    const goal = this.isReading && !this.reached.begun ? 'connected' : 'begun'
    if (!allows(this.state, goal)) await this.reach(goal)
    return await this.send(query)
  }

  /** @param isRollback whether it undoes a failed statement, before which PostgreSQL rejects all else */
  private async send<T>(command: () => Promise<T>, isRollback = false): Promise<T> {
    const { limit, runner } = this
    if (this.health.endError) throw this.health.endError
    if (this.rows?.isOpen) await this.afterRows(this.rows)
    const from = performance.now()
    try {
      // Without a transaction, a plain read waits for no row, and the limit would not end with it.
      if (limit.isTooLong && runner.isTransactionActive && !isRollback)
        await this.engine.limitLocks?.(runner, limit.shorten())
      return await command()
    } catch (error) {
      throw this.health.note(error)
    } finally {
      limit.add(from)
    }
  }

  /** Waits for a destroyed stream. An open one is RowsNotRead: its rows are read later. */
  private async afterRows(rows: RowStream): Promise<void> {
    if (!rows.destroyed) throw new RowsNotRead()
    await rows.close()
  }

  private rejectAfterEnd(): void {
    if (this.state === 'ended') throw new TransactionEnded()
  }

  private get engine(): Engine {
    return engineOf(this.runner.dataSource)
  }

  /** Starts a savepoint after the waiting statements; at the beginning, it is the transaction itself. */
  async startSavepoint(): Promise<void> {
    await this.waiting?.before(undefined)
    if (!allows(this.state, 'begun')) await this.reach('begun')
    const isWhole = this.state === 'begun' && this.savepoints.length === 0
    if (!isWhole) await this.run(() => this.runner.startTransaction())
    this.savepoints.push(isWhole ? 'transaction' : 'savepoint')
  }

  async releaseSavepoint(): Promise<void> {
    if (this.popSavepoint() === 'savepoint') await this.run(() => this.runner.commitTransaction())
  }

  async undoSavepoint(): Promise<void> {
    const undone = this.popSavepoint()
    await this.send(() => this.runner.rollbackTransaction(), true)
    this.limit.forget()
    if (undone === 'transaction') {
      // The next statement begins the transaction again.
      this.reached.begun = undefined
      if (this.state !== 'ended') this.state = 'connected'
    }
    this.health.recover()
  }

  private popSavepoint(): 'transaction' | 'savepoint' {
    this.rejectAfterEnd()
    const innermost = this.savepoints.pop()
    if (innermost) return innermost
    throw new Error('The framework ends the transaction of a request. Do not commit it or roll it back.')
  }
}

/** Whether a statement only reads, as far as its text shows. */
function isRead(sql: string): boolean {
  if (!/^\s*(SELECT|WITH|VALUES|SHOW|SET|EXPLAIN|PRAGMA)\b/i.test(sql)) return false
  return !/^\s*WITH\b/i.test(sql) || !/\b(INSERT|UPDATE|DELETE|MERGE)\b/i.test(sql)
}

/**
 * The milliseconds for which this process has waited. Time in which it computes does not count, for example
 * when a page is rendered: it ends by itself, and the first page compiles its templates.
 */
function timeWaited(): number {
  return performance.eventLoopUtilization().idle
}
