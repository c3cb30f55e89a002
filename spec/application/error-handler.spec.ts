import { createReadStream } from 'node:fs'
import { PassThrough, Readable, Transform } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { App, type Handler } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { Site, type SpecResponse } from '../support/site.js'

const json = { accept: 'application/json' }

async function answerOf(handler: Handler): Promise<{ response: SpecResponse; errors: unknown[] }> {
  const { logger, lines } = captureLog()
  const app = new App({ logger })
  app.get('/', handler)
  const site = await Site.open(app)
  try {
    const response = await site.get('/', json)
    return { response, errors: lines.filter(({ level }) => level === 50).map(({ msg }) => msg) }
  } finally {
    await site.close()
  }
}

describe('A body that is a stream', () => {
  const failing: Record<string, () => Readable> = {
    'a file that cannot be opened': () => createReadStream('/nope'),
    'a stream that fails when it is read': () =>
      new Readable({
        read() {
          this.destroy(new Error('failed'))
        },
      }),
    // oxlint-disable-next-line require-yield
    'a generator that throws': () =>
      Readable.from(
        (async function* () {
          await delay(5)
          if (failing) throw new Error('failed')
          yield ''
        })(),
      ),
    'a stream that has already failed': () => new PassThrough().on('error', () => {}).destroy(new Error('x')),
  }
  for (const [what, make] of Object.entries(failing)) {
    it(`causes an ordinary error response if it is ${what}`, async () => {
      const { response, errors } = await answerOf((ctx) => {
        ctx.set('Content-Length', '5')
        ctx.type = 'text/plain'
        ctx.body = make()
      })
      expect(response.status).to.equal(500)
      expect(response.json).to.include({ status: 500, title: 'Internal Server Error' })
      expect(errors).to.deep.equal(['the request failed'])
    })
  }

  it('causes an error response if it fails while the handler is running', async () => {
    const { response, errors } = await answerOf(async (ctx) => {
      const file = createReadStream('/nope')
      ctx.body = file
      await new Promise<void>((closed) => file.once('close', () => closed()))
    })
    expect([response.status, errors]).to.deep.equal([500, ['the request failed']])
  })

  const whole: Record<string, () => Readable> = {
    'a file': () => createReadStream(import.meta.filename),
    'an empty stream': () => Readable.from([]),
    'many pieces': () => Readable.from(Array.from({ length: 5000 }, (_, index) => `piece ${index} `)),
    'a stream that begins late': () =>
      Readable.from(
        (async function* () {
          await delay(150)
          yield 'late'
        })(),
      ),
    'a stream that has already ended': () => new PassThrough().end('written'),
    'a stream that is piped through another': () =>
      createReadStream(import.meta.filename).pipe(
        new Transform({ transform: (chunk, _, done) => done(null, chunk) }),
      ),
  }
  for (const [what, make] of Object.entries(whole)) {
    it(`is sent completely if it is ${what}`, async () => {
      const { response } = await answerOf((ctx) => void (ctx.body = make()))
      let text = ''
      for await (const chunk of make()) text += String(chunk)
      expect([response.status, response.text]).to.deep.equal([200, text])
    })
  }

  it('does not delay headers that the handler flushes', async () => {
    const app = new App({ logger: captureLog().logger })
    app.get('/', (ctx) => {
      ctx.type = 'text/event-stream'
      ctx.body = new PassThrough()
      ctx.flushHeaders()
    })
    const site = await Site.open(app)
    const client = new AbortController()
    const { headers } = await fetch(site.url, { signal: client.signal })
    expect(headers.get('content-type')).to.contain('text/event-stream')
    client.abort()
    expect((await site.request('HEAD', '/')).status).to.equal(200)
    await site.close()
  })

  it('ends the connection if the handler fails after it has flushed the headers', async () => {
    const app = new App({ logger: captureLog().logger })
    const failing: Record<string, Handler> = {
      '/handler': (ctx) => {
        ctx.flushHeaders()
        throw new Error('failed')
      },
      '/stream': (ctx) => {
        const body = new PassThrough()
        ctx.body = body
        ctx.flushHeaders()
        body.destroy(new Error('failed'))
      },
    }
    for (const [path, handler] of Object.entries(failing)) app.get(path, handler)
    const site = await Site.open(app)
    for (const path of Object.keys(failing)) {
      const text = await fetch(site.url + path)
        .then(
          (response) => response.text(),
          () => 'failed',
        )
        .catch(() => 'failed')
      expect(text, path).to.equal('failed')
    }
    await site.close()
  })
})
