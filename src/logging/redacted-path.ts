import type { Context } from '../context.js'
import { filtered } from './filter.js'

/** The path of a request for the log and for error pages, without the values of secret parameters: `/invitations/[FILTERED]`. */
export function redactedPath(ctx: Context): string {
  const params = Object.entries(ctx.params ?? {})
  if (params.length === 0) return ctx.path
  const shown = Object(ctx.filterParameters(ctx.params))
  const secrets = params
    .filter(([name]) => shown[name] === filtered)
    .flatMap(([, value]) => value.split('/'))
    .filter(Boolean)
  if (secrets.length === 0) return ctx.path
  // A route was found, so the path can be decoded.
  const isSecret = (part: string) => secrets.some((secret) => decodeURIComponent(part).includes(secret))
  return ctx.path
    .split('/')
    .map((part) => (isSecret(part) ? filtered : part))
    .join('/')
}
