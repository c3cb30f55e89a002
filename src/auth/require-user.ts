import type { Next } from 'koa'
import { chooseFormat, type Duration, milliseconds, Unauthorized } from '../extension.js'
import type { Context, DeclaredRoute, Middleware, MiddlewareDescription } from '../index.js'
import { logAccess } from './access-log.js'
import { currentUser, signInTime, usesBearer } from './current-user.js'
import { storeReturnTo } from './return-to.js'

/** The options of `requireUser()`. */
export interface RequireUserOptions {
  /** The maximum time since the sign-in. Afterwards, the user has to sign in again: `'15 minutes'`. */
  recently?: Duration
  /** The name of the route of the sign-in page (`newSessionPath`). */
  signInPath?: string
}

/**
 * Rejects requests without a user. A request for HTML is redirected to the sign-in page with 303, and after
 * the sign-in, the visitor returns to the page. A request for JSON or XML, or with a bearer token, gets the
 * response 401.
 *
 * Routes that are declared below it are for users. `kit routes --public` lists the others.
 *
 * @example
 * app.use(authenticate(database, User))
 * app.use(requireUser())
 * @throws DeclarationError when `recently` is malformed
 */
export function requireUser(options: RequireUserOptions = {}): Middleware {
  const { signInPath = 'newSessionPath' } = options
  const maxAge = options.recently === undefined ? Infinity : milliseconds(options.recently)

  async function requireUser(ctx: Context, next: Next): Promise<void> {
    if (currentUser(ctx) && isRecent(ctx)) return next()
    logAccess(ctx, 'rejected', currentUser(ctx))
    if (!ctx.hasSession || usesBearer(ctx)) throw new Unauthorized('Bearer')
    if (chooseFormat(ctx) !== 'html') throw new Unauthorized('Session')
    storeReturnTo(ctx)
    ctx.seeOther(ctx.pathFor(signInPath), { info: ctx.t('account.sign_in_first') })
  }

  /** A sign-in that is not recent enough is repeated, and then leads to the page. */
  function admits(ctx: Context): boolean {
    return currentUser(ctx) !== undefined
  }

  /** Whether the sign-in is recent enough. With `recently`, a bearer token never is: it has no such time. */
  function isRecent(ctx: Context): boolean {
    return maxAge === Infinity || signInTime(ctx) > Date.now() - maxAge
  }

  return Object.assign(requireUser, { beforeBody: true, openapi: describe, extension: { admits } })

  function describe({ middleware }: DeclaredRoute): MiddlewareDescription {
    const hasTokens = maxAge === Infinity && middleware.some((fn) => tokenMiddleware.has(fn))
    const headers = { 'WWW-Authenticate': { description: 'How to authenticate', required: true } }
    return {
      responses: { 401: { description: 'There is no user', headers } },
      security: hasTokens ? ['session', 'bearer'] : ['session'],
    }
  }
}

/** The middleware functions of `authenticate` that accept bearer tokens. */
export const tokenMiddleware = new WeakSet<Middleware>()
