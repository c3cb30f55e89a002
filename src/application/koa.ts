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
  extendSetter(koa.response, 'body', tolerateErrors)
  extendSetter(koa.response, 'message', checkStatusMessage)
  setSingleHeaders(koa.response)
  sendText(koa)
  return koa
}

const read = Symbol('resource-kit:body')

/** Lets `ctx.request.body` throw an error before the body is read, instead of being undefined. */
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

/** Calls a function with each value that a property of Koa's response is set to. */
function extendSetter(response: Koa['response'], name: string, check: (value: unknown) => void): void {
  const property = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), name)
  Object.defineProperty(response, name, {
    ...property,
    set(this: unknown, value: unknown) {
      check(value)
      property?.set?.call(this, value)
    },
  })
}

/** Lets a stream that becomes a body fail while its handler is running: without a listener, that would end the process. */
function tolerateErrors(body: unknown): void {
  if (body instanceof Readable) body.on('error', () => {})
}

/**
 * Lets `ctx.message` reject what a status line cannot contain, where it is set. Node rejects it when the response is sent, too
 * late for an error response of the application.
 */
function checkStatusMessage(message: unknown): void {
  const text = String(message)
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(text)) throw new BadStatusMessage(text)
}

/**
 * Lets a Koa application send text and buffers itself. Koa watches each response for errors of its connection, which a
 * response without a stream does not need. Any other response is sent by Koa.
 */
function sendText(koa: Koa): void {
  const handle: Handle = (ctx, run) => {
    ctx.res.statusCode = 404
    return run(ctx)
      .then(() => (hasText(ctx) ? ctx.res.end(ctx.body) : sendByKoa(koa, ctx)))
      .catch((error: unknown) => ctx.onerror(error as Error))
  }
  Object.defineProperty(koa, 'handleRequest', { value: handle })
}

/** Lets `ctx.set` store a header with a single value at once. Koa creates several lists for each header. */
function setSingleHeaders(response: Koa['response']): void {
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
