import { EventEmitter, once } from 'node:events'
import type { DataSource, QueryRunner, ReplicationMode } from 'typeorm'
import { channels } from '../common/channels.js'
import { captureStack, withStack } from '../common/place.js'
import { engineOf } from '../database/engines/engines.js'
import { rejectOwnWait } from '../database/engines/own-waits.js'
import type { Release, Semaphore } from '../common/semaphore.js'

/** The milliseconds for which a statement waits for the rollback of a transaction that has failed. Then it runs, and fails. */
const ROLLBACK_TIMEOUT = 5000

/**
 * A query runner in a transaction that several users share: the requests and the helpers of a test. Each user gets its own
 * runner, whose transaction is a savepoint of the shared one. Releasing this runner ends only the savepoint.
 */
export class SharedRunner {
  /** The end of the last piece of statements. A piece is sent to the database without statements of others in between. */
  private statements: Promise<unknown> = Promise.resolve()
  /** The number of open savepoints. */
  private depth = 0
  /** Whether the engine rejects all statements until a rollback, because one has failed. */
  private isAborted = false
  /** Emits `rollback` after each rollback. Any number of statements may wait for it. */
  private readonly rollbacks = new EventEmitter().setMaxListeners(0)

  /**
   * @param runner a runner whose transaction has begun
   * @param lock admits one user at a time, from the beginning to the end of the user's transaction
   */
  constructor(
    private readonly dataSource: DataSource,
    private readonly runner: QueryRunner,
    private readonly lock: Semaphore,
  ) {}

  /** Creates the runner of one user. */
  createRunner(mode: ReplicationMode = 'master'): QueryRunner {
    const user = new RunnerUser(this, this.lock)
    // These members replace those of the shared runner. A member that TypeORM sets is set here, too.
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

  /** Runs a statement outside of any user's transaction. If the statement fails, it undoes nothing else. */
  async alone<T>(query: () => Promise<T>): Promise<T> {
    const done = await this.inOnePiece(
      async () => !this.isAborted && { result: await this.inSavepoint(query) },
    )
    if (done) return done.result
    const signal = AbortSignal.timeout(ROLLBACK_TIMEOUT)
    const isRolledBack = await once(this.rollbacks, 'rollback', { signal }).then(
      () => true,
      () => false,
    )
    return isRolledBack ? this.alone(query) : this.inOnePiece(() => this.inSavepoint(query))
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

  /** Runs a statement. If it fails, undoes it, unless the engine does so itself. */
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

  /** Runs statements after those of earlier calls, and before those of later ones. */
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

  /** Releases the last savepoint. Its changes remain. */
  keep(): Promise<void> {
    return this.inOnePiece(async () => {
      this.depth -= 1
      await this.runner.commitTransaction()
    })
  }

  /** Rolls back a savepoint, with those that were set after it. */
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

/** One user of the shared runner, and its transaction. */
class RunnerUser {
  isReleased = false
  /** The savepoints of this user: its transaction, and those within it. */
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
    // A second transaction of the same request would wait for the lock in vain.
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

  /** Lets the next user begin, if this user's transaction has ended. */
  private unlock(): void {
    if (this.depth > 0) return
    this.releaseLock?.()
    this.releaseLock = undefined
  }
}
