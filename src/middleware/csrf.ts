import type { Next } from 'koa'
import { cookiesOf } from '../common/cookies.js'
import type { Context, Middleware } from '../context.js'
import { CrossSiteRequest, InvalidToken } from '../errors.js'
import { hasForm } from '../http/body/body-kind.js'
import { checkedOrigin, hasBearerToken, isFromAnotherSite, isPlainPost } from '../http/security/cross-site.js'
import { lastValue } from '../http/body/form-fields.js'
import { allowToken, isTokenOf } from '../sessions/csrf-token.js'
import { SAFE_METHODS } from '../common/methods.js'
import { ownOrigin } from '../http/security/own-site.js'

/** The options of `csrf()`. */
export interface CsrfOptions {
  /** Other origins whose pages may send requests like its own: `['https://admin.example.com']`. */
  trustedOrigins?: readonly string[]
}

/**
 * Rejects requests that another site makes a visitor's browser send (cross-site request forgery). The forms
 * of `formFor` and `deleteButton` carry a token of the session, `ctx.csrfToken`; scripts may send it as
 * `X-CSRF-Token`.
 *
 * Requests that change something are checked in this order:
 *
 * 1. with `Authorization: Bearer` and no session cookie: accepted, because a browser does not send that
 * header by itself 2. from another site, according to `Sec-Fetch-Site` or `Origin`: rejected, even with a
 * token 3. with a valid token: accepted 4. from another host of the same site, or a POST that a plain form
 * can send (a form, text, or no body): rejected 5. any other request: accepted, because browsers ask for
 * permission before they send it to another site
 *
 * A page that contains a token is not stored in shared caches.
 *
 * @example
 * app.post('/callbacks/payment', payment) // above csrf(), because the payment provider sends it
 * app.use(csrf())
 * app.use(csrf({ trustedOrigins: ['https://admin.example.com'] }))
 * @throws DeclarationError when a trusted origin is malformed; at the start, when the application has no
 *   sessions
 * @throws CrossSiteRequest (403), InvalidToken (403)
 */
export function csrf({ trustedOrigins = [] }: CsrfOptions = {}): Middleware {
  const trusted = trustedOrigins.map((origin) => checkedOrigin(origin, 'csrf()'))

  function csrf(ctx: Context, next: Next): unknown {
    allowToken(ctx)
    // The method before a form's `_method` replaced it.
    if (!SAFE_METHODS.includes(ctx.originalMethod)) rejectForged(ctx, trusted)
    return next()
  }

  return Object.assign(csrf, { needsSession: true })
}

function rejectForged(ctx: Context, trusted: readonly string[]): void {
  // Another site cannot make a browser send this header, and without a session the request has no rights to
  // misuse.
  if (hasBearerToken(ctx) && !hasSessionCookie(ctx)) return
  const origin = ctx.get('Origin')
  if (isFromAnotherSite(ctx, trusted)) throw new CrossSiteRequest(origin, ownOrigin(ctx))
  if (hasValidToken(ctx)) return
  const isSameSite = ctx.get('Sec-Fetch-Site').toLowerCase() === 'same-site'
  if (isPlainPost(ctx) || (isSameSite && !trusted.includes(origin))) throw new InvalidToken()
}

function hasSessionCookie(ctx: Context): boolean {
  const { sessionCookie } = ctx
  return sessionCookie !== undefined && cookiesOf(ctx).get(sessionCookie, { signed: false }) !== undefined
}

function hasValidToken(ctx: Context): boolean {
  const field = hasForm(ctx)
    ? lastValue(Reflect.get(Object(ctx.request.body), 'authenticity_token'))
    : undefined
  return [ctx.get('X-CSRF-Token'), field].some((token) => isTokenOf(ctx.session, token))
}
