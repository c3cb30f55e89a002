import Koa from 'koa'
import { Readable } from 'node:stream'
import { rejectBeforeBody } from '../common/before-body.js'
import type { Context } from '../context.js'
import { BadStatusMessage } from '../errors.js'

type Run = (ctx: Context) => Promise<unknown>

/** Koa's method that runs the middleware of a request and sends the response. Its types do not declare it. */
type Handle = (this: Koa, ctx: Context, run: Run) => Promise<unknown>

const handleRequest = Reflect.get(Koa.prototype, 'handleRequest') as Handle

/** A Koa application whose requests and responses differ in what this file describes. */
export function createKoa(): Koa {
  const koa = new Koa()
  guardBody(koa.request)
  extendSetter(koa.response, 'body', prepareBody)
  extendSetter(koa.response, 'message', checkStatusMessage)
  sendText(koa)
  return koa
}

/** The property with the body that has been read. */
const read = Symbol('resource-kit:body')

/** Lets `ctx.request.body` throw in middleware with `beforeBody`, instead of being undefined. */
function guardBody(request: Koa['request']): void {
  const members: { body?: unknown } & ThisType<Koa.Request & { [read]?: unknown }> = {
    get body() {
      if (this[read] === undefined) rejectBeforeBody(this.ctx, 'ctx.request.body')
      return this[read]
    },
    set body(body) {
      this[read] = body
    },
  }
  Object.defineProperties(request, Object.getOwnPropertyDescriptors(members))
}

/** Sets a property of Koa's response to what a function returns for the value, unless the function throws. */
function extendSetter(response: Koa['response'], name: string, prepare: (value: unknown) => unknown): void {
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), name)
  Object.defineProperty(response, name, {
    ...property,
    set(this: unknown, value: unknown) {
      property?.set?.call(this, prepare(value))
    },
  })
}

/**
 * Adds a listener to a stream that becomes a body: without one, a failure while its handler is running would
 * end the process. Returns bytes as a buffer, because Koa would send other arrays of bytes as JSON.
 */
function prepareBody(body: unknown): unknown {
  if (body instanceof Readable) body.on('error', () => {})
  if (body instanceof ArrayBuffer) return Buffer.from(body)
  if (!ArrayBuffer.isView(body) || Buffer.isBuffer(body)) return body
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength)
}

/**
 * Rejects a status message with characters that a status line cannot contain. Node would do so when the
 * response is sent, too late for an error response of the application.
 *
 * @throws BadStatusMessage
 */
function checkStatusMessage(message: unknown): unknown {
  const text = String(message)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) throw new BadStatusMessage(text)
  return message
}

/**
 * Replaces Koa's `handleRequest` for bodies that are strings or buffers: Koa watches each response for errors
 * of its connection, which only a stream needs, and which takes 7 % of the CPU time of a show. All other
 * responses are sent by Koa.
 */
function sendText(koa: Koa): void {
  const handle: Handle = (ctx, run) => {
    // As in Koa, 404 is the status until the middleware sets another one.
    ctx.res.statusCode = 404
    return run(ctx)
      .then(() => (hasText(ctx) ? ctx.res.end(ctx.body) : sendByKoa(koa, ctx)))
      .catch((error: unknown) => ctx.onerror(error as Error))
  }
  Object.defineProperty(koa, 'handleRequest', { value: handle })
}

function hasText(ctx: Context): boolean {
  if (typeof ctx.body !== 'string' && !Buffer.isBuffer(ctx.body)) return false
  return ctx.method !== 'HEAD' && !isEmpty(ctx.status) && ctx.respond !== false && ctx.writable
}

/** Whether responses with this status have no body. */
function isEmpty(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function sendByKoa(koa: Koa, ctx: Context): Promise<unknown> {
  const { res } = ctx
  const { statusCode } = res
  return handleRequest.call(koa, ctx, async () => {
    // The middleware has run. Koa has set the status to 404 again before it calls this function.
    res.statusCode = statusCode
  })
}
