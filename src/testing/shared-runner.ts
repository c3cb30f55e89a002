import { EventEmitter, once } from 'node:events'
import type { DataSource, QueryRunner, ReplicationMode } from 'typeorm'
import { channels } from '../common/channels.js'
import { captureStack, withStack } from '../common/place.js'
import { engineOf } from '../data/engines/engines.js'
import { rejectOwnWait } from '../data/engines/own-waits.js'
import type { Release, Semaphore } from '../data/engines/semaphore.js'

/** The milliseconds after which a statement no longer waits for the rollback of a transaction that has failed. */
const ROLLBACK_TIMEOUT = 5000

/**
 * A query runner in a transaction that is shared by many users. Each user sees it as its own runner: its transaction
 * is a savepoint, and releasing the runner ends only that.
 */
export class SharedRunner {
  /** Statements that are sent to the database together. */
  private statements: Promise<unknown> = Promise.resolve()
  private depth = 0
  /** Whether the engine rejects all statements until a rollback, because one has failed. */
  private isAborted = false
  private readonly rollbacks = new EventEmitter().setMaxListeners(0)

  /**
   * @param runner in a transaction that has begun
   * @param lock admits one user at a time, from the beginning to the end of its transaction
   */
  constructor(
    private readonly dataSource: DataSource,
    private readonly runner: QueryRunner,
    private readonly lock: Semaphore,
  ) {}

  /** The runner as one user sees it. */
  createRunner(mode: ReplicationMode = 'master'): QueryRunner {
    const user = new RunnerUser(this, this.lock)
    const members: Partial<Record<PropertyKey, unknown>> = {
      getReplicationMode: () => mode,
      query: (...args: Parameters<QueryRunner['query']>) => {
        const stack = channels.query.hasSubscribers ? captureStack() : undefined
        return user.query(() => withStack(stack, () => this.runner.query(...args)))
      },
      connect: () => this.runner.connect(),
      startTransaction: () => user.begin(),
      commitTransaction: () => user.commit(),
      rollbackTransaction: () => user.rollback(),
      release: () => user.release(),
    }
    const runner: QueryRunner = new Proxy(this.runner, {
      get: (target, name) => {
        if (name === 'isTransactionActive') return user.depth > 0
        if (name === 'isReleased') return user.isReleased
        return name in members ? members[name] : Reflect.get(target, name)
      },
      set: (_target, name, value) => {
        members[name] = value
        return true
      },
    })
    members['manager'] = this.dataSource.createEntityManager(runner)
    return runner
  }

  /** Runs a statement outside of any user's transaction. If it fails, nothing else is lost. */
  async alone<T>(query: () => Promise<T>): Promise<T> {
    const done = await this.inOnePiece(
      async () => !this.isAborted && { result: await this.inSavepoint(query) },
    )
    if (done) return done.result
    const signal = AbortSignal.timeout(ROLLBACK_TIMEOUT)
    const isOver = await once(this.rollbacks, 'rollback', { signal }).then(
      () => true,
      () => false,
    )
    return isOver ? this.alone(query) : this.inOnePiece(() => this.inSavepoint(query))
  }

  /** Runs a statement of a user's transaction. */
  ofUser<T>(query: () => Promise<T>): Promise<T> {
    return this.inOnePiece(async () => {
      try {
        return await query()
      } catch (error) {
        this.isAborted = engineOf(this.dataSource).failureAborts === true
        throw error
      }
    })
  }

  /** Undoes a failed statement, if the engine does not do so itself. */
  private async inSavepoint<T>(query: () => Promise<T>): Promise<T> {
    if (!engineOf(this.dataSource).failureAborts) return query()
    await this.runner.startTransaction()
    try {
      const result = await query()
      await this.runner.commitTransaction()
      return result
    } catch (error) {
      await this.runner.rollbackTransaction()
      throw error
    }
  }

  private inOnePiece<T>(work: () => Promise<T>): Promise<T> {
    const done = this.statements.then(work)
    this.statements = done.catch(() => undefined)
    return done
  }

  /** Sets a savepoint, and returns its number. */
  mark(): Promise<number> {
    return this.inOnePiece(async () => {
      await this.runner.startTransaction()
      return (this.depth += 1)
    })
  }

  /** Releases the last savepoint, which keeps its changes. */
  keep(): Promise<void> {
    return this.inOnePiece(async () => {
      this.depth -= 1
      await this.runner.commitTransaction()
    })
  }

  /** Rolls back to this savepoint, including those within it. */
  undoTo(mark: number): Promise<void> {
    return this.inOnePiece(async () => {
      for (; this.depth >= mark; this.depth -= 1) await this.runner.rollbackTransaction()
      this.isAborted = false
      this.rollbacks.emit('rollback')
    })
  }

  /** Rolls everything back. */
  async end(): Promise<void> {
    await this.undoTo(1)
    await this.runner.rollbackTransaction()
    await this.runner.release()
  }
}

/** The current user of the runner. */
class RunnerUser {
  isReleased = false
  private readonly marks: number[] = []
  private releaseLock: Release | undefined

  constructor(
    private readonly shared: SharedRunner,
    private readonly lock: Semaphore,
  ) {}

  get depth(): number {
    return this.marks.length
  }

  query<T>(query: () => Promise<T>): Promise<T> {
    return this.depth > 0 ? this.shared.ofUser(query) : this.shared.alone(query)
  }

  async begin(): Promise<void> {
    if (!this.releaseLock) rejectOwnWait((runner) => runner.isTransactionActive)
    this.releaseLock ??= await this.lock.acquire()
    this.marks.push(await this.shared.mark())
  }

  async commit(): Promise<void> {
    this.marks.pop()
    await this.shared.keep()
    this.unlock()
  }

  async rollback(): Promise<void> {
    const mark = this.marks.pop()
    if (mark !== undefined) await this.shared.undoTo(mark)
    this.unlock()
  }

  async release(): Promise<void> {
    if (this.isReleased) return
    while (this.depth > 0) await this.rollback()
    this.isReleased = true
  }

  private unlock(): void {
    if (this.depth > 0) return
    this.releaseLock?.()
    this.releaseLock = undefined
  }
}
