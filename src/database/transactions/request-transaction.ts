import { PerRequest } from '../../common/per-request.js'
import { calledBy } from '../engines/own-waits.js'
import type { LazyTransaction } from './lazy-transaction.js'

type Check = () => unknown
type Snapshot = () => () => void

const transactions = new PerRequest<LazyTransaction>()
const checksOf = new PerRequest<Check[]>()
const snapshotsOf = new PerRequest<Snapshot[]>()

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

/**
 * Commits the transaction of a request that only reads, before its response is sent. Later queries of
 * `ctx.tx` are rejected.
 *
 * @throws NotAwaited when queries are still running
 */
export async function endReading(ctx: object): Promise<void> {
  await transactionOf(ctx)?.commit()
}

/** Registers a check that runs after the handler, before the commit. If it throws, all is rolled back. */
export function beforeCommit(ctx: object, check: Check): void {
  add(checksOf, ctx, check)
}

const discarded = new PerRequest<boolean>()

/** Lets the transaction of a request be rolled back, even if its response is a success. */
export function discardTransaction(ctx: object): void {
  discarded.set(ctx, true)
}

/** Whether the transaction of a request is rolled back. */
export function isDiscarded(ctx: object): boolean {
  return discarded.get(ctx) ?? false
}

/** Gives a derived context checks of its own, which `checkBeforeCommit` then runs alone. */
export function separateChecks(ctx: object): void {
  checksOf.set(ctx, [])
}

/** Runs the checks that `beforeCommit` has registered for a request. */
export async function checkBeforeCommit(ctx: object): Promise<void> {
  for (const check of checksOf.get(ctx) ?? []) await check()
}

/** Registers a function that takes a snapshot before the handler, to restore before each retry. */
export function restoreOnRetry(ctx: object, takeSnapshot: Snapshot): void {
  add(snapshotsOf, ctx, takeSnapshot)
}

/**
 * Takes the snapshots that are registered for a request.
 *
 * @returns a function that restores them, and forgets the checks that were registered in the meantime
 */
export function snapshotForRetry(ctx: object): () => void {
  const restores = (snapshotsOf.get(ctx) ?? []).map((takeSnapshot) => takeSnapshot())
  const checks = checksOf.get(ctx)?.slice()
  return () => {
    for (const restore of restores) restore()
    checksOf.set(ctx, checks?.slice() ?? [])
  }
}

function add<T>(lists: PerRequest<T[]>, ctx: object, item: T): void {
  const list = lists.get(ctx)
  if (list) list.push(item)
  else lists.set(ctx, [item])
}
