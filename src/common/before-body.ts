import { BeforeBody } from '../errors.js'
import { PerRequest } from './per-request.js'

const running = new PerRequest<boolean>()

/** Calls `run` (`beforeBody` middleware, then `next`). Until `next`, `rejectBeforeBody` throws. */
export async function beforeBody(
  ctx: object,
  run: (next: () => Promise<unknown>) => Promise<unknown>,
  next: () => Promise<unknown>,
): Promise<void> {
  running.set(ctx, true)
  try {
    await run(() => {
      running.delete(ctx)
      return next()
    })
  } finally {
    running.delete(ctx)
  }
}

/**
 * @param member what is not available yet, for the message: `ctx.tx`
 * @throws BeforeBody while `beforeBody` middleware of the request is running
 */
export function rejectBeforeBody(ctx: object, member: string): void {
  if (running.has(ctx)) throw new BeforeBody(member)
}
