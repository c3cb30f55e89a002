import { PerRequest } from '../extension.js'
import type { Context } from '../index.js'
import type { Account } from './account.js'

/** Returns `ctx.user`; undefined without a user. Applications declare it with their own type. */
export function currentUser(ctx: Context): Account | undefined {
  return Reflect.get(ctx, 'user')
}

/** The sign-in time of a request's session, or `bearer` for a request with `Authorization`. */
const signIns = new PerRequest<number | 'bearer'>()

/**
 * Sets `ctx.user`, and the `currentUser` variable of templates.
 *
 * @param signedInAt the time of the session's sign-in, in milliseconds since 1970; 0 without a sign-in
 */
export function setUser(ctx: Context, user: Account | undefined, signedInAt = 0): void {
  Object.assign(ctx, { user })
  ctx.state['currentUser'] = user
  if (!usesBearer(ctx)) signIns.set(ctx, signedInAt)
}

/** Remembers the user of a request. Returns a function that restores the user before a repetition. */
export function captureUser(ctx: Context): () => void {
  const [user, signedInAt] = [currentUser(ctx), signInTime(ctx)]
  return () => setUser(ctx, user, signedInAt)
}

/** Marks the request as authenticated by `Authorization`, so that its session is ignored. */
export function markBearer(ctx: Context): void {
  signIns.set(ctx, 'bearer')
}

/** Whether the request is authenticated by `Authorization`, and not by its session. */
export function usesBearer(ctx: Context): boolean {
  return signIns.get(ctx) === 'bearer'
}

/** Returns the time of the sign-in, in milliseconds since 1970; 0 without one or with a bearer token. */
export function signInTime(ctx: Context): number {
  return Number(signIns.get(ctx)) || 0
}
