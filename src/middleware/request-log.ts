import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Middleware } from '../context.js'

const header = 'X-Request-Id'

/**
 * Gives each request its id (the one that it brings, when that is 1 to 128 letters, digits, `-`, `_` and `.`), a logger
 * that carries it, and a line in the log when it has been answered. The query is left out: it may hold secrets.
 */
export function requestLog(logger: Logger): Middleware {
  return async function requestLog(ctx, next) {
    const started = performance.now()
    const given = ctx.get(header)
    const requestId = /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
    const log = logger.child({ request_id: requestId })
    Object.assign(ctx, { requestId, log, originalMethod: ctx.method })
    ctx.set(header, requestId)
    ctx.res.once('close', () => {
      const { method, path } = ctx
      const status = ctx.res.statusCode
      const ms = Math.round((performance.now() - started) * 10) / 10
      log.info({ method, path, status, ms }, `${method} ${path} ${status}`)
    })
    await next()
  }
}
