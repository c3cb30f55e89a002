import { hasStatus } from '../common/has-status.js'
import type { Context, Handler, Middleware } from '../context.js'
import { isPlainObject } from './path.js'

/**
 * Converts a handler to middleware, the last one of its route. If the handler returns an Error, the middleware throws it. If
 * the handler ends without a response, the middleware throws an error that names it.
 */
export function toMiddleware(handler: Handler, handlerName: string): Middleware {
  return async function handle(ctx) {
    const result = await handler(ctx)
    if (result instanceof Error) throw result
    if (!hasResponse(ctx))
      throw new Error(
        `${handlerName} ended without a response. Call ctx.respond or ctx.seeOther, or set ctx.body.`,
      )
    ctx.rejectData()
    if (Array.isArray(ctx.body) || isPlainObject(ctx.body)) writeJson(ctx, ctx.body)
  }
}

/** Serializes an object before the commit, so that a value that JSON cannot represent is an ordinary error. Koa serializes later. */
function writeJson(ctx: Context, body: object): void {
  const json = JSON.stringify(body)
  if (!ctx.response.get('Content-Type')) ctx.type = 'json'
  ctx.body = json
}

function hasResponse(ctx: Context): boolean {
  // `ctx.respond = false` leaves the response to the handler.
  return hasStatus(ctx) || ctx.body != null || ctx.res.headersSent || Object.hasOwn(ctx, 'respond')
}
