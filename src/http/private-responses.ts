import type Koa from 'koa'
import { cookiesOf } from '../common/cookies.js'
import { PerRequest } from '../common/per-request.js'

const personal = new PerRequest<true>()
const secret = new PerRequest<true>()

/** Notes that the response to a request depends on the cookies of its visitor. */
export function markPrivate(ctx: Pick<Koa.Context, 'method' | 'vary'>): void {
  personal.set(ctx, true)
  if (ctx.method === 'GET' || ctx.method === 'HEAD') ctx.vary('Cookie')
}

/** The cookies of a request for the application: a response for which it reads one depends on the visitor. */
export function visitorCookies(ctx: Pick<Koa.Context, 'method' | 'vary'>): Koa.Context['cookies'] {
  return new Proxy(cookiesOf(ctx), {
    get(cookies, name) {
      if (name === 'get') markPrivate(ctx)
      return Reflect.get(cookies, name)
    },
  })
}

/** Notes that the response to a request contains a secret of its visitor, such as the token of a form. */
export function markSecret(ctx: object): void {
  secret.set(ctx, true)
}

/**
 * Keeps a response that depends on its visitor, or that sets a cookie, out of shared caches. The browser may cache it, but
 * revalidates it before it shows it again. A handler may choose another `Cache-Control`, if the response has no secret.
 */
export function preventSharedCaching(ctx: Pick<Koa.Context, 'res'>): void {
  const { res } = ctx
  if (res.headersSent) return
  const chosen = res.getHeader('Cache-Control')
  const isPersonal = personal.has(ctx) || secret.has(ctx) || res.hasHeader('Set-Cookie')
  const isSettled = secret.has(ctx) ? /private|no-store/i.test(String(chosen)) : chosen !== undefined
  if (isPersonal && !isSettled) res.setHeader('Cache-Control', 'private, no-cache')
}
