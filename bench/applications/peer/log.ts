import { randomUUID } from 'node:crypto'
import type { Context, Next } from 'koa'
import { pino } from 'pino'

const secrets = ['password', 'secret', 'token', 'authorization', 'credit_card', 'cvc']

/** The log of the peer, without the values of secret parameters. */
export const logger = pino({
  level: process.env['LOG_LEVEL'] ?? 'info',
  redact: ['params', 'query', 'body'].flatMap((group) => secrets.map((name) => `${group}.${name}`)),
})

/** Gives each request its id, and a line in the log when it has been answered: with what it asked for. */
export async function log(ctx: Context, next: Next): Promise<void> {
  const started = performance.now()
  const given = ctx.get('X-Request-Id')
  const id = /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
  ctx.state['requestId'] = id
  ctx.set('X-Request-Id', id)
  ctx.res.once('close', () => {
    const { method, path, query } = ctx
    const ms = Math.round((performance.now() - started) * 10) / 10
    const { body } = ctx.request as { body?: unknown }
    logger.info({ request_id: id, method, path, status: ctx.status, ms, params: ctx['params'], query, body })
  })
  await next()
}
