import { QueryFailedError } from 'typeorm'
import type { DataSource, EntityManager, QueryRunner, ReplicationMode } from 'typeorm'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import {
  ClientClosedRequest,
  HttpError,
  NotAwaited,
  OutcomeUnknown,
  ReadOnlyTransaction,
  ServiceUnavailable,
  TransactionBegun,
  TransactionEnded,
} from '../../errors.js'
import { engineOf } from '../engines/engines.js'
import { problemOf, wasNotSent } from '../engines/problems.js'
import { IdleTime } from './idle-time.js'
import { Savepoints } from './savepoints.js'
import { TransactionHealth } from './transaction-health.js'
import { TransactionManager } from './transaction-manager.js'
import { PendingWork } from './pending-work.js'

/** How a request's transaction begins. */
export interface BeginOptions {
  /** The isolation level. The default is that of the engine. SQLite ignores it, because its transactions are serializable. */
  isolation?: IsolationLevel | undefined
  /** Whether it is read-only (no). The database rejects a statement that writes, and SQLite does not wait for the write lock. */
  readOnly?: boolean | undefined
}

/** The options of a LazyTransaction. */
export interface LazyOptions extends Pick<BeginOptions, 'isolation'> {
  /** Whether the client has disconnected. Then a transaction that has not begun yet does not begin. */
  isAbandoned?: () => boolean
  /** Receives the errors of work that was not awaited. */
  onLost?: (error: unknown) => void
  /** Receives, at the end, the longest time in milliseconds in which the open transaction ran no statement. */
  onIdle?: ((milliseconds: number) => void) | undefined
  /** The clock of `onIdle`; without it, the time for which the process has waited. */
  now?: () => number
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
  private readonly runner: QueryRunner
  private isolation: IsolationLevel | undefined
  private isReadOnly = false
  private readonly isAbandoned: () => boolean
  private readonly work: PendingWork
  private readonly onIdle: LazyOptions['onIdle']
  private readonly idle: IdleTime | undefined
  private readonly order = new Savepoints()
  private readonly health: TransactionHealth
  private beginning: Promise<void> | undefined
  private open = 0
  private hasEnded = false

  /**
   * @param mode `slave` for a transaction that only reads, which on SQLite does not wait for writers
   */
  constructor(dataSource: DataSource, mode: ReplicationMode, options: LazyOptions = {}) {
    const { isolation, isAbandoned = () => false, onLost = () => {}, onIdle } = options
    const { now = timeWaited } = options
    this.isolation = isolation
    this.isAbandoned = isAbandoned
    this.work = new PendingWork(onLost)
    this.onIdle = onIdle
    this.idle = onIdle && new IdleTime(now)
    this.runner = dataSource.createQueryRunner(mode)
    this.health = new TransactionHealth(this.runner)
    this.manager = new TransactionManager(dataSource, this.beginFirst(this.runner), this.work, this.order)
  }

  /**
   * Sets how the transaction begins. Options that are not given do not change.
   *
   * @throws TransactionBegun when it has already begun
   */
  configure({ isolation = this.isolation, readOnly = this.isReadOnly }: BeginOptions): void {
    if (this.beginning) throw new TransactionBegun()
    this.isolation = isolation
    this.isReadOnly = readOnly
  }

