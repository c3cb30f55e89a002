import Koa from 'koa'
import type { Context } from '../context.js'

type Run = (ctx: Context) => Promise<unknown>

/** Koa's method that runs the middleware of a request and sends the response. Its types do not declare it. */
type Handle = (this: Koa, ctx: Context, run: Run) => Promise<unknown>

const handleRequest = Reflect.get(Koa.prototype, 'handleRequest') as Handle

/**
 * Lets a Koa application send text and buffers itself. Koa watches each response for errors of its connection, which a
 * response without a stream does not need. Any other response is sent by Koa.
 */
export function sendText(koa: Koa): void {
  const handle: Handle = (ctx, run) => {
    ctx.res.statusCode = 404
    return run(ctx)
      .then(() => (hasText(ctx) ? ctx.res.end(ctx.body) : sendByKoa(koa, ctx)))
      .catch((error: unknown) => ctx.onerror(error as Error))
  }
  Object.defineProperty(koa, 'handleRequest', { value: handle })
}

/** Lets `ctx.set` store a header with a single value at once. Koa creates several lists for each header. */
export function setSingleHeaders(response: Koa['response']): void {
  const koa: object = Object.getPrototypeOf(response)
  const set = Reflect.get(koa, 'set') as (this: Koa.Response, name: unknown, value: unknown) => void
  response.set = function (this: Koa.Response, name: unknown, value?: unknown) {
    const isSingle = typeof name === 'string' && name !== '' && typeof value === 'string'
    if (!isSingle) set.call(this, name, value)
    else if (!this.res.headersSent) this.res.setHeader(name, value)
  }
}

function hasText(ctx: Context): boolean {
  if (typeof ctx.body !== 'string' && !Buffer.isBuffer(ctx.body)) return false
  return ctx.method !== 'HEAD' && !isEmpty(ctx.status) && ctx.respond !== false && ctx.writable
}

/** Whether a status has no body. */
function isEmpty(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function sendByKoa(koa: Koa, ctx: Context): Promise<unknown> {
  const { res } = ctx
  const { statusCode } = res
  return handleRequest.call(koa, ctx, async () => {
    // Koa begins with the status 404.
    res.statusCode = statusCode
  })
}
