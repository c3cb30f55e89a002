/**
 * The `src/main.ts` of an application that serves orders, with sessions, from the database of `DATABASE_URL`. `SESSIONS`
 * names their store: in the database unless it is `redis`. `LIMITS` adds `/limited`, and names the store of its rate limit.
 */
import 'reflect-metadata'
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createClient } from 'redis'
import { databaseLimits, rateLimit, redisLimits, type LimitStore } from '../../../src/auth/index.js'
import { App, Database, databaseSessions, redisSessions, transaction } from '../../../src/index.js'
import { config, OrdersResource } from './orders.js'
import { redisUrl } from '../servers/redis.js'

const database = new Database(config(''), 'test')
const sessionStore =
  process.env['SESSIONS'] === 'redis'
    ? redisSessions(createClient({ url: redisUrl }), { prefix: `kit_spec_${process.ppid}:` })
    : databaseSessions(database)
const app = new App({ sessionStore, drainTimeout: 10_000 })
app.get('/pid', (ctx) => void (ctx.body = { pid: process.pid }))
app.get('/slow', async (ctx) => {
  app.logger.info('slow')
  await setTimeout(Number(ctx.query['ms'] ?? 300))
  ctx.body = 'slow'
})
app.get('/basket', (ctx) => void (ctx.body = { ...ctx.session, pid: process.pid }))
app.put('/basket', (ctx) => {
  Object.assign(ctx.session, ctx.request.body)
  ctx.body = { pid: process.pid }
})
app.delete('/basket', (ctx) => {
  ctx.session = null
  ctx.status = 204
})
app.get('/busy', (ctx) => {
  // Blocks the process until the spec removes the file. A log line would not leave the process before.
  const file = String(ctx.query['file'])
  const never = new Int32Array(new SharedArrayBuffer(4))
  const end = Date.now() + 30_000
  writeFileSync(file, '')
  while (existsSync(file) && Date.now() < end) Atomics.wait(never, 0, 0, 5)
  ctx.body = 'busy'
})
const redis = { prefix: `kit_spec_limit_${process.ppid}:` }
const limits: Record<string, () => LimitStore | undefined> = {
  memory: () => undefined,
  database: () => databaseLimits(database),
  redis: () => redisLimits(createClient({ url: redisUrl }), redis),
}
const place = process.env['LIMITS']
if (place !== undefined) {
  const store = limits[place]?.()
  const limited = app.group('/limited')
  limited.use(rateLimit({ name: 'limited', to: 10, within: '1 hour', ...(store && { store }) }))
  limited.get('/', (ctx) => void (ctx.body = { pid: process.pid }))
}
app.use(transaction(database))
app.resource(OrdersResource)
await app.listen()
