import type { EntityManager } from 'typeorm'
import type { BeginOptions } from './lazy-transaction.js'
import { PerRequest } from '../../per-request.js'

/** The request's transaction, as its context exposes it. */
export interface RequestTransaction {
  readonly manager: EntityManager
  /** The callbacks that run after the commit. */
  readonly hooks: Array<() => unknown>
  /** Sets how it begins. */
  configure(options: BeginOptions): void
}

const transactions = new PerRequest<RequestTransaction>('transaction')

/** Adds a transaction to a request: `ctx.tx` and `ctx.afterCommit`. */
export function beginTransaction(ctx: object, transaction: RequestTransaction): void {
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
export function transactionOf(ctx: object): RequestTransaction | undefined {
  return transactions.get(ctx)
}
