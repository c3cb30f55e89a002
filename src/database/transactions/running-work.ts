import { AsyncLocalStorage } from 'node:async_hooks'
import { ObservedPromise } from '../../common/observed-promise.js'

/**
 * The work of a transaction that is running now: whether any is left at its end, in which order its
 * statements and savepoints run, and how long no statement has run.
 *
 * Savepoints run one after the other, and statements from outside of an open savepoint wait for its end.
 * Otherwise the connection would run them inside of it, and undo them with it.
 */
export class RunningWork {
  /** The longest time, in milliseconds, in which the open transaction ran no statement. */
  maxIdle = 0
  /** Whether some work has failed, awaited or not. */
  hasFailed = false
  private count = 0
  private hasLost = false
  private idleSince: number | undefined
  private readonly root: Level = { owner: this, outer: undefined, nested: undefined }
  /** The running statements. They are few, and V8 resizes a map whenever it becomes empty. */
  private readonly statements: Statement[] = []

  /**
   * @param onLost receives each error that is not awaited, even after the end of the transaction
   * @param now the clock that measures `maxIdle`; without it, nothing is measured
   */
  constructor(
    private readonly onLost?: (error: unknown) => void,
    private now?: () => number,
  ) {}

  /** Whether work is still running, or has failed without being awaited. Then the response isn't a success. */
  get isUnfinished(): boolean {
    return this.count > 0 || this.hasLost
  }

  /** Runs a piece of work, which must end before the transaction. */
  run<T>(work: () => Promise<T>): ObservedPromise<T> {
    return this.observe(this.counted(work))
  }

  /** Passes the error of a promise to `lose` if nobody awaits the promise that is returned. */
  observe<T>(promise: Promise<T>): ObservedPromise<T> {
    return ObservedPromise.from(promise, this)
  }

  private async counted<T>(work: () => Promise<T>): Promise<T> {
    this.count += 1
    try {
      return await work()
    } catch (error) {
      this.hasFailed = true
      throw error
    } finally {
      this.count -= 1
    }
  }

  /** Runs a statement once all savepoints that it is not part of have ended. */
  async query<T>(statement: () => Promise<T>): Promise<T> {
    this.count += 1
    try {
      const level = this.level()
      while (level.nested) await level.nested
      return await this.track(statement, level)
    } catch (error) {
      this.hasFailed = true
      throw error
    } finally {
      this.count -= 1
    }
  }

  /** Runs a savepoint after the previous savepoint and the earlier statements. */
  nest<T>(work: () => Promise<T>): Promise<T> {
    return this.inTurn(this.level(), () =>
      levels.run({ owner: this, outer: levels.getStore(), nested: undefined }, work),
    )
  }

  /**
   * Runs a savepoint with a single statement. It needs no AsyncLocalStorage, whose first use makes every
   * promise of the process slower on Node 20.
   */
  nestStatement<T>(savepoint: () => Promise<T>): Promise<T> {
    const level = this.level()
    return this.counted(() => this.inTurn(level, () => this.track(savepoint, level)))
  }

  /** Runs work after the savepoints that a level has requested before, and its running statements. */
  private inTurn<T>(level: Level, work: () => Promise<T>): Promise<T> {
    const previous = level.nested
    const current = (async () => {
      await previous
      await this.waitForStatements((other) => other === level)
      return work()
    })()
    const end = (): void => {
      if (level.nested === ended) level.nested = undefined
    }
    const ended = current.then(end, end)
    level.nested = ended
    return current
  }

  /** Waits for the running statements of some levels. */
  async waitForStatements(isIncluded: (level: Level) => boolean = () => true): Promise<void> {
    const statements = this.statements.filter(({ level }) => isIncluded(level))
    if (statements.length > 0) await Promise.allSettled(statements.map(({ promise }) => promise))
  }

  /** Stops measuring `maxIdle`: the transaction ends, or a stream reads rows at the pace of its reader. */
  stopClock(): void {
    this.endIdle()
    this.now = undefined
  }

  /** Receives an error of work that was not awaited. */
  lose(error: unknown): void {
    this.hasLost = true
    this.onLost?.(error)
  }

  private async track<T>(statement: () => Promise<T>, level: Level): Promise<T> {
    this.endIdle()
    const running = { promise: statement(), level }
    this.statements.push(running)
    try {
      return await running.promise
    } finally {
      this.statements.splice(this.statements.indexOf(running), 1)
      if (this.statements.length === 0) this.idleSince = this.now?.()
    }
  }

  private endIdle(): void {
    if (this.now && this.idleSince !== undefined)
      this.maxIdle = Math.max(this.maxIdle, this.now() - this.idleSince)
    this.idleSince = undefined
  }

  /** The savepoint in which the current code runs. */
  private level(): Level {
    for (let level = levels.getStore(); level; level = level.outer) if (level.owner === this) return level
    return this.root
  }
}

/** A running statement, and the savepoint that it is part of. */
interface Statement {
  readonly promise: Promise<unknown>
  readonly level: Level
}

/** A transaction, or a savepoint in it. */
interface Level {
  readonly owner: RunningWork
  readonly outer: Level | undefined
  /** The end of the last savepoint that was requested in it. */
  nested: Promise<void> | undefined
}

const levels = new AsyncLocalStorage<Level>()
