import type { Middleware } from '../context.js'
import { explainDatabaseError } from '../data/database-errors.js'
import { HttpError } from '../errors.js'
import { answerError, type ErrorPages } from '../http/error-answer.js'
import { statusOf } from '../http/problem.js'

/** Makes an answer of every error, and of a status of 400 and above that came without a body. */
export function errorHandler(pages: ErrorPages): Middleware {
  return async function errorHandler(ctx, next) {
    try {
      await next()
      if (ctx.status >= 400 && ctx.body == null && !ctx.res.headersSent)
        throw new HttpError(ctx.status, ctx.message)
    } catch (error) {
      const explained = explainDatabaseError(error)
      if (statusOf(explained) >= 500) ctx.log.error({ err: error }, 'the request failed')
      answerError(ctx, explained, pages)
    }
    // What is left of a body that was refused is read and forgotten, or the client would never see the answer.
    if (!ctx.req.complete) ctx.req.unpipe().resume()
  }
}
