import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { App, type Context } from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'

/** Longer than any machine needs for a shutdown. */
const drainTimeout = 200_000

describe('A stream of events', () => {
  const kinds: Record<string, (ctx: Context) => void> = {
    'a stream that is written to': (ctx) => {
      const stream = new PassThrough()
      const timer = setInterval(() => stream.write('data: 1\n\n'), 1)
      ctx.res.once('close', () => clearInterval(timer))
      ctx.body = stream
    },
    'a generator': (ctx) => void (ctx.body = Readable.from(events())),
    'a response that the handler writes': (ctx) => {
      Object.assign(ctx, { respond: false })
      ctx.res.writeHead(200, { 'Content-Type': 'text/event-stream' })
      const timer = setInterval(() => ctx.res.write('data: 1\n\n'), 1)
      ctx.res.once('close', () => clearInterval(timer))
    },
  }

  async function* events(): AsyncGenerator<string> {
    for (;;) {
      yield 'data: 1\n\n'
      await nextTurn()
    }
  }

  for (const [what, handler] of Object.entries(kinds))
    it(`ends when the application closes, so that it does not wait for it: ${what}`, async () => {
      const { logger, lines } = captureLog()
      const app = new App({ api: true, logger, drainTimeout })
      app.get('/', (ctx) => {
        ctx.type = 'text/event-stream'
        handler(ctx)
      })
      const response = await fetch(await app.listen(0))
      const reader = Readable.fromWeb(response.body as never)
      await once(reader.resume(), 'data')
      const started = performance.now()
      await Promise.all([app.close(), once(reader, 'end')])
      expect(performance.now() - started).to.be.below(drainTimeout / 2)
      expect(lines.filter(({ level }) => Number(level) >= 40)).to.deep.equal([])
    })
})
