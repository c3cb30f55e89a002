import type Koa from 'koa'

type Cookies = Koa.Context['cookies']

/**
 * Koa's own `cookies` of a request, for reads by the framework. Our `ctx.cookies` replaces it for the
 * application: a read there keeps the response out of shared caches. Code that reads here decides that by
 * itself (`markPrivate`).
 */
export function cookiesOf(ctx: object): Cookies {
  // `app.context` has our getter, and its prototype is the context of Koa with the original one.
  const { context }: Koa = Reflect.get(ctx, 'app')
  return Reflect.get(Object.getPrototypeOf(context), 'cookies', ctx)
}
