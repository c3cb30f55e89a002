import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.js'
import { snapshotForRetry } from '../data/transactions/retry-snapshots.js'
import { TransactionConflict } from '../errors.js'
import { snapshotResponse } from '../http/response-snapshot.js'
import { IDEMPOTENT } from '../methods.js'

/** Milliseconds after which a request is no longer retried, because each attempt may have waited long for locks. */
const longest = 10_000

/** Options for retrying requests. */
export interface RepeatOptions {
  /** The number of retries of a request whose transaction conflicted with another one (2). */
  repeats?: number
  /** Whether a request may be retried. By default a request with an idempotent method (RFC 9110) and without files. */
  isRepeatable?: (ctx: Context) => boolean
}

/**
 * Runs a request, and retries it if its transaction conflicted with another one. For a retry, the response, the session
 * and `ctx.state` are reset to their state before.
 *
 * @param once runs the request; its argument is the number of earlier attempts
 * @throws TransactionConflict when the request may not be retried (again), or after 10 seconds
 */
export async function retrying(
  ctx: Context,
  { repeats = 2, isRepeatable = isIdempotent }: RepeatOptions,
  once: (time: number) => Promise<void>,
  now: () => number = () => performance.now(),
): Promise<void> {
  // A method that forbids a retry needs no snapshot.
  if (isRepeatable === isIdempotent && !isIdempotent(ctx)) return once(0)
  const began = now()
  const restores = [snapshotResponse(ctx), snapshotForRetry(ctx)]
  for (let time = 0; ; time += 1) {
    try {
      return await once(time)
    } catch (error) {
      const isOver = time >= repeats || now() - began >= longest || ctx.res.headersSent
      if (!(error instanceof TransactionConflict) || isOver || !isRepeatable(ctx)) throw error
      ctx.log.warn(
        { err: error },
        'the request is retried because its transaction conflicted with another one',
      )
    }
    for (const restore of restores) restore()
    // A random delay, so that the two transactions do not collide again.
    await delay(10 * (time + Math.random()))
  }
}

/** Whether a retry has the same effect as a single run. Uploaded files may have been moved. */
function isIdempotent(ctx: Context): boolean {
  return IDEMPOTENT.includes(ctx.method) && Object.keys(ctx.request.files ?? {}).length === 0
}
