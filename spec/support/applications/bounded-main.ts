import { App, type Context } from '../../../src/index.js'
import { openapi } from '../../../src/openapi/index.js'
import { captureLog } from '../../../src/testing/index.js'

/** A process with a bounded heap that reads bodies and sends files. It sends its parent the address. */
const app = new App({ api: true, logger: captureLog().logger })
const waiting: (() => void)[] = []

function read(ctx: Context): void {
  ctx.body = { length: String(Object(ctx.request.body).a).length }
}

/** Ignores its body, and responds when `/release` is requested. */
async function wait(ctx: Context): Promise<void> {
  await new Promise<void>((release) => waiting.push(release))
  ctx.body = 'released'
}

function release(ctx: Context): void {
  for (const one of waiting.splice(0)) one()
  ctx.status = 204
}

/** The bytes in use after garbage collection, and the requests that wait. */
function memory(ctx: Context): void {
  for (let round = 0; round < 3; round++) globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  ctx.body = { used: heapUsed + external, waiting: waiting.length }
}

app.extend(openapi('/openapi.json', { title: 'Bounded', version: '1', page: '/docs' }))
app.post('/', read)
app.post('/wait', wait, { body: false })
app.get('/release', release)
app.get('/memory', memory)
process.send?.(await app.listen(0))
