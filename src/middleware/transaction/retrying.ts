import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../context.js'
import { snapshotForRetry } from '../../data/transactions/retry-snapshots.js'
import { TransactionConflict } from '../../errors.js'
import { snapshotResponse } from './response-snapshot.js'
import { isRepeatable } from '../idempotency/request-key.js'

/**
 * Milliseconds within which all attempts of a request must end. Attempts can wait long for locks, so a retry only starts if the
 * rest of the time is enough for the longest attempt so far.
 */
export const maxDuration = 10_000

/** Options for retrying requests. */
export interface RetryingOptions {
  /** The number of retries of a request whose transaction conflicted with another one (2). */
  retries?: number
  /** Whether a request may be retried. By default one with an idempotent method (RFC 9110) or a key, and without files. */
  isRetryable?: (ctx: Context) => boolean
}

/**
 * Runs a request, and retries it if its transaction conflicted with another one. For a retry, the response, the session
 * and `ctx.state` are reset to what they were before the first attempt.
 *
 * @param run runs the request; `attempt` is the number of earlier attempts, and `elapsed` the milliseconds that they took
 * @throws TransactionConflict when the request may not be retried, when no retry is left, or when a retry may
 * end after 10 seconds
 */
export async function retrying(
  ctx: Context,
  { retries = 2, isRetryable = isIdempotent }: RetryingOptions,
  run: (attempt: number, elapsed: number) => Promise<void>,
  now: () => number = () => performance.now(),
): Promise<void> {
  // A request that is never retried needs no snapshot.
  if (isRetryable === isIdempotent && !isIdempotent(ctx)) return run(0, 0)
  const start = now()
  let longest = 0
  const restores = [snapshotResponse(ctx), snapshotForRetry(ctx)]
  for (let attempt = 0; ; attempt += 1) {
    const began = now()
    try {
      return await run(attempt, began - start)
    } catch (error) {
      longest = Math.max(longest, now() - began)
      const isOver = attempt >= retries || now() + longest >= start + maxDuration || ctx.res.headersSent
      if (!(error instanceof TransactionConflict) || isOver || !isRetryable(ctx)) throw error
      ctx.log.warn(
        { err: error },
        'the request is retried because its transaction conflicted with another one',
      )
    }
    for (const restore of restores) restore()
    // A random delay, so that the two transactions do not collide again.
    await delay(10 * (attempt + Math.random()))
  }
}

/** Whether a retry has the same effect as a single run. Uploaded files may have been moved. */
function isIdempotent(ctx: Context): boolean {
  return isRepeatable(ctx) && Object.keys(ctx.request.files ?? {}).length === 0
}
