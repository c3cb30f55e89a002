import { Unauthorized } from '../extension.js'
import type { Context } from '../index.js'
import { logAccess } from './access-log.js'
import { passwordStamp, type Account } from './account.js'
import { currentUser, setUser, usesBearer } from './current-user.js'

/** The keys of a session under which its user is stored. */
export const sessionKeys = { user: 'user_id', stamp: 'user_stamp', time: 'signed_in_at', client: 'client' }

/** The values in a session that identify its user. */
export interface SessionUser {
  id: string
  stamp: string
  /** The time of the sign-in, in milliseconds since 1970. */
  signedInAt: number
}

/**
 * Signs a user in. The session stores the user, and gets a new id, which prevents session fixation. The
 * session ends when the user's password or address changes. If another user was signed in, the session's
 * other values are removed. A request that is authenticated by a bearer token gets no session.
 */
export function signIn(ctx: Context, user: Account): void {
  if (usesBearer(ctx)) return setUser(ctx, user)
  const previousId = ctx.session[sessionKeys.user]
  if (previousId !== undefined && previousId !== user.id) ctx.session = {}
  ctx.renewSession()
  const now = Date.now()
  Object.assign(ctx.session, {
    [sessionKeys.user]: user.id,
    [sessionKeys.stamp]: passwordStamp(user),
    [sessionKeys.time]: now,
  })
  setUser(ctx, user, now)
  logAccess(ctx, 'signed_in', user)
}

/**
 * Ends the session. If a store contains the session, copies of its cookie stop working, too. Does nothing in
 * a request with a valid bearer token, which has no session.
 *
 * @throws Unauthorized (401) when the request has an invalid bearer token
 */
export function signOut(ctx: Context): void {
  if (usesBearer(ctx)) {
    if (!currentUser(ctx)) throw new Unauthorized('Bearer')
    return
  }
  const user = readSessionUser(ctx)
  ctx.session = null
  setUser(ctx, undefined)
  logAccess(ctx, 'signed_out', user)
}

/** Stores the client's address and browser in the session if the user has signed in during this request. */
export function storeClient(ctx: Context, previous: SessionUser | undefined): void {
  const current = readSessionUser(ctx)
  if (!current || current.signedInAt === previous?.signedInAt) return
  ctx.session[sessionKeys.client] = { ip: ctx.ip, user_agent: ctx.get('User-Agent').slice(0, 255) }
}

/** Reads what the session stores about its user, who may be deleted; undefined without one. */
export function readSessionUser(ctx: Context): SessionUser | undefined {
  const { [sessionKeys.user]: id, [sessionKeys.stamp]: stamp, [sessionKeys.time]: signedInAt } = ctx.session
  if (typeof id !== 'string' || typeof stamp !== 'string') return undefined
  return { id, stamp, signedInAt: Number(signedInAt) || 0 }
}
