import type Koa from 'koa'
import { PerRequest } from '../common/per-request.js'

const personal = new PerRequest<true>()

/** Notes that the response to a request depends on the cookies of its visitor. */
export function markPrivate(ctx: Pick<Koa.Context, 'method' | 'vary'>): void {
  personal.set(ctx, true)
  if (ctx.method === 'GET' || ctx.method === 'HEAD') ctx.vary('Cookie')
}

/**
 * Keeps a response that depends on its visitor, or that sets a cookie, out of shared caches, unless its handler has
 * chosen a `Cache-Control` itself. The browser may cache it, but revalidates it before it shows it again.
 */
export function preventSharedCaching(ctx: Pick<Koa.Context, 'res'>): void {
  const { res } = ctx
  if (res.headersSent || res.hasHeader('Cache-Control')) return
  if (personal.has(ctx) || res.hasHeader('Set-Cookie')) res.setHeader('Cache-Control', 'private, no-cache')
}
