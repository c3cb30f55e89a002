import type { Context, Handler, Middleware } from '../context.js'
import { isPlainObject } from './path.js'

/**
 * Calls a handler as the last of a route's middleware. A returned Error is treated as thrown, and a handler that ends
 * without a response is an error, too.
 */
export function toMiddleware(handler: Handler, handlerName: string): Middleware {
  return async function handle(ctx) {
    const result = await handler(ctx)
    if (result instanceof Error) throw result
    if (!hasAnswered(ctx))
      throw new Error(
        `${handlerName} ended without a response. Call ctx.respond or ctx.seeOther, or set ctx.body.`,
      )
    if (Array.isArray(ctx.body) || isPlainObject(ctx.body)) writeJson(ctx, ctx.body)
  }
}

/** Koa would serialize an object after the commit. Serialized here, an object that JSON cannot represent is an ordinary error. */
function writeJson(ctx: Context, body: object): void {
  const json = JSON.stringify(body)
  if (!ctx.response.get('Content-Type')) ctx.type = 'json'
  ctx.body = json
}

function hasAnswered(ctx: Context): boolean {
  // 404 is Koa's default status. A private field tells whether a status was set.
  const hasStatus = Reflect.get(ctx.response, '_explicitStatus') === true
  return hasStatus || ctx.body != null || ctx.res.headersSent || Object.hasOwn(ctx, 'respond')
}
