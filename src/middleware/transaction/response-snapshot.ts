import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { HeaderListResponse } from '../../server/header-list.js'
import type { Context } from '../../context.js'

/** The private fields of Koa's response that a handler may change. */
interface ResponseFields {
  _body: unknown
  _explicitStatus: unknown
  _explicitNullBody: unknown
}

/**
 * Takes a snapshot of a response: status, headers, body and `ctx.state`.
 *
 * @returns a function that restores it before the handler is retried
 */
export function snapshotResponse(ctx: Context): () => void {
  const { res, response } = ctx
  const { statusCode, statusMessage } = res
  const restoreHeaders = snapshotHeaders(res)
  const { _body, _explicitStatus, _explicitNullBody } = response as unknown as ResponseFields
  const state = { ...ctx.state }

  return function restoreResponse() {
    // Nothing reads the discarded body, so its file or connection must be closed here.
    if (response.body instanceof Readable) response.body.destroy()
    restoreHeaders()
    Object.assign(res, { statusCode, statusMessage })
    Object.assign(response, { _body, _explicitStatus, _explicitNullBody })
    for (const name of Object.keys(ctx.state)) Reflect.deleteProperty(ctx.state, name)
    Object.assign(ctx.state, state)
  }
}

function snapshotHeaders(res: ServerResponse): () => void {
  if (res instanceof HeaderListResponse) return res.snapshotHeaders()
  const headers = res.getHeaders()
  return () => {
    for (const name of res.getHeaderNames()) res.removeHeader(name)
    for (const [name, value] of Object.entries(headers)) if (value !== undefined) res.setHeader(name, value)
  }
}
