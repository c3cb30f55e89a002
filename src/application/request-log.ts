import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Context, Middleware } from '../context.js'
import { redactedPath } from '../logging/redacted-path.js'
import { isHealthCheck } from './health.js'
import { RequestQueries } from './request-queries.js'
import { setRequestLogger, writeLine } from '../logging/request-logger.js'

/** The read-only properties of a context that are set here. */
type Identified = { -readonly [Name in 'requestId' | 'originalMethod']: Context[Name] }

/**
 * Gives each request an id, a logger with that id, and a line in the log after the response. The id is that
 * of the request's `X-Request-Id` header, if this has 1 to 128 letters, digits, `-`, `_` and `.`. The line of
 * a health check has the level debug. The line lacks the query string, because it may contain secrets. Its
 * status is 499 if the connection was closed before the response. In development, it has the number and the
 * time of the database queries.
 */
export function requestLog(logger: Logger, isDevelopment = false): Middleware {
  return function requestLog(ctx, next) {
    const started = performance.now()
    const given = ctx.req.headers['x-request-id']
    const requestId = typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
    setRequestLogger(ctx, logger)
    const identified: Identified = ctx
    identified.requestId = requestId
    identified.originalMethod = ctx.method
    ctx.response.set('X-Request-Id', requestId)
    const queries = isDevelopment ? new RequestQueries(ctx) : undefined
    ctx.res.on('close', () => {
      const { method } = ctx
      const path = redactedPath(ctx)
      // Without a response, the status is only what the handler has set so far: 404 at first.
      const status = ctx.res.headersSent ? ctx.res.statusCode : 499
      const ms = Math.round((performance.now() - started) * 10) / 10
      const aborted = !ctx.res.writableFinished || undefined
      const fields = { request_id: requestId, method, path, status, ms, aborted }
      const message = `${method} ${path} ${status}${queries?.summary(ms, fields) ?? ''}`
      writeLine(ctx, isHealthCheck(ctx) ? 'debug' : 'info', fields, message)
      queries?.warn(`${method} ${path}`)
    })
    return queries ? queries.run(started, next) : next()
  }
}
