import type { Context } from '../context.js'
import { filtered } from './filter.js'

/** The path of a request in the log and error pages, without secret parameters. */
export function redactedPath(ctx: Context): string {
  const { filterParameters } = ctx
  // A request without a route has no `params`.
  const params: Record<string, string> = ctx.params ?? {}
  const secretNames = Object.keys(params).filter((name) => filterParameters.isSecret(name))
  if (secretNames.length === 0) return ctx.path
  // The value of a rest parameter contains slashes.
  const secrets = secretNames.flatMap((name) => params[name]?.split('/') ?? []).filter(Boolean)
  // Decoding cannot fail, because a route was found. A part can contain more than the parameter.
  const isSecret = (part: string) => secrets.some((secret) => decodeURIComponent(part).includes(secret))
  return ctx.path
    .split('/')
    .map((part) => (isSecret(part) ? filtered : part))
    .join('/')
}
