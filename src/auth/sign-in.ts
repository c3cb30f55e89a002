import type { Context } from '../context.js'
import { logAccess } from './access-log.js'
import { passwordStamp, type Account } from './account.js'
import { setUser, usesBearer } from './current-user.js'

/** The values that a session has about its user. */
export const keys = { user: 'user_id', stamp: 'user_stamp', time: 'signed_in_at', client: 'client' }

/** The user that a session names. */
export interface SessionUser {
  id: string
  stamp: string
  /** The time of the sign-in, in milliseconds since 1970. */
  signedInAt: number
}

/**
 * Signs a user in: the session gets a new id, which prevents session fixation, and remembers the user. It ends when the
 * user's password changes. The values of another user's session are dropped. A request that is authenticated by a bearer
 * token gets no session.
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

/** Ends the session. In a store, its id becomes worthless, also in a copied cookie. */
export function signOut(ctx: Context): void {
  const user = userOfSession(ctx)
  ctx.session = null
  setUser(ctx, undefined)
  logAccess(ctx, 'signed_out', user)
}

/** Notes in a session from where its user has signed in during this request. */
export function noteClient(ctx: Context, before: SessionUser | undefined): void {
  const present = userOfSession(ctx)
  if (!present || present.signedInAt === before?.signedInAt) return
  ctx.session[keys.client] = { ip: ctx.ip, user_agent: ctx.get('User-Agent').slice(0, 255) }
}

/** The user that the session names, who may have been deleted since. */
export function userOfSession(ctx: Context): SessionUser | undefined {
  const { [keys.user]: id, [keys.stamp]: stamp, [keys.time]: signedInAt } = ctx.session
  if (typeof id !== 'string' || typeof stamp !== 'string') return undefined
  return { id, stamp, signedInAt: Number(signedInAt) || 0 }
}
