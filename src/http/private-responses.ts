import type Koa from 'koa'
import { cookiesOf } from '../common/cookies.js'
import { PerRequest } from '../common/per-request.js'

const dependsOnVisitor = new PerRequest<true>()
const containsSecret = new PerRequest<true>()

/** Marks the response to a request as dependent on the cookies of its visitor. */
export function markPrivate(ctx: Pick<Koa.Context, 'method' | 'vary'>): void {
  dependsOnVisitor.set(ctx, true)
  // Caches store no other responses.
  if (ctx.method === 'GET' || ctx.method === 'HEAD') ctx.vary('Cookie')
}

/** The cookies of a request for the application. Reading one makes the response the visitor's. */
export function visitorCookies(ctx: Pick<Koa.Context, 'method' | 'vary'>): Koa.Context['cookies'] {
  return new Proxy(cookiesOf(ctx), {
    get(cookies, name) {
      if (name === 'get') markPrivate(ctx)
      return Reflect.get(cookies, name)
    },
  })
}

/** Marks the response to a request as containing a secret of its visitor, such as the token of a form. */
export function markSecret(ctx: object): void {
  containsSecret.set(ctx, true)
}

/**
 * Keeps a response that depends on its visitor, or that sets a cookie, out of shared caches. The browser may
 * cache it, but revalidates it before it shows it again. A handler may choose another `Cache-Control`, if the
 * response has no secret.
 */
export function preventSharedCaching(ctx: Pick<Koa.Context, 'res'>): void {
  const { res } = ctx
  if (res.headersSent) return
  const chosen = res.getHeader('Cache-Control')
  const isPersonal = dependsOnVisitor.has(ctx) || containsSecret.has(ctx) || res.hasHeader('Set-Cookie')
  const isSettled = containsSecret.has(ctx) ? /private|no-store/i.test(String(chosen)) : chosen !== undefined
  if (isPersonal && !isSettled) res.setHeader('Cache-Control', 'private, no-cache')
}
