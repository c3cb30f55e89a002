import { AsyncLocalStorage } from 'node:async_hooks'
import type { EntityManager, QueryRunner } from 'typeorm'
import { TransactionManager } from './transaction-manager.js'

/**
 * Runs work in a savepoint of the transaction, so that the transaction survives if the work fails. Concurrent savepoints
 * run one after the other: TypeORM numbers them by their depth, so that parallel ones would undo each other's work.
 * Outside of a transaction, the work has a transaction of its own.
 */
export function inSavepoint<T>(
  tx: EntityManager,
  work: (savepoint: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = tx.queryRunner
  if (!runner || tx instanceof TransactionManager) return tx.transaction(work)

  const order = orders.get(runner) ?? new Savepoints()
  orders.set(runner, order)
  return order.nest(() => tx.transaction(work))
}

/**
 * Orders the concurrent work of a transaction. Its savepoints run one after the other, and statements from outside of an
 * open savepoint wait for its end: otherwise the connection would run them inside of it, and undo them with it.
 */
export class Savepoints {
  private readonly root = new Level(this, undefined)
  private readonly running = new Map<Promise<unknown>, Level>()

  /** Runs a statement once all savepoints that it is not part of have ended. */
  async query<T>(work: () => Promise<T>): Promise<T> {
    const level = this.level()
    while (level.nested) await level.nested
    const promise = work()
    this.running.set(promise, level)
    try {
      return await promise
    } finally {
      this.running.delete(promise)
    }
  }

  /** Runs a savepoint after the previous savepoint and the earlier statements. */
  nest<T>(work: () => Promise<T>): Promise<T> {
    const level = this.level()
    const previous = level.nested
    const current = (async () => {
      await previous
      await this.settled((other) => other === level)
      return levels.run(new Level(this, levels.getStore()), work)
    })()
    const end = (): void => {
      if (level.nested === ended) level.nested = undefined
    }
    const ended = current.then(end, end)
    level.nested = ended
    return current
  }

  /** Waits for the running statements. */
  async settled(isIncluded: (level: Level) => boolean = () => true): Promise<void> {
    const promises = [...this.running].flatMap(([promise, level]) => (isIncluded(level) ? [promise] : []))
    if (promises.length > 0) await Promise.allSettled(promises)
  }

  /** The savepoint in which the current code runs. */
  private level(): Level {
    for (let level = levels.getStore(); level; level = level.outer) if (level.owner === this) return level
    return this.root
  }
}

/** A transaction, or a savepoint in it. */
class Level {
  /** The end of the last savepoint that was requested in it. */
  nested: Promise<void> | undefined

  constructor(
    readonly owner: Savepoints,
    readonly outer: Level | undefined,
  ) {}
}

/** The order of transactions that do not belong to a request. */
const orders = new WeakMap<QueryRunner, Savepoints>()

const levels = new AsyncLocalStorage<Level>()
