import { Unauthorized } from '../extension.js'
import type { Context } from '../index.js'
import { logAccess } from './access-log.js'
import { passwordStamp, type Account } from './account.js'
import { currentUser, setUser, usesBearer } from './current-user.js'

/** The keys of a session under which its user is stored. */
export const keys = { user: 'user_id', stamp: 'user_stamp', time: 'signed_in_at', client: 'client' }

/** The user that a session names. */
export interface SessionUser {
  id: string
  stamp: string
  /** The time of the sign-in, in milliseconds since 1970. */
  signedInAt: number
}

/**
 * Signs a user in. The session stores the user, and gets a new id, which prevents session fixation. It ends when the user's
 * password changes. If another user was signed in, the session's other values are removed. A request that is authenticated
 * by a bearer token gets no session.
 */
export function signIn(ctx: Context, user: Account): void {
  if (usesBearer(ctx)) return setUser(ctx, user)
  const before = ctx.session[keys.user]
  if (before !== undefined && before !== user.id) ctx.session = {}
  ctx.renewSession()
  const now = Date.now()
  Object.assign(ctx.session, {
    [keys.user]: user.id,
    [keys.stamp]: passwordStamp(user),
    [keys.time]: now,
  })
  setUser(ctx, user, now)
  logAccess(ctx, 'signed_in', user)
}

/**
 * Ends the session. With a session store, a copy of the cookie is worthless, too. A request with a bearer token has no session,
 * so nothing ends.
 *
 * @throws Unauthorized (401) when the request has an invalid bearer token
 */
export function signOut(ctx: Context): void {
  if (usesBearer(ctx)) {
    if (!currentUser(ctx)) throw new Unauthorized('Bearer')
    return
  }
  const user = userOfSession(ctx)
  ctx.session = null
  setUser(ctx, undefined)
  logAccess(ctx, 'signed_out', user)
}

/** Stores the client's address and browser in the session if the user has signed in during this request. */
export function recordClient(ctx: Context, before: SessionUser | undefined): void {
  const current = userOfSession(ctx)
  if (!current || current.signedInAt === before?.signedInAt) return
  ctx.session[keys.client] = { ip: ctx.ip, user_agent: ctx.get('User-Agent').slice(0, 255) }
}

/** The user that the session names, who may have been deleted since. */
export function userOfSession(ctx: Context): SessionUser | undefined {
  const { [keys.user]: id, [keys.stamp]: stamp, [keys.time]: signedInAt } = ctx.session
  if (typeof id !== 'string' || typeof stamp !== 'string') return undefined
  return { id, stamp, signedInAt: Number(signedInAt) || 0 }
}
