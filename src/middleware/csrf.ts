import type { Next } from 'koa'
import type { Context, Middleware } from '../context.js'
import { CrossSiteRequest, DeclarationError, InvalidToken } from '../errors.js'
import { hasDocument, hasForm } from '../http/body.js'
import { isTokenOf } from '../http/csrf-token.js'
import { READING } from '../http/methods.js'
import { ownOrigin } from '../http/own-site.js'
import { allowToken, isTokenShown } from '../http/request-token.js'

/** Whom `csrf()` trusts. */
export interface CsrfOptions {
  /** Other origins whose pages may send requests as our own pages do: `['https://admin.example.com']`. */
  trustedOrigins?: readonly string[]
}

/**
 * Refuses requests that another site makes a visitor's browser send (cross-site request forgery). The forms of
 * `formFor` and `deleteButton` carry a token of the session, `ctx.csrfToken`; scripts may send it as `X-CSRF-Token`.
 *
 * Requests that change something are looked at in this order:
 *
 * 1. from another site, as `Sec-Fetch-Site` or `Origin` says: refused, token or not
 * 2. with a valid token: passed
 * 3. from another host of the same site, or a POST that a plain form can send (a form, text, or no body): refused
 * 4. the rest is passed: browsers ask for permission before they send JSON, XML, PUT or DELETE to another site
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
  const trusted = trustedOrigins.map(checkedOrigin)

  async function csrf(ctx: Context, next: Next): Promise<void> {
    allowToken(ctx)
    if (!READING.includes(ctx.originalMethod)) refuseForged(ctx, trusted)
    await next()
    if (isTokenShown(ctx)) keepPrivate(ctx)
  }

  return Object.assign(csrf, { needsSession: true })
}

function refuseForged(ctx: Context, trusted: readonly string[]): void {
  const [origin, site] = [ctx.get('Origin'), ctx.get('Sec-Fetch-Site').toLowerCase()]
  const isTrusted = trusted.includes(origin)
  const isForeign = origin !== '' && origin !== ownOrigin(ctx)
  if (!isTrusted && (isForeign || site === 'cross-site')) throw new CrossSiteRequest(origin, ownOrigin(ctx))
  if (hasToken(ctx)) return
  if (!isTrusted && site === 'same-site') throw new InvalidToken()
  // The method is the one that was sent: a form's `_method` has taken its place in ctx.method.
  if (ctx.originalMethod === 'POST' && !hasDocument(ctx)) throw new InvalidToken()
}

function hasToken(ctx: Context): boolean {
  const field: unknown = hasForm(ctx)
    ? Reflect.get(Object(ctx.request.body), 'authenticity_token')
    : undefined
  return [ctx.get('X-CSRF-Token'), field].some((token) => isTokenOf(ctx.session, token))
}

function checkedOrigin(text: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  if (origin === 'null' || text.toLowerCase().replace(/\/$/, '') !== origin) {
    throw new DeclarationError(
      `csrf() takes origins, not ${JSON.stringify(text)}. Write it like "https://example.com".`,
    )
  }
  return origin
}

/** A page with a token is one visitor's own. The browser may keep it for its back button, but asks before it shows it anew. */
function keepPrivate(ctx: Context): void {
  if (ctx.headerSent || /private|no-store/i.test(String(ctx.response.get('Cache-Control')))) return
  ctx.set('Cache-Control', 'private, no-cache')
}
