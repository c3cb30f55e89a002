import type { Context, Handler, Middleware } from '../context.js'
import { HttpError } from '../errors.js'

/**
 * Calls a handler as the last of a route's middleware: an Error that it returns counts as thrown, and a handler that
 * ends without having answered is an error too.
 */
export function toMiddleware(handler: Handler, handlerName: string): Middleware {
  return async function handle(ctx) {
    const result = await handler(ctx)
    if (result instanceof Error) throw result
    if (!hasAnswered(ctx)) throw new HttpError(500, `${handlerName} ended without an answer`)
  }
}

function hasAnswered(ctx: Context): boolean {
  // Koa keeps whether a status was set in a field of its own; 404 is also its default.
  const hasStatus = Reflect.get(ctx.response, '_explicitStatus') === true
  return hasStatus || ctx.body != null || ctx.res.headersSent || Object.hasOwn(ctx, 'respond')
}
