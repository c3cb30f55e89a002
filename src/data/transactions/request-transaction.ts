import { PerRequest } from '../../common/per-request.js'
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
