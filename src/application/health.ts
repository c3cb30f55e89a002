import type { Logger } from 'pino'
import type { Context, Middleware } from '../context.js'

/**
 * Responds to `GET /up` with 200, or with 503 unless `check` resolves to true.
 *
 * @param check resolves to false while the application is closing, and rejects if it cannot handle requests;
 *   the logger receives its error
 */
export function health(check: () => Promise<boolean>, logger: Logger): Middleware {
  async function respond(ctx: Context): Promise<void> {
    ctx.set('Cache-Control', 'no-store')
    const isUp = await check().catch((error: unknown) => logger.warn({ err: error }, 'not up'))
    ctx.status = isUp ? 200 : 503
    ctx.body = isUp ? 'up\n' : 'down\n'
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
