import { AsyncLocalStorage } from 'node:async_hooks'
import type { EntityManager, QueryRunner } from 'typeorm'
import { TransactionManager } from './transaction-manager.js'

/**
 * Does a piece of work in a savepoint of the transaction, so that the transaction survives when the work fails.
 * Savepoints that are asked for at once take turns: TypeORM numbers them by their depth, so that those side by side
 * would undo one another's work. Outside of a transaction it is one of its own.
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
 * The order of what a transaction does at once. Its savepoints take turns, and statements from outside of an open
 * savepoint wait for its end: the connection would run them inside of it, and undo them with it.
 */
export class Savepoints {
  private readonly root = new Level(this, undefined)
  private readonly running = new Map<Promise<unknown>, Level>()

  /** Runs a statement, once no savepoint is open that it is not part of. */
  async query<T>(ask: () => Promise<T>): Promise<T> {
    const level = this.level()
    while (level.nested) await level.nested
    const asked = ask()
    this.running.set(asked, level)
    try {
      return await asked
    } finally {
      this.running.delete(asked)
    }
  }

  /** Does what begins and ends a savepoint, once it is its turn and the statements before it are done. */
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

  /** Waits for the statements that are under way. */
  async settled(isMeant: (level: Level) => boolean = () => true): Promise<void> {
    const meant = [...this.running].flatMap(([asked, level]) => (isMeant(level) ? [asked] : []))
    if (meant.length > 0) await Promise.allSettled(meant)
  }

  /** The savepoint that the running code is inside of. */
  private level(): Level {
    for (let level = levels.getStore(); level; level = level.outer) if (level.owner === this) return level
    return this.root
  }
}

/** A transaction, or a savepoint of it. */
class Level {
  /** The end of the savepoint within it that was asked for last. */
  nested: Promise<void> | undefined

  constructor(
    readonly owner: Savepoints,
    readonly outer: Level | undefined,
  ) {}
}

/** The order of transactions that are none of a request. */
const orders = new WeakMap<QueryRunner, Savepoints>()

const levels = new AsyncLocalStorage<Level>()
