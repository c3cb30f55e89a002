import { cookiesOf } from '../common/cookies.js'
import type { Context } from '../context.js'
import { storedSessionId } from './session-store.js'

/**
 * Returns a string that is the same for all requests of a visitor, if possible: from the session, else
 * `Authorization`, else the IP address. It does not begin a session. Don't trust it, because a visitor can
 * forge the session of a cookie.
 */
export function visitorOf(ctx: Context): string {
  return storedSessionId(ctx) ?? visitorInCookie(ctx) ?? ctx.req.headers.authorization ?? ctx.ip
}

/** The user or the secret in the session of a cookie, which has no id, and whose other values change. */
function visitorInCookie(ctx: Context): string | undefined {
  const cookie = ctx.sessionCookie && cookiesOf(ctx).get(ctx.sessionCookie, { signed: false })
  if (!cookie) return undefined
  try {
    // Without the prefix of a session that is not in the store, and without the signature.
    const text = cookie.replace(/^~|\..*/g, '')
    const { user_id: user, csrf } = JSON.parse(Buffer.from(text, 'base64url').toString()).content
    return String(user ?? csrf ?? cookie)
  } catch {
    return undefined
  }
}
