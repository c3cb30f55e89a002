import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.js'
import { rememberAll } from '../data/transactions/before-repeat.js'
import { TransactionConflict } from '../errors.js'
import { rememberAnswer } from '../http/response-snapshot.js'
import { IDEMPOTENT } from '../http/methods.js'

/** Milliseconds after which a request is not repeated any more: each time may have waited long for the locks of others. */
const longest = 10_000

/** Which requests are repeated, and how often. */
export interface RepeatOptions {
  /** How often a request is repeated whose transaction was in conflict with another one (2). */
  repeats?: number
  /** Whether a request may be repeated. By default those whose method is idempotent (RFC 9110), and that upload no files. */
  isRepeatable?: (ctx: Context) => boolean
}

/**
 * Does what a request needs, and again where its transaction was in conflict with another one, as if for the first
 * time: answer, session and `ctx.state` are what they were.
 *
 * @param once is told how often it was done before
 * @throws TransactionConflict when the request may not be repeated (again), or when 10 seconds have passed
 */
export async function repeating(
  ctx: Context,
  { repeats = 2, isRepeatable = isIdempotent }: RepeatOptions,
  once: (time: number) => Promise<void>,
  now: () => number = () => performance.now(),
): Promise<void> {
  // Where the method forbids it, nothing has to be remembered.
  if (isRepeatable === isIdempotent && !isIdempotent(ctx)) return once(0)
  const began = now()
  const restores = [rememberAnswer(ctx), rememberAll(ctx)]
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
    // Not in step with the other one.
    await delay(10 * (time + Math.random()))
  }
}

/** Whether nobody can tell a request that is repeated from one that is not. Uploaded files may have been moved away. */
function isIdempotent(ctx: Context): boolean {
  return IDEMPOTENT.includes(ctx.method) && Object.keys(ctx.request.files ?? {}).length === 0
}
