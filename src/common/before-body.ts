import { BeforeBody } from '../errors.js'
import { PerRequest } from './per-request.js'

const running = new PerRequest<boolean>()

/** Runs the `beforeBody` middleware of a request by `run`, whose `next` is called when all of it has called its own. */
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

/** @throws BeforeBody when `beforeBody` middleware of the request is running, which has no such member */
export function rejectBeforeBody(ctx: object, member: string): void {
  if (running.has(ctx)) throw new BeforeBody(member)
}
