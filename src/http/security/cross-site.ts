import type { Context } from '../../context.js'
import { CrossSiteRequest, DeclarationError } from '../../errors.js'
import { declaredKindOf } from '../body/body-kind.js'
import { ownOrigin } from './own-site.js'

/**
 * Rejects a form that a page of another site makes a visitor's browser send, with the visitor's credentials.
 *
 * @param trusted the origins whose forms pass
 * @throws CrossSiteRequest (403)
 */
export function rejectCrossSiteForm(ctx: Context, trusted: readonly string[] = []): void {
  if (!isPlainPost(ctx) || !isFromAnotherSite(ctx, trusted)) return
  // Another site cannot make a browser send a bearer token, and without cookies there is nothing else to
  // misuse.
  if (hasBearerToken(ctx) && ctx.get('Cookie') === '') return
  throw new CrossSiteRequest(ctx.get('Origin'), ownOrigin(ctx))
}

/** Whether a page of another site sent a request, according to the browser. Trusted origins are our own. */
export function isFromAnotherSite(ctx: Context, trusted: readonly string[]): boolean {
  const origin = ctx.get('Origin')
  if (trusted.includes(origin)) return false
  return (
    (origin !== '' && origin !== ownOrigin(ctx)) || ctx.get('Sec-Fetch-Site').toLowerCase() === 'cross-site'
  )
}

/**
 * Whether a page may be able to send a request without a preflight: a POST, unless its type is JSON or XML.
 * Browsers are stricter. The method is the one that was sent, before `_method` overrides it.
 */
export function isPlainPost(ctx: Context): boolean {
  if (ctx.originalMethod !== 'POST') return false
  const kind = declaredKindOf(ctx)
  return kind !== 'json' && kind !== 'xml' && kind !== 'csv'
}

/** Whether a request has a bearer token. Browsers do not send it by themselves. */
export function hasBearerToken(ctx: Context): boolean {
  return /^Bearer +\S/i.test(ctx.get('Authorization'))
}

/**
 * Returns an origin as browsers write it.
 *
 * @param option the option that contains the origin, for messages: `The option cors`
 * @throws DeclarationError when the string is not an origin
 */
export function checkedOrigin(text: string, option: string): string {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null'
  // URL accepts `*` as a name. Browsers never send it, so nothing would match.
  const isOrigin = origin !== 'null' && !origin.includes('*')
  if (isOrigin && text.toLowerCase().replace(/\/$/, '') === origin) return origin
  throw new DeclarationError(
    `${option} expects origins like "https://example.com", not ${JSON.stringify(text)}.`,
  )
}
