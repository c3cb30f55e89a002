import type { EntityManager } from 'typeorm'
import type { BeginOptions } from './lazy-transaction.js'
import { PerRequest } from '../../per-request.js'

/** The transaction of a request, as its context shows it. */
export interface RequestTransaction {
  readonly manager: EntityManager
  /** What is to be done once it has been committed. */
  readonly hooks: Array<() => unknown>
  /** Sets how it begins. */
  configure(options: BeginOptions): void
}

const transactions = new PerRequest<RequestTransaction>('transaction')

/** Gives a request its transaction: `ctx.tx` and `ctx.afterCommit`. */
export function beginTransaction(ctx: object, transaction: RequestTransaction): void {
  transactions.set(ctx, transaction)
  // The contexts of an App have them already. This is one of plain Koa.
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

/** The transaction of a request; undefined when no `transaction()` was declared above its route. */
export function transactionOf(ctx: object): RequestTransaction | undefined {
  return transactions.get(ctx)
}
