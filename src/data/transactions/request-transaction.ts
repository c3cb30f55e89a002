import { PerRequest } from '../../common/per-request.js'
import { calledBy } from '../engines/own-waits.js'
import type { LazyTransaction } from './lazy-transaction.js'

const transactions = new PerRequest<LazyTransaction>()

/** Adds a transaction to a request: `ctx.tx` and `ctx.afterCommit`. */
export function beginTransaction(ctx: object, transaction: LazyTransaction): void {
  transactions.set(ctx, transaction)
  // The contexts of an App already have these members. This is a context of plain Koa.
  if (!('tx' in ctx)) Object.defineProperties(ctx, members)
}

const members: PropertyDescriptorMap = {
  tx: {
    get(this: object) {
      return transactionOf(this)?.manager
    },
  },
  afterCommit: {
    value(this: object, work: () => unknown) {
      transactionOf(this)?.hooks.push(work)
    },
  },
}

/** The transaction of a request; undefined without a `transaction()` above its route. */
export function transactionOf(ctx: object): LazyTransaction | undefined {
  return transactions.get(ctx)
}

/** Whether a request has a transaction, so that `ctx.afterCommit` waits for its commit. */
export function hasTransaction(ctx: object): boolean {
  return transactionOf(ctx) !== undefined
}

/**
 * Runs work of a middleware that uses the database outside of the request's transaction.
 *
 * @param name the middleware in messages: `rateLimit()`
 * @throws WaitsForItself when the work waits for the transaction of the same request
 */
export function outsideTransaction<T>(ctx: object, name: string, work: () => T): T {
  return calledBy(name, transactionOf(ctx), work)
}
