import { AsyncLocalStorage } from 'node:async_hooks'
import type { EntityManager, QueryRunner } from 'typeorm'
import { TransactionManager } from './transaction-manager.js'

/** The query runner whose savepoint the running code is inside of. */
const inside = new AsyncLocalStorage<QueryRunner>()

/** The savepoint of a query runner that was asked for last. */
const latest = new WeakMap<QueryRunner, Promise<unknown>>()

/**
 * Does a piece of work in a savepoint of the transaction, so that the transaction survives when the work fails.
 * Savepoints that are asked for at once take turns: TypeORM numbers them by their depth, so that those side by side
 * would undo one another's work. Outside of a transaction it is one of its own.
 */
export async function inSavepoint<T>(
  tx: EntityManager,
  work: (savepoint: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = tx.queryRunner
  if (!runner || tx instanceof TransactionManager || inside.getStore() === runner) return tx.transaction(work)

  const previous = latest.get(runner)
  const current = (async () => {
    await previous
    return inside.run(runner, () => tx.transaction(work))
  })()
  latest.set(
    runner,
    current.catch(() => undefined),
  )
  return current
}
