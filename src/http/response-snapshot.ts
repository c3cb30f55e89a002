import { Readable } from 'node:stream'
import type { Context } from '../context.js'

/** The fields of Koa's response, besides the headers, that a handler may change. */
const fields = ['_body', '_explicitStatus', '_explicitNullBody'] as const

/**
 * Takes a snapshot of a response: status, headers, body and `ctx.state`.
 *
 * @returns a function that restores it before the handler is retried
 */
export function snapshotResponse(ctx: Context): () => void {
  const { res, response } = ctx
  const { statusCode, statusMessage } = res
  const headers = res.getHeaders()
  const values = fields.map((field) => [field, Reflect.get(response, field)] as const)
  const state = { ...ctx.state }

  return function restoreResponse() {
    // Nothing reads the discarded body, so its file or connection must be closed here.
    if (response.body instanceof Readable) response.body.destroy()
    for (const name of res.getHeaderNames()) res.removeHeader(name)
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value)
    Object.assign(res, { statusCode, statusMessage })
    for (const [field, value] of values) Reflect.set(response, field, value)
    for (const name of Object.keys(ctx.state)) Reflect.deleteProperty(ctx.state, name)
    Object.assign(ctx.state, state)
  }
}
