import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { QueryFailedError } from 'typeorm'
import type { DataSource, EntityManager, QueryRunner, ReplicationMode } from 'typeorm'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import {
  ClientClosedRequest,
  HttpError,
  NotAwaited,
  RowsNotRead,
  TransactionAlreadyBegun,
  TransactionConflict,
  TransactionEnded,
} from '../../errors.js'
import { engineOf } from '../engines/engines.js'
import { beginStatement } from '../queries/publish.js'
import { RowStream } from './row-stream.js'
import { RunningWork } from './running-work.js'
import { explainBegin, TransactionHealth } from './transaction-health.js'
import { TransactionManager } from './transaction-manager.js'
import type { TransactionPlace } from './transaction-place.js'
import type { TransactionWatch } from './transaction-watch.js'

/** How a request's transaction begins. */
export interface BeginOptions {
  /** The isolation level. The default is that of the engine. SQLite ignores it, because its transactions are serializable. */
  isolation?: IsolationLevel | undefined
  /** Whether it is read-only (no). The database rejects a statement that writes, and SQLite does not wait for the write lock. */
  readOnly?: boolean | undefined
  /**
   * Whether it may read from a replica. The default is yes, unless the request sends `Authorization` without a position, because
   * its client may just have written. Without `replicas`, it does nothing.
   */
  replica?: boolean | undefined
}

/** The options of a LazyTransaction. */
export interface LazyOptions extends Pick<BeginOptions, 'isolation' | 'replica'> {
  /** Whether the client has disconnected. Then a transaction that has not begun yet does not begin. */
  isAbandoned?: () => boolean
  /** Receives the errors of work that was not awaited. */
  onLost?: (error: unknown) => void
  /** Receives, at the end, the longest time in milliseconds in which the open transaction ran no statement. */
  onIdle?: ((milliseconds: number) => void) | undefined
  /** Milliseconds that earlier attempts of the request took (0). They count as a part of `maxWait`. */
  waited?: number
  /** Milliseconds that the transaction may wait for its connection and, in its statements, for locks (no limit). */
  maxWait?: number
  /** The clock of `onIdle`; without it, the time for which the process has waited. */
  now?: () => number
  /** Publishes how it has ended. */
  watch?: TransactionWatch | undefined
  /** Where it reads, on a database with several servers. */
  place?: TransactionPlace | undefined
}

