import type { Context } from '../index.js'

const key = 'return_to'

/** The maximum length of a path, because a session in a cookie is small. */
const maxLength = 1000

/** Stores the path of the requested page for the return after the sign-in. Only a GET can be repeated. */
export function storeReturnTo(ctx: Context): void {
  if (ctx.method === 'GET' && isSafePath(ctx.url)) ctx.session[key] = ctx.url
}

/** Returns the path that `requireUser()` has stored in the session, and removes it; `/` if there is none. */
export function takeReturnTo(ctx: Context): string {
  const { [key]: path } = ctx.session
  delete ctx.session[key]
  return isSafePath(path) ? path : '/'
}

/**
 * Whether a redirect to a path stays on the site, in every browser. `//` is rejected everywhere, because what
 * comes before it can disappear: `/x/..//evil.example` is `//evil.example`.
 */
function isSafePath(path: unknown): path is string {
  if (typeof path !== 'string' || path.length > maxLength) return false
  // oxlint-disable-next-line no-control-regex
  return /^\/[^\\\u0000-\u0020\u007f]*$/.test(path) && !path.includes('//')
}
