import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.js'
import { snapshotForRetry } from '../../database/transactions/request-transaction.js'
import { TransactionConflict } from '../../errors.js'
import { ReplicaFailed } from '../../database/replicas/request-server.js'
import { snapshotResponse } from './response-snapshot.js'
import { isRepeatable } from '../idempotency/request-key.js'

/**
 * Milliseconds within which all attempts of a request must end. Attempts can wait long for locks, so a retry only starts if the
 * rest of the time is enough for the longest attempt so far.
 */
export const maxDuration = 10_000

/** Options for retrying requests. */
export interface RetryingOptions {
  /** The number of retries of a request whose transaction conflicted with another one (2, on a Galera cluster 5). */
  retries?: number
  /**
   * Whether a request may run again, after a conflict or because its replica has failed. By default one with an idempotent method
   * (RFC 9110) or a key, and without files.
   */
  isRetryable?: (ctx: Context) => boolean
}

/** One run of a request. */
export interface Attempt {
  /** The number of earlier runs that conflicted. */
  count: number
  /** Milliseconds since the first run began. */
  waited: number
  /** Whether it must run on the primary, because its replica has failed. */
  needsPrimary: boolean
}

/**
 * Runs a request. If it may run again, retries it after a conflict of its transaction with another one, and runs it on the
 * primary if its replica has failed. For another run, the response, the session and `ctx.state` are reset to what they were before
 * the first one.
 *
 * @param now returns the time in milliseconds
 * @throws TransactionConflict when the request may not run again, when no retry is left, or when a retry may end after 10 seconds
 * @throws ReplicaFailed (503) when the request may not run again
 */
export async function retrying(
  ctx: Context,
  { retries = 2, isRetryable = isIdempotent }: RetryingOptions,
  run: (attempt: Attempt) => Promise<void>,
  now: () => number = () => performance.now(),
): Promise<void> {
  // A request that is never retried needs no snapshot.
  if (isRetryable === isIdempotent && !isIdempotent(ctx))
    return run({ count: 0, waited: 0, needsPrimary: false })
  const start = now()
  let longest = 0
  let needsPrimary = false
  const restores = [snapshotResponse(ctx), snapshotForRetry(ctx)]
  let count = 0
  for (;;) {
    const began = now()
    try {
      return await run({ count, waited: began - start, needsPrimary })
    } catch (error) {
      const isTemporary = error instanceof ReplicaFailed || error instanceof TransactionConflict
      if (!isTemporary || ctx.res.headersSent || !isRetryable(ctx)) throw error
      if (error instanceof ReplicaFailed) {
        // The run on the primary follows at once, and does not count as a retry.
        needsPrimary = true
        for (const restore of restores) restore()
        continue
      }
      longest = Math.max(longest, now() - began)
      if (count >= retries || now() + longest >= start + maxDuration) throw error
      ctx.log.warn(
        { err: error },
        'the request is retried because its transaction conflicted with another one',
      )
    }
    for (const restore of restores) restore()
    // A random delay of about 10, 20, 40 milliseconds, so that the two transactions do not collide again.
    await delay(10 * 2 ** count * (0.5 + Math.random()))
    count += 1
  }
}

/** Whether a retry has the same effect as a single run. Uploaded files may have been moved. */
function isIdempotent(ctx: Context): boolean {
  return isRepeatable(ctx) && Object.keys(ctx.request.files ?? {}).length === 0
}
