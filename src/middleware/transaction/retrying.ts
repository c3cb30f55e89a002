import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.js'
import { snapshotForRetry } from '../../database/transactions/request-transaction.js'
import { TransactionConflict } from '../../errors.js'
import { snapshotResponse } from './response-snapshot.js'
import { isRepeatable } from '../idempotency/request-key.js'

/**
 * Milliseconds within which all attempts of a request must end. Attempts can wait long for locks, so a retry
 * only starts if the rest of the time is enough for the longest attempt so far.
 */
export const maxDuration = 10_000

/** Options for retrying requests. */
export interface RetryingOptions {
  /** The number of retries of a request after a conflict (2, on a Galera cluster 5). */
  retries?: number
  /**
   * Whether a request may run again, after a conflict or because its replica has failed. By default one with
   * an idempotent method (RFC 9110) or a key, and without files.
   */
  isRetryable?: (ctx: Context) => boolean
}

/** One run of a request. */
export interface Attempt {
  /** The number of earlier runs that conflicted. */
  count: number
  /** The time at which the first run began. */
  start: number
  /** Prepares the request for another run. Returns false if it may not run again. */
  reset(): boolean
}

/**
 * Runs a request. If it may run again, retries it after a conflict of its transaction with another one. For
 * another run, the response, the session and `ctx.state` are reset to what they were before the first one.
 *
 * @param now returns the time in milliseconds
 * @throws TransactionConflict when the request may not run again, when no retry is left, or when a retry may
 *   end after 10 seconds
 */
export async function retrying(
  ctx: Context,
  { retries = 2, isRetryable = isIdempotent }: RetryingOptions,
  run: (attempt: Attempt) => Promise<void>,
  now: () => number = () => performance.now(),
): Promise<void> {
  const start = now()
  // A request that is never retried needs no snapshot.
  if (isRetryable === isIdempotent && !isIdempotent(ctx)) return run({ count: 0, start, reset: () => false })
  const restores = [snapshotResponse(ctx), snapshotForRetry(ctx)]
  const reset = (): boolean => {
    if (ctx.res.headersSent || !isRetryable(ctx)) return false
    for (const restore of restores) restore()
    return true
  }
  let longest = 0
  for (let count = 0; ; count += 1) {
    const began = now()
    try {
      return await run({ count, start, reset })
    } catch (error) {
      if (!(error instanceof TransactionConflict)) throw error
      longest = Math.max(longest, now() - began)
      const isLast = count >= retries || now() + longest >= start + maxDuration
      if (isLast || !reset()) throw error
      ctx.log.warn(
        { err: error },
        'the request is retried because its transaction conflicted with another one',
      )
    }
    // A random delay of about 10, 20, 40 milliseconds, so that the two transactions do not collide again.
    await delay(10 * 2 ** count * (0.5 + Math.random()))
  }
}

/** Whether a retry has the same effect as a single run. Uploaded files may have been moved. */
function isIdempotent(ctx: Context): boolean {
  return isRepeatable(ctx) && Object.keys(ctx.request.files ?? {}).length === 0
}
