import { hasStatus } from '../common/has-status.js'
import { isPlainObject } from '../common/plain-object.js'
import type { Context, Handler, Middleware } from '../context.js'

/** Converts a handler to a middleware, the last one of its route. It throws a returned Error. */
export function toMiddleware(handler: Handler, handlerName: string): Middleware {
  return async function handle(ctx) {
    const result = await handler(ctx)
    if (result instanceof Error) throw result
    if (!hasResponse(ctx))
      throw new Error(
        `${handlerName} ended without a response. Call ctx.respond or ctx.seeOther, or set ctx.body.`,
      )
    // Throws recorded errors, which an HTML page would show, if the handler has responded with data instead.
    ctx.rejectData()
    if (Array.isArray(ctx.body) || isPlainObject(ctx.body)) writeJson(ctx, ctx.body)
  }
}

/** Serializes an object now. After the commit, as in Koa, an error could no longer roll back. */
function writeJson(ctx: Context, body: object): void {
  const json = JSON.stringify(body)
  if (!ctx.response.get('Content-Type')) ctx.type = 'json'
  ctx.body = json
}

function hasResponse(ctx: Context): boolean {
  // After `ctx.respond = false`, the context has its own property, and the handler writes to `ctx.res`.
  return hasStatus(ctx) || ctx.body != null || ctx.res.headersSent || Object.hasOwn(ctx, 'respond')
}
