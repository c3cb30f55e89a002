import type { Context, Middleware } from '../context.js'
import { DevelopmentHosts } from '../hosts.js'

/**
 * Rejects requests for other hosts than those of development, and requests that a proxy forwarded from elsewhere.
 *
 * @param named those that the application names
 * @param listening where it listens
 */
export function developmentHosts(named: readonly string[], listening?: string): Middleware {
  const known = new DevelopmentHosts(named, listening)

  return function developmentHosts(ctx: Context, next) {
    const refusal = known.refusal(ctx.headers)
    if (refusal) throw refusal
    return next()
  }
}
