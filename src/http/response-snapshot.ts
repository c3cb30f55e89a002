import { Readable } from 'node:stream'
import type { Context } from '../context.js'

/** What a request's handler may have changed of its answer beside the headers; Koa keeps it in fields of its own. */
const fields = ['_body', '_explicitStatus', '_explicitNullBody'] as const

/**
 * Notes the answer of a request as it is now: status, headers, body and `ctx.state`.
 *
 * @returns what makes it so again, so that a handler can begin anew
 */
export function rememberAnswer(ctx: Context): () => void {
  const { res, response } = ctx
  const { statusCode, statusMessage } = res
  const headers = res.getHeaders()
  const koas = fields.map((field) => [field, Reflect.get(response, field)] as const)
  const state = { ...ctx.state }

  return function restoreAnswer() {
    // Nobody will read it.
    if (response.body instanceof Readable) response.body.destroy()
    for (const name of res.getHeaderNames()) res.removeHeader(name)
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value)
    Object.assign(res, { statusCode, statusMessage })
    for (const [field, value] of koas) Reflect.set(response, field, value)
    for (const name of Object.keys(ctx.state)) Reflect.deleteProperty(ctx.state, name)
    Object.assign(ctx.state, state)
  }
}
