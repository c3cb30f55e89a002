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

/** The code that may wait for a transaction: the application's, or a named middleware. */
interface Caller {
  readonly transaction: Transaction
  readonly name?: string
}

/** The caller that the current code belongs to. Only development and tests have one. */
const callers = new AsyncLocalStorage<Caller>()

/** In production, the middleware whose work is being started. Waits after its first `await` go unnoticed. */
let calling: Caller | undefined

/**
 * Runs the middleware below a transaction, so that `rejectOwnWait` recognizes its code. This is not for
 * production, because AsyncLocalStorage makes each promise slower.
 */
export function watchWaits<T>(transaction: Transaction, work: () => T): T {
  return callers.run({ transaction }, work)
}

/** Notes where a transaction is about to begin, if its request is watched. */
export function noteBeginning(transaction: Transaction): void {
  if (!transaction.isUsed && callers.getStore()?.transaction === transaction)
    transaction.begunAt = captureStack()
}

/** Starts work of a middleware that uses another connection than the transaction of its request. */
export function calledBy<T>(name: string, transaction: Transaction | undefined, work: () => T): T {
  if (!transaction) return work()
  const caller = { name, transaction }
  if (callers.getStore()) return callers.run(caller, work)
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
 * @throws WaitsForItself when the transaction holds it
 */
export function rejectOwnWait(isHeldBy: (runner: QueryRunner) => unknown): void {
  const caller = calling ?? callers.getStore()
  if (!caller || !isHeldBy(caller.transaction.runner)) return
  const waiting = caller.name ?? siteOf(captureStack())?.caller ?? 'A query of the database'
  const holding = siteOf(caller.transaction.begunAt)?.caller ?? 'an earlier query of ctx.tx'
  throw new WaitsForItself(waiting, holding)
}
