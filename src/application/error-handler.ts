import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { Context, Middleware } from '../context.js'
import { explainDatabaseError } from '../data/database-errors.js'
import { HttpError } from '../errors.js'
import { respondWithError, type ErrorPages } from '../http/errors/error-response.js'
import { statusOf } from '../http/errors/problem.js'

/** Turns every error into a response, and also a status of 400 and above without a body. */
export function errorHandler(pages: ErrorPages): Middleware {
  return async function errorHandler(ctx, next) {
    try {
      await next()
      if (ctx.body instanceof Readable) await opened(ctx, ctx.body)
      if (ctx.status >= 400 && ctx.body == null && !ctx.res.headersSent)
        throw new HttpError(ctx.status, ctx.message)
    } catch (error) {
      const explained = explainDatabaseError(error)
      if (statusOf(explained) >= 500) ctx.log.error({ err: error }, 'the request failed')
      // A response that has begun must not look complete, so that the client notices the error.
      if (ctx.res.headersSent) return void ctx.res.destroy()
      respondWithError(ctx, explained, pages)
    }
    // The rest of a rejected body is read and discarded, or the client would never see the response.
    if (!ctx.req.complete) ctx.req.unpipe().resume()
  }
}

/**
 * Waits until a stream has data, so that a stream that fails before becomes an ordinary error response. Node does not
 * send headers before the first part of a body either. If they have been sent, it is too late for an error response.
 *
 * @throws the error of the stream
 */
async function opened({ method, res }: Context, body: Readable): Promise<void> {
  if (method === 'HEAD' || res.headersSent) return
  if (body.errored) throw body.errored
  if (body.destroyed || body.readableLength > 0) return
  const waiting = new AbortController()
  const signs = ['readable', 'end', 'close'].map((sign) => once(body, sign, { signal: waiting.signal }))
  await Promise.race(signs).finally(() => waiting.abort())
}
