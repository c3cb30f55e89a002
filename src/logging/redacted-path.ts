import type { Context } from '../context.js'
import { filtered } from './filter.js'

/** The path of a request for the log and for error pages, without the values of secret parameters: `/invitations/[FILTERED]`. */
export function redactedPath(ctx: Context): string {
  const { filterParameters } = ctx
  // A request without a route has none.
  const params: Record<string, string> = ctx.params ?? {}
  const names = Object.keys(params).filter((name) => filterParameters.isSecret(name))
  if (names.length === 0) return ctx.path
  const secrets = names.flatMap((name) => params[name]?.split('/') ?? []).filter(Boolean)
  // A route was found, so the path can be decoded.
  const isSecret = (part: string) => secrets.some((secret) => decodeURIComponent(part).includes(secret))
  return ctx.path
    .split('/')
    .map((part) => (isSecret(part) ? filtered : part))
    .join('/')
}
