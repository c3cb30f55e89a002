import type Koa from 'koa'

type Cookies = Koa.Context['cookies']

/**
 * Koa's cookies of a request, for our own reads, which decide themselves whether the response depends on its visitor. The
 * member `cookies` of the context keeps every response out of shared caches for which the application reads a cookie.
 */
export function cookiesOf(ctx: object): Cookies {
  const { context }: Koa = Reflect.get(ctx, 'app')
  return Reflect.get(Object.getPrototypeOf(context), 'cookies', ctx)
}
