import type { Logger } from 'pino'
import type { Context, Middleware } from '../context.js'

/**
 * Responds to `GET /up` with 200, or with 503 if `check` rejects.
 *
 * @param check rejects if the application cannot handle requests; the logger receives its error
 */
export function health(check: () => Promise<void>, logger: Logger): Middleware {
  async function respond(ctx: Context): Promise<void> {
    ctx.set('Cache-Control', 'no-store')
    try {
      await check()
      ctx.body = 'up\n'
    } catch (error) {
      logger.warn({ err: error }, 'not up')
      ctx.status = 503
      ctx.body = 'down\n'
    }
  }

  return function health(ctx, next) {
    return isHealthCheck(ctx) ? respond(ctx) : next()
  }
}

/** Whether a request is the health check `GET /up`. */
export function isHealthCheck(ctx: Context): boolean {
  const { path, originalMethod } = ctx
  return (path === '/up' || path === '/up/') && (originalMethod === 'GET' || originalMethod === 'HEAD')
}
