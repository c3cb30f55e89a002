import { once } from 'node:events'
import { Readable } from 'node:stream'
import type { Context, Middleware } from '../context.js'
import { explainDatabaseError } from '../database/database-errors.js'
import { HttpError } from '../errors.js'
import { respondWithError, type ErrorPages } from '../http/errors/error-response.js'
import { statusOf } from '../http/errors/problem.js'

/** Responds to every error, and adds a body to a response that has a status of 400 or above but none. */
export function errorHandler(pages: ErrorPages): Middleware {
  return async function errorHandler(ctx, next) {
    try {
      await next()
      if (ctx.body instanceof Readable) await waitForData(ctx, ctx.body)
      if (ctx.status >= 400 && ctx.body == null && !ctx.res.headersSent)
        throw new HttpError(ctx.status, ctx.message)
    } catch (error) {
      const explained = explainDatabaseError(error)
      if (statusOf(explained) >= 500) ctx.log.error({ err: error }, 'the request failed')
      // A response that has begun must not look complete, so that the client notices the error.
      if (ctx.res.headersSent) return void ctx.res.destroy()
      respondWithError(ctx, explained, pages)
    }
    // A client that still sends its body reads the response only afterwards, so the rest of the body is read
    // and discarded.
    if (!ctx.req.complete) ctx.req.unpipe().resume()
  }
}

/**
 * Waits until a stream has data or has ended, so that a failure before that becomes an ordinary error
 * response. This delays nothing: Node sends no headers before the first part of a body. After they have been
 * sent, an error response is not possible.
 *
 * @throws the error of the stream
 */
async function waitForData({ method, res }: Context, body: Readable): Promise<void> {
  if (method === 'HEAD' || res.headersSent) return
  if (body.errored) throw body.errored
  if (body.destroyed || body.readableLength > 0) return
  const waiting = new AbortController()
  // `once` also rejects with the `error` event of the stream.
  const events = ['readable', 'end', 'close'].map((name) => once(body, name, { signal: waiting.signal }))
  await Promise.race(events).finally(() => waiting.abort())
}
