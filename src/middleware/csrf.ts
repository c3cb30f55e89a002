import type { Next } from 'koa'
import type { Context, Middleware } from '../context.js'
import { CrossSiteRequest, InvalidToken } from '../errors.js'
import { hasForm } from '../http/body.js'
import { checkedOrigin, hasBearerToken, isFromAnotherSite, isPlainPost } from '../http/cross-site.js'
import { lastValue } from '../http/form-fields.js'
import { isTokenOf } from '../sessions/csrf-token.js'
import { READING } from '../http/methods.js'
import { ownOrigin } from '../http/own-site.js'
import { allowToken, isTokenShown } from '../sessions/request-token.js'

/** Whom `csrf()` trusts. */
export interface CsrfOptions {
  /** Other origins whose pages may send requests as our own pages do: `['https://admin.example.com']`. */
  trustedOrigins?: readonly string[]
}

/**
 * Refuses requests that another site makes a visitor's browser send (cross-site request forgery). The forms of
 * `formFor` and `deleteButton` carry a token of the session, `ctx.csrfToken`; scripts may send it as `X-CSRF-Token`.
 *
 * Requests that change something are checked in this order:
 *
 * 1. with `Authorization: Bearer` and no session cookie: passed, because a browser sends neither by itself
 * 2. from another site, as `Sec-Fetch-Site` or `Origin` says: refused, token or not
 * 3. with a valid token: passed
 * 4. from another host of the same site, or a POST that a plain form can send (a form, text, or no body): refused
 * 5. the rest is passed: browsers ask for permission before they send JSON, XML, PUT or DELETE to another site
 *
 * A page that shows a token is kept out of shared caches.
 *
 * @example
 * app.post('/callbacks/payment', payment) // declared above it: sent by the payment provider, and checked in its own way
 * app.use(csrf())
 * app.use(csrf({ trustedOrigins: ['https://admin.example.com'] }))
 * @throws DeclarationError when a trusted origin is none; at the start, when the application has no sessions
 * @throws CrossSiteRequest (403), InvalidToken (403)
 */
export function csrf({ trustedOrigins = [] }: CsrfOptions = {}): Middleware {
  const trusted = trustedOrigins.map((one) => checkedOrigin(one, 'csrf()'))

  async function csrf(ctx: Context, next: Next): Promise<void> {
    allowToken(ctx)
    if (!READING.includes(ctx.originalMethod)) refuseForged(ctx, trusted)
    await next()
    if (isTokenShown(ctx)) keepPrivate(ctx)
  }

  return Object.assign(csrf, { needsSession: true })
}

function refuseForged(ctx: Context, trusted: readonly string[]): void {
  // A page of another site cannot make a browser send such a request, nor would the session count.
  if (hasBearerToken(ctx) && !hasSessionCookie(ctx)) return
  const origin = ctx.get('Origin')
  if (isFromAnotherSite(ctx, trusted)) throw new CrossSiteRequest(origin, ownOrigin(ctx))
  if (hasToken(ctx)) return
  const isSameSite = ctx.get('Sec-Fetch-Site').toLowerCase() === 'same-site'
  if (isPlainPost(ctx) || (isSameSite && !trusted.includes(origin))) throw new InvalidToken()
}

function hasSessionCookie(ctx: Context): boolean {
  // koa-session's own member: the application has sessions.
  const { key } = Reflect.get(ctx, 'sessionOptions') as { key: string }
  return ctx.cookies.get(key, { signed: false }) !== undefined
}

function hasToken(ctx: Context): boolean {
  const field = hasForm(ctx)
    ? lastValue(Reflect.get(Object(ctx.request.body), 'authenticity_token'))
    : undefined
  return [ctx.get('X-CSRF-Token'), field].some((token) => isTokenOf(ctx.session, token))
}

/** A page with a token is one visitor's own. The browser may keep it for its back button, but asks before it shows it anew. */
function keepPrivate(ctx: Context): void {
  if (ctx.headerSent || /private|no-store/i.test(String(ctx.response.get('Cache-Control')))) return
  ctx.set('Cache-Control', 'private, no-cache')
}