/**
 * A transaction that begins with its first query. Until then it holds no connection and locks nothing.
 *
 * @example
 * ```ts
 * const transaction = new LazyTransaction(dataSource, 'master')
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
  /** Its connection. */
  readonly runner: QueryRunner
  /** Where it was used first, in development and in tests. */
  begunAt: Error | undefined
  private readonly isReading: boolean
  private isolation: IsolationLevel | undefined
  private isReadOnly = false
  private replica: boolean | undefined
  private readonly place: TransactionPlace | undefined
  private readonly isAbandoned: () => boolean
  private readonly onIdle: LazyOptions['onIdle']
  private readonly health: TransactionHealth
  private readonly watch: TransactionWatch | undefined
  private readonly maxWait: number
  /** The milliseconds spent in waiting for the connection and for statements. */
  private waited: number
  /** The milliseconds after which the database is given a shorter limit for locks. */
  private shortensAt = 1000
  /** Whether its beginning took too long. It is rolled back when it has begun. */
  private isLate = false
  /** Whether the runner may have a connection. */
  isUsed = false
  private connecting: Promise<void> | undefined
  private beginning: Promise<void> | undefined
  private hasBegun = false
  /** Whether nothing would be lost if the transaction were rolled back and begun again. */
  private isUntouched = true
  /** Whether the first open savepoint is the whole transaction. */
  private isWhole = false
  /** The number of open savepoints. */
  private open = 0
  /** Whether a statement may have changed something. */
  private hasWritten = false
  /** The last stream of rows. While it is open, the connection belongs to it. */
  private rows: RowStream | undefined
  private hasEnded = false

  /**
   * @param mode `slave` for a transaction that only reads, which on SQLite does not wait for writers
   */
  constructor(dataSource: DataSource, mode: ReplicationMode, options: LazyOptions = {}) {
    const { isolation, isAbandoned = () => false, onLost, onIdle, now = timeWaited } = options
    this.maxWait = options.maxWait ?? Infinity
    this.waited = options.waited ?? 0
    this.isReading = mode === 'slave'
    this.isolation = isolation
    this.replica = options.replica
    this.place = options.place
    this.isAbandoned = isAbandoned
    this.onIdle = onIdle
    this.watch = options.watch
    this.work = new RunningWork({ onLost, now: onIdle && now })
    this.runner = dataSource.createQueryRunner(mode)
    this.health = new TransactionHealth(this.runner)
    this.manager = new TransactionManager(dataSource, this.beginFirst(), this)
  }

  /**
   * Sets how the transaction begins. Options that are not given do not change.
   *
   * @throws TransactionAlreadyBegun when it has already begun
   */
  configure(options: BeginOptions): void {
    const { isolation = this.isolation, readOnly = this.isReadOnly, replica = this.replica } = options
    if (this.isUsed) throw new TransactionAlreadyBegun()
    this.isolation = isolation
    this.isReadOnly = readOnly
    this.replica = replica
  }

  /** Runs a query that only reads records, and locks nothing. */
  read(sql: string, values: unknown[]): Promise<unknown> {
    const query = () => this.runner.query(sql, values)
    return this.work.query(() => (this.readsCommitted ? this.attemptRead(query) : this.attempt(query)))
  }

  /**
   * Runs one statement in a savepoint, so that the transaction survives if the database rejects it.
   *
   * @returns the `QueryResult`, with the number of changed rows
   */
  write(sql: string, values: unknown[]): Promise<unknown> {
    this.hasWritten = true
    return this.work.nestStatement(() => this.inSavepoint(() => this.runner.query(sql, values, true)))
  }

  /** Whether rows of a stream have not been read yet. */
  get isStreaming(): boolean {
    return this.rows?.isOpen ?? false
  }

  /**
   * Lets the open stream outlive the handler. The transaction is committed after the last row, before the stream ends, so that
   * the stream fails if the commit does.
   *
   * @param committed runs after the commit
   * @returns the stream
   * @throws RowsNotRead when the transaction has written; it is then rolled back
   */
  async streamOn(committed: () => Promise<void>): Promise<Readable> {
    if (!this.rows || this.hasWritten) return this.rejectStream()
    this.rows.afterLast = async () => {
      await this.commit()
      await committed()
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
    // An error counts as not awaited only after the microtasks that are due. On SQLite, all may be microtasks.
    if (this.work.hasFailed) await nextTurn()
    if (this.work.isUnfinished) {
      await this.rollback()
      throw new NotAwaited()
    }
    if (this.isStreaming) return this.rejectStream()
    this.end()
    // Without a query, the runner has no connection.
    if (!this.isUsed) return
    try {
      if (this.hasBegun || (await this.begun())) await this.commitAll()
      else if (this.health.end) throw this.health.end
      else await this.place?.end(this.runner)
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
    this.end()
    if (!this.isUsed) return
    this.place?.fail()
    try {
      if (await this.closeRows()) return await this.discard()
      await this.work.settled()
      if (this.health.isConnectionLost) return await this.discard()
      // Also ends savepoints that a promise without await has left open.
      while ((await this.begun()) && this.runner.isTransactionActive) await this.runner.rollbackTransaction()
    } catch (error) {
      await this.discard().catch(() => undefined)
      throw error
    } finally {
      await this.release()
    }
  }

  private end(): void {
    if (this.hasEnded) return
    this.hasEnded = true
    this.work.stopClock()
    this.onIdle?.(this.work.maxIdle)
  }

  private async rejectStream(): Promise<never> {
    await this.rollback()
    throw new RowsNotRead()
  }

  /** Closes an open stream. Returns true if the engine would have to read the rest of its rows before anything else. */
  private async closeRows(): Promise<boolean> {
    if (!this.rows?.isOpen) return false
    if (engineOf(this.runner.dataSource).discard) {
      this.rows.destroy()
      return this.rows.hasBegun
    }
    await this.rows.close()
    return false
  }

  /** Closes the connection, whose state is unknown. */
  private async discard(): Promise<void> {
    await engineOf(this.runner.dataSource).discard?.(this.runner)
  }

  /** Releases the connection once only: mysql2 would give a connection that is released twice to two requests. */
  private release(): Promise<void> {
    this.watch?.end(this.health.end ?? this.health.failure)
    return this.runner.isReleased || this.isLate ? Promise.resolve() : this.runner.release()
  }

  /** Commits. Savepoints that are still open are unfinished, and are rolled back first. */
  private async commitAll(): Promise<void> {
    for (; this.open > 0; this.open -= 1) await this.runner.rollbackTransaction()
    if (this.health.isInDoubt) await this.health.check()
    try {
      while (this.runner.isTransactionActive)
        await (this.place?.commit(this.runner, this.hasWritten) ?? this.runner.commitTransaction())
    } catch (error) {
      this.place?.note(error)
      throw (this.health.failure = this.health.noteCommit(error))
    }
  }

  /** Whether the transaction has begun without an error. Waits while it is beginning. */
  private begun(): boolean | Promise<boolean> {
    if (this.hasBegun || !this.beginning) return this.hasBegun
    return this.beginning.then(
      () => true,
      () => false,
    )
  }

  private async begin(): Promise<void> {
    this.rejectAfterEnd()
    this.isUsed = true
    this.beginning ??= this.watch?.wait(() => this.start()) ?? this.start()
    await this.beginning
    this.rejectAfterEnd()
  }

  private async start(): Promise<void> {
    const { runner, isolation } = this
    try {
      if (this.isAbandoned()) throw new ClientClosedRequest()
      const choosing = this.place?.choose(runner, this.beginOptions)
      if (choosing) await choosing
      await this.inTime(
        this.isReadOnly || this.place?.isReplica
          ? engineOf(runner.dataSource).beginReadOnly(runner, isolation)
          : runner.startTransaction(isolation),
      )
      // It may have waited for a connection or for the write lock.
      if (this.isAbandoned()) {
        await runner.rollbackTransaction()
        throw new ClientClosedRequest()
      }
      this.hasBegun = true
    } catch (error) {
      this.place?.note(error)
      throw explainBegin(error)
    }
  }

  /** Waits for the beginning. In a retry, it waits only for the rest of the time. */
  private async inTime(beginning: Promise<void>): Promise<void> {
    const from = performance.now()
    if (this.waited < this.shortensAt) await beginning
    else if (!(await settlesWithin(beginning, this.rest))) {
      this.isLate = true
      this.abandon(beginning).catch(() => undefined)
      throw new TransactionConflict()
    }
    this.waited += performance.now() - from
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

  /** The milliseconds that the next wait may take. */
  private get rest(): number {
    return Math.max(1000, Math.ceil(this.maxWait - this.waited))
  }

  /** Tells the database how long the next statement may wait for locks. */
  private async shortenLocks(): Promise<void> {
    this.shortensAt = this.waited + 1000
    const { runner, rest } = this
    if (rest < Infinity) await engineOf(runner.dataSource).limitLocks?.(runner, rest)
  }

  /** Waits for a connection, without beginning the transaction. */
  private async connect(): Promise<void> {
    this.rejectAfterEnd()
    this.isUsed = true
    this.connecting ??= this.watch?.wait(() => this.obtain()) ?? this.obtain()
    await this.connecting
    this.rejectAfterEnd()
  }

  private async obtain(): Promise<void> {
    try {
      if (this.isAbandoned()) throw new ClientClosedRequest()
      const choosing = this.place?.choose(this.runner, this.beginOptions)
      if (choosing) await choosing
      await this.runner.connect()
      // It may have waited for a connection.
      if (this.isAbandoned()) throw new ClientClosedRequest()
    } catch (error) {
      this.place?.note(error)
      throw explainBegin(error)
    }
  }

  private get beginOptions(): BeginOptions {
    return { isolation: this.isolation, readOnly: this.isReadOnly, replica: this.replica }
  }

  /** Whether each query reads what is committed when it begins, so that all of them may read different states. */
  private get readsCommitted(): boolean {
    const { dataSource } = this.runner
    return engineOf(dataSource).readsCommitted?.(dataSource, this.isolation) ?? false
  }

  /** Runs a command of the query runner in the transaction, unless an error has ended it. Begins it first. */
  private async attempt<T>(command: () => Promise<T>): Promise<T> {
    if (this.hasBegun) this.rejectAfterEnd()
    else await this.begin()
    this.isUntouched = false
    return await this.send(command)
  }

  /**
   * Runs a query that READ COMMITTED shows the same rows as no transaction. In a request that reads, it does not begin the
   * transaction.
   */
  private async attemptRead<T>(query: () => Promise<T>): Promise<T> {
    if (this.hasBegun) this.rejectAfterEnd()
    else if (this.isReading && !this.beginning) await this.connect()
    else await this.begin()
    return await this.send(query)
  }

  private async send<T>(command: () => Promise<T>): Promise<T> {
    if (this.health.end) throw this.health.end
    if (this.rows?.isOpen) await this.afterRows()
    const from = performance.now()
    try {
      if (this.waited > this.shortensAt) await this.shortenLocks()
      return await command()
    } catch (error) {
      this.place?.note(error)
      throw this.health.note(error, this.isReadOnly)
    } finally {
      this.waited += performance.now() - from
    }
  }

  /** Statements run one after the other, so one that waited for rows that are read later would wait for itself. */
  private async afterRows(): Promise<void> {
    if (!this.rows?.destroyed) throw new RowsNotRead()
    await this.rows.close()
  }

  /** Streams the rows of a query. The statements that run now end before. */
  private async stream(sql: string, values: unknown[] = []): Promise<Readable> {
    const { runner } = this
    this.work.stopClock()
    const end = beginStatement(runner, sql)
    const rows = await this.attempt(async () => engineOf(runner.dataSource).rows(runner, sql, values))
    this.rows = new RowStream(rows, end, (thrown) => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      const isKnown = error instanceof QueryFailedError || error instanceof HttpError
      return this.health.note(isKnown ? error : new QueryFailedError(sql, values, error), this.isReadOnly)
    })
    return this.rows
  }

  private rejectAfterEnd(): void {
    if (this.hasEnded) throw new TransactionEnded()
  }

  /**
   * The query runner as TypeORM sees it: a transaction that is always active, so that `save` does not begin and commit
   * one of its own, and in which `transaction()` is a savepoint.
   */
  private beginFirst(): QueryRunner {
    // Most requests only use the fast path, which needs none of them.
    let members: RunnerMembers | undefined
    return new Proxy(this.runner, {
      // Without this trap, TypeORM's assignment of `manager` would be slow.
      set: setMember,
      get: (target, name) => {
        if (name === 'isTransactionActive') return true
        // After the end, `begin` throws the framework's own error instead of TypeORM's.
        if (name === 'isReleased') return false
        // The runner of some engines forgets it when it is released.
        if (name === 'manager') return this.manager
        members ??= this.runnerMembers()
        return name in members ? members[name as keyof QueryRunner] : Reflect.get(target, name)
      },
    })
  }

  /** The methods of the query runner that differ for TypeORM. */
  private runnerMembers(): RunnerMembers {
    const { runner } = this
    return {
      query: (...args: Parameters<QueryRunner['query']>) => {
        this.hasWritten ||= !isRead(args[0])
        return this.work.observe(this.work.query(() => this.attempt(() => runner.query(...args))))
      },
      stream: (...[sql, values, onEnd, onError]: Parameters<QueryRunner['stream']>) =>
        this.work.run(async () => {
          const rows = await this.work.query(() => this.stream(sql, values))
          if (onEnd) rows.on('end', () => void onEnd())
          if (onError) rows.on('error', (error) => void onError(error))
          return rows
        }),
      connect: async () => {
        await this.begin()
        this.isUntouched = false
        return runner.connect()
      },
      startTransaction: () => this.startSavepoint(),
      commitTransaction: () => this.releaseSavepoint(),
      rollbackTransaction: () => this.undoSavepoint(),
      release: () => Promise.resolve(),
    }
  }

  private async inSavepoint<T>(statement: () => Promise<T>): Promise<T> {
    await this.startSavepoint()
    try {
      const result = await this.attempt(statement)
      await this.releaseSavepoint()
      return result
    } catch (error) {
      // The error of the statement is the cause.
      await this.undoSavepoint().catch(() => undefined)
      throw error
    }
  }

  /** Starts a savepoint. At the beginning of the transaction, the transaction itself is the savepoint. */
  private async startSavepoint(): Promise<void> {
    await this.begin()
    if (this.isUntouched && this.open === 0) this.isWhole = true
    else await this.attempt(() => this.runner.startTransaction())
    this.open += 1
  }

  private releaseSavepoint(): Promise<void> {
    return this.endSavepoint(() => this.runner.commitTransaction())
  }

  private async undoSavepoint(): Promise<void> {
    await this.endSavepoint(
      () => this.runner.rollbackTransaction(),
      () => this.startOver(),
    )
    this.health.recover()
  }

  /** @param endWhole ends the savepoint that is the transaction itself */
  private async endSavepoint(end: () => Promise<void>, endWhole?: () => Promise<void>): Promise<void> {
    this.rejectAfterEnd()
    if (this.open === 0)
      throw new Error('The framework ends the transaction of a request. Do not commit it or roll it back.')
    this.open -= 1
    if (!this.isWhole || this.open > 0) return this.attempt(end)
    this.isWhole = false
    await endWhole?.()
  }

  /** Undoes all of the transaction. The next statement begins it again. */
  private async startOver(): Promise<void> {
    await this.send(() => this.runner.rollbackTransaction())
    this.beginning = undefined
    this.hasBegun = false
    this.isUntouched = true
  }
}

/** Whether a promise settles in time. Throws its error. */
async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<false>((resolve) => (timer = setTimeout(resolve, milliseconds, false)))
  try {
    return await Promise.race([promise.then(() => true), timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Whether a statement only reads, as far as its text shows. */
function isRead(sql: string): boolean {
  if (!/^\s*(SELECT|WITH|VALUES|SHOW|SET|EXPLAIN|PRAGMA)\b/i.test(sql)) return false
  return !/^\s*WITH\b/i.test(sql) || !/\b(INSERT|UPDATE|DELETE|MERGE)\b/i.test(sql)
}

type RunnerMembers = Partial<Record<keyof QueryRunner, unknown>>

function setMember(target: QueryRunner, name: string | symbol, value: unknown): boolean {
  return Reflect.set(target, name, value)
}

/**
 * The milliseconds for which this process has waited. Time in which it computes does not count, for example when a page is
 * rendered: it ends by itself, and the first page compiles its templates.
 */
function timeWaited(): number {
  return performance.eventLoopUtilization().idle
}
