import { cookiesOf } from '../common/cookies.js'
import type { Context } from '../context.js'
import { storedSessionId } from './session-store.js'

/**
 * Returns what distinguishes the visitor of a request from others for as long as possible: the session, else `Authorization`, else
 * the address. It does not use the session, and nobody may trust it.
 */
export function visitorOf(ctx: Context): string {
  return storedSessionId(ctx) ?? visitorInCookie(ctx) ?? ctx.req.headers.authorization ?? ctx.ip
}

/** A session in a cookie has no id. Its other values change. */
function visitorInCookie(ctx: Context): string | undefined {
  const cookie = ctx.sessionCookie && cookiesOf(ctx).get(ctx.sessionCookie, { signed: false })
  if (!cookie) return undefined
  try {
    const text = cookie.replace(/^~|\..*/g, '')
    const { user_id: user, csrf } = JSON.parse(Buffer.from(text, 'base64url').toString()).content
    return String(user ?? csrf ?? cookie)
  } catch {
    return undefined
  }
}