  /**
   * Commits, if there is anything to commit, and releases the connection.
   *
   * @throws NotAwaited when some of its work is still running; it is then rolled back
   * @throws the error that has ended the transaction before, even if the handler has caught it
   * @throws OutcomeUnknown when the connection is lost during the commit
   */
  async commit(): Promise<void> {
    if (this.work.isUnfinished) {
      await this.rollback()
      throw new NotAwaited()
    }
    this.end()
    // Without a query, the runner has no connection.
    if (!this.beginning) return
    try {
      if (await this.hasBegun()) await this.commitAll()
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
    if (!this.beginning) return
    try {
      await this.order.settled()
      if (this.health.isConnectionLost) return await this.discard()
      // Also ends savepoints that a promise without await has left open.
      while ((await this.hasBegun()) && this.runner.isTransactionActive)
        await this.runner.rollbackTransaction()
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
    this.idle?.stop()
    if (this.idle) this.onIdle?.(this.idle.longest)
  }

  /** Closes the connection, whose state is unknown. */
  private async discard(): Promise<void> {
    await engineOf(this.runner.dataSource).discard?.(this.runner)
  }

  /** Releases the connection once only: mysql2 would give a connection that is released twice to two requests. */
  private async release(): Promise<void> {
    if (!this.runner.isReleased) await this.runner.release()
  }

  /** Commits. Savepoints that are still open are unfinished, and are rolled back first. */
  private async commitAll(): Promise<void> {
    for (; this.open > 0; this.open -= 1) await this.runner.rollbackTransaction()
    await this.health.check()
    try {
      while (this.runner.isTransactionActive) await this.runner.commitTransaction()
    } catch (error) {
      if (isUnanswered(error)) throw new OutcomeUnknown({ cause: error })
      throw this.health.note(error)
    }
  }

  /** Whether the transaction has begun without an error. */
  private async hasBegun(): Promise<boolean> {
    if (!this.beginning) return false
    return this.beginning.then(
      () => true,
      () => false,
    )
  }

  private async begin(): Promise<void> {
    this.refuseWhenEnded()
    this.beginning ??= this.start().catch((error: unknown) => {
      throw isOfQuery(error)
        ? error
        : new ServiceUnavailable('The database does not respond.', 5, { cause: error })
    })
    await this.beginning
    this.refuseWhenEnded()
  }

  private async start(): Promise<void> {
    if (this.isAbandoned()) throw new ClientClosedRequest()
    if (this.isReadOnly) await engineOf(this.runner.dataSource).beginReadOnly(this.runner, this.isolation)
    else await this.runner.startTransaction(this.isolation)
    // It may have waited for a connection or for the write lock.
    if (!this.isAbandoned()) return
    await this.runner.rollbackTransaction()
    throw new ClientClosedRequest()
  }

  /** PostgreSQL and MariaDB report the same error if the server itself is read-only, which is a failure of the database. */
  private explainWrite<T>(result: Promise<T>): Promise<T> {
    if (!this.isReadOnly) return result
    return result.catch((error: unknown) => {
      const isWrite = error instanceof QueryFailedError && problemOf(error) === 'readonly'
      throw isWrite ? new ReadOnlyTransaction({ cause: error }) : error
    })
  }

  private refuseWhenEnded(): void {
    if (this.hasEnded) throw new TransactionEnded()
  }

  /**
   * The query runner as TypeORM sees it: a transaction that is always active, so that `save` does not begin and commit
   * one of its own, and in which `transaction()` is a savepoint.
   */
  private beginFirst(runner: QueryRunner): QueryRunner {
    const members: Partial<Record<keyof QueryRunner, unknown>> = {
      query: (...args: Parameters<QueryRunner['query']>) =>
        this.work.run(() =>
          this.order.query(async () => {
            await this.begin()
            const query = () => this.health.watch(() => this.explainWrite(runner.query(...args)))
            return this.idle ? this.idle.during(query) : query()
          }),
        ),
      stream: async (...args: Parameters<QueryRunner['stream']>) => {
        await this.begin()
        this.idle?.stop()
        return runner.stream(...args)
      },
      connect: async () => {
        await this.begin()
        return runner.connect()
      },
      startTransaction: async () => {
        await this.begin()
        await this.health.watch(() => runner.startTransaction())
        this.open += 1
      },
      commitTransaction: () => this.endSavepoint(() => runner.commitTransaction()),
      rollbackTransaction: async () => {
        await this.endSavepoint(() => runner.rollbackTransaction())
        this.health.recover()
      },
      release: () => Promise.resolve(),
    }
    return new Proxy(runner, {
      get: (target, name) => {
        if (name === 'isTransactionActive') return true
        // After the end, `begin` throws the framework's own error instead of TypeORM's.
        if (name === 'isReleased') return false
        return name in members ? members[name as keyof QueryRunner] : Reflect.get(target, name)
      },
    })
  }

  private async endSavepoint(end: () => Promise<void>): Promise<void> {
    this.refuseWhenEnded()
    if (this.open === 0)
      throw new Error('The framework ends the transaction of a request. Do not commit it or roll it back.')
    this.open -= 1
    await this.health.watch(end)
  }
}

/** Whether the connection was lost after the commit was sent and before its response. */
/**
 * The milliseconds for which this process has waited. Time in which it computes does not count, for example when a page is
 * rendered: it ends by itself, and the first page compiles its templates.
 */
function timeWaited(): number {
  return performance.eventLoopUtilization().idle
}

function isUnanswered(error: unknown): boolean {
  return error instanceof QueryFailedError && problemOf(error) === 'lost' && !wasNotSent(error)
}

/** Whether the error comes from the database or the framework. Any other error at the beginning comes from the connection. */
function isOfQuery(error: unknown): boolean {
  return error instanceof QueryFailedError || error instanceof HttpError
}
