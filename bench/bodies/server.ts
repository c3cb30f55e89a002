import 'reflect-metadata'
import { once } from 'node:events'
import { existsSync, openSync, readSync } from 'node:fs'
import { App, parameterLogger, type Context } from '../../src/index.js'
import { openapi } from '../../src/openapi/index.js'
import { Post } from '../applications/kit/post.js'

/**
 * An application that reads bodies and binds them, reports its memory, and measures the longest stretch of work between two turns of the event
 * loop, in which it answers nobody else.
 */
const now = clock()
let last = now()
let longest = 0

function turn(): void {
  const time = now()
  longest = Math.max(longest, time - last)
  last = time
}
setInterval(turn, 1).unref()

/** Milliseconds of CPU time of the main thread, so that other processes do not count; elsewhere than on Linux, of time. */
function clock(): () => number {
  const path = `/proc/self/task/${process.pid}/schedstat`
  if (!existsSync(path)) return () => performance.now()
  const file = openSync(path, 'r')
  const text = Buffer.alloc(64)
  return () => Number.parseInt(text.toString('latin1', 0, readSync(file, text, 0, text.length, 0)), 10) / 1e6
}

const app = new App({ api: true })
app.get('/longest', (ctx) => {
  turn()
  ctx.body = String(longest)
  longest = 0
})
app.get('/memory', (ctx) => {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  ctx.body = { used: heapUsed + external, rss }
})
// Responds when the client has left.
const wait = (ctx: Context): Promise<unknown> => once(ctx.res, 'close')
app.get('/wait', wait)
app.post('/wait', wait, { body: false })
app.get('/large', (ctx) => void (ctx.body = Buffer.alloc(1_000_000)))
app.extend(openapi('/openapi.json', { title: 'Bodies', version: '1', page: '/docs' }))
app.use(parameterLogger())
app.get('/', (ctx) => ctx.respond({ json: { locale: ctx.locale, size: Object.keys(ctx.query).length } }))
app.post('/', (ctx) => {
  ctx.bind(new Post())
  ctx.status = 204
})
await app.listen()
