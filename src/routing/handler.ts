import { hasStatus } from '../common/has-status.js'
import { isPlainObject } from '../common/plain-object.js'
import type { Context, Handler, Middleware } from '../context.js'

/** Converts a handler to the last middleware of its route. Throws a returned Error, and an Error without a response. */
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

/** Serializes an object now, because Koa does so after the commit, when an error could not undo the request. */
function writeJson(ctx: Context, body: object): void {
  const json = JSON.stringify(body)
  if (!ctx.response.get('Content-Type')) ctx.type = 'json'
  ctx.body = json
}

function hasResponse(ctx: Context): boolean {
  // `ctx.respond = false` leaves the response to the handler.
  return hasStatus(ctx) || ctx.body != null || ctx.res.headersSent || Object.hasOwn(ctx, 'respond')
}
