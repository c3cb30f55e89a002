import { AsyncLocalStorage } from 'node:async_hooks'
import type { QueryRunner } from 'typeorm'
import { captureStack, siteOf } from '../../common/place.js'
import { WaitsForItself } from '../../errors.js'

/** The transaction of a request. */
interface Transaction {
  readonly runner: QueryRunner
  /** Whether it has begun, or is about to. */
  readonly isUsed: boolean
  /** Where it was used first, if that is known. */
  begunAt?: Error | undefined
}

/** The code that may wait for a transaction: the application's, or a middleware of the framework with a name. */
interface Caller {
  readonly transaction: Transaction
  readonly name?: string
}

/** The request that the current code belongs to. Only development and tests have one. */
const requests = new AsyncLocalStorage<Caller>()

/** The same in production, while the framework's own middleware calls something. */
let calling: Caller | undefined

/**
 * Runs the middleware below a transaction, and notices if it waits for the transaction. AsyncLocalStorage makes each promise
 * slower, so this isn't for production.
 */
export function watchWaits<T>(transaction: Transaction, work: () => T): T {
  return requests.run({ transaction }, work)
}

/** Notes where a transaction is about to begin, if its request is watched. */
export function noteBeginning(transaction: Transaction): void {
  if (!transaction.isUsed && requests.getStore()?.transaction === transaction)
    transaction.begunAt = captureStack()
}

/** Calls work of a middleware that uses another connection than the transaction of its request. */
export function calledBy<T>(name: string, transaction: Transaction | undefined, work: () => T): T {
  if (!transaction) return work()
  const caller = { name, transaction }
  if (requests.getStore()) return requests.run(caller, work)
  calling = caller
  try {
    return work()
  } finally {
    calling = undefined
  }
}

/**
 * Call it before waiting for something that the transaction of the same request may hold until its end.
 *
 * @throws WaitsForItself when it does
 */
export function rejectOwnWait(isHeldBy: (runner: QueryRunner) => unknown): void {
  const caller = calling ?? requests.getStore()
  if (!caller || !isHeldBy(caller.transaction.runner)) return
  const waiting = caller.name ?? siteOf(captureStack())?.caller ?? 'A query of the database'
  const holding = siteOf(caller.transaction.begunAt)?.caller ?? 'an earlier query of ctx.tx'
  throw new WaitsForItself(waiting, holding)
}
