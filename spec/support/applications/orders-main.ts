/**
 * The `src/main.ts` of an application that serves orders, with sessions and a rate limit, from the database of `DATABASE_URL`.
 * With `REDIS_PREFIX`, they are in Redis, with this prefix. `LIMIT_IN_MEMORY` adds a limit without a store.
 */
import 'reflect-metadata'
import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { databaseLimits, rateLimit, redisLimits, type LimitStore } from '../../../src/auth/index.js'
import {
  App,
  Database,
  databaseSessions,
  redisSessions,
  transaction,
  type SessionStore,
} from '../../../src/index.js'
import { config, OrdersResource } from './orders.js'

const database = new Database(config(''), 'test')
const redisPrefix = process.env['REDIS_PREFIX']
const { sessionStore, limitStore } = redisPrefix ? await inRedis(redisPrefix) : inDatabase()
const app = new App({ sessionStore, drainTimeout: 10_000 })
app.get('/pid', (ctx) => void (ctx.body = { pid: process.pid }))
app.get('/slow', async (ctx) => {
  app.logger.info('slow')
  await setTimeout(Number(ctx.query['ms'] ?? 300))
  ctx.body = 'slow'
})
app.get('/pending', async (ctx) => {
  app.logger.info('pending')
  // Until the spec removes the file.
  while (existsSync(String(ctx.query['file']))) await setTimeout(5)
  ctx.body = 'pending'
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
const limited = app.group('/limited')
limited.use(rateLimit({ name: 'limited', to: 10, within: '1 hour', store: limitStore }))
limited.get('/', (ctx) => void (ctx.body = { pid: process.pid }))
if (process.env['LIMIT_IN_MEMORY']) {
  app.group('/limited-by-worker').use(rateLimit({ name: 'limited by worker', to: 10, within: '1 hour' }))
}
app.use(transaction(database))
app.resource(OrdersResource)
await app.listen()

interface Stores {
  sessionStore: SessionStore
  limitStore: LimitStore
}

function inDatabase(): Stores {
  return { sessionStore: databaseSessions(database), limitStore: databaseLimits(database) }
}

/** Most of the processes do not use Redis, whose package takes a fifth of the time of their start. */
async function inRedis(prefix: string): Promise<Stores> {
  const { createClient } = await import('redis')
  const { redisUrl } = await import('../servers/redis.js')
  const client = () => createClient({ url: redisUrl })
  // After the default of two seconds, which pass on a slow machine, a request would be served without being counted.
  const timeout = 60_000
  return {
    sessionStore: redisSessions(client(), { prefix: `${prefix}:session:`, timeout }),
    limitStore: redisLimits(client(), { prefix: `${prefix}:limit:`, timeout }),
  }
}
