import type { Context, Middleware } from '../context.js'
import { DevelopmentHosts } from '../http/security/hosts.js'

/**
 * Rejects requests for hosts other than the development hosts, and requests that a proxy forwarded for other hosts.
 *
 * @param named the hosts that the application configures
 * @param listening the address on which it listens
 */
export function developmentHosts(named: readonly string[], listening?: string): Middleware {
  const known = new DevelopmentHosts(named, listening)

  return function developmentHosts(ctx: Context, next) {
    const error = known.check(ctx.headers)
    if (error) throw error
    return next()
  }
}
