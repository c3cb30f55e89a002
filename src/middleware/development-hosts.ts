import type { Context, Middleware } from '../context.js'
import { ForeignHost } from '../errors.js'
import { DevelopmentHosts } from '../hosts.js'

/**
 * Refuses requests for other hosts than those of development.
 *
 * @param named those that the application names
 * @param listening where it listens
 */
export function developmentHosts(named: readonly string[], listening?: string): Middleware {
  const known = new DevelopmentHosts(named, listening)

  return function developmentHosts(ctx: Context, next) {
    const host = ctx.get('Host')
    if (!known.includes(host)) throw new ForeignHost(host)
    return next()
  }
}
