import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { setImmediate as nextImmediate, setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { App, Database, transaction, type AppOptions } from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { newDatabase } from '../../support/databases.js'
import { describeOnce, itOnce } from '../../support/engine.js'
import { Book, Shelf } from '../../support/applications/library.js'

/** Long enough for the requests that must succeed in the meantime, on a busy machine. */
const short: AppOptions = {
  headersTimeout: 2500,
  requestTimeout: 3000,
  keepAliveTimeout: 300,
  sendTimeout: 3000,
  bodyLimit: 20 * 1024 * 1024,
}

interface Server {
  /** Resolves when the given number of responses of `GET /large` have begun. */
  largeBegun(count: number): Promise<void>
  /** Resolves when the given number of responses of `GET /large` have begun, and the connection of each has ended. */
  largeEnded(count: number): Promise<void>
  /** Resolves when the connection of `GET /stream` has ended. */
  streamEnded(): Promise<unknown>
  port: number
  url: string
  log: ReturnType<typeof captureLog>
  close(): Promise<void>
}

/** Longer than a request waits for a connection of the database: a client that held one would make it fail. */
const patient: AppOptions = { headersTimeout: 100_000, requestTimeout: 100_000, sendTimeout: 100_000 }

/** Runs part of a spec with an application whose pool has one connection. */
async function withServer(options: AppOptions, work: (server: Server) => Promise<void>): Promise<void> {
  const server = await openServer(options)
  try {
    await work(server)
  } finally {
    await server.close()
  }
}

async function openServer(options: AppOptions): Promise<Server> {
  const test = {
    url: await newDatabase(),
    pool: 1,
    acquireTimeout: 30_000,
  }
  const database = await new Database({ test, models: [Shelf, Book] }, 'test').open()
  await database.synchronize()
  const log = captureLog()
  const app = new App({ api: true, logger: log.logger, drainTimeout: 0, ...options })
  app.use(transaction(database))
  app.post('/shelves', async (ctx) => {
    await ctx.tx.insert(Shelf, { name: 'a' })
    ctx.status = 201
  })
  app.get('/shelves', async (ctx) => {
    ctx.body = await ctx.tx.find(Shelf)
  })
  app.get('/slow', async (ctx) => {
    await delay(1000)
    ctx.body = 'done'
  })
  const ended: Promise<unknown>[] = []
  app.get('/large', async (ctx) => {
    ended.push(once(ctx.res, 'close'))
    await ctx.tx.find(Shelf)
    ctx.body = 'x'.repeat(20 * 1024 * 1024)
  })
  let streamEnded: Promise<unknown> = Promise.resolve()
  app.get('/stream', (ctx) => {
    streamEnded = once(ctx.res, 'close')
    const stream = new PassThrough()
    stream.write('first')
    ctx.body = stream
    if ('broken' in ctx.query) setImmediate(() => stream.destroy())
  })
  const url = await app.listen(0, '127.0.0.1')
  const largeBegun = async (count: number): Promise<void> => {
    while (ended.length < count) await delay(5)
  }
  const largeEnded = async (count: number): Promise<void> => {
    await largeBegun(count)
    await Promise.all(ended)
  }
  return {
    largeBegun,
    largeEnded,
    streamEnded: () => streamEnded,
    url,
    port: Number(new URL(url).port),
    log,
    close: () => app.close(),
  }
}

/** A connection, the text that it receives, and how long it is open. */
interface Connection {
  socket: Socket
  received(): string
  ended: Promise<number>
}

async function open(port: number): Promise<Connection> {
  const start = performance.now()
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (data) => (received += data.toString('latin1')))
  socket.on('error', () => {})
  // once() of node:events would also reject for an error.
  const ended = new Promise<number>((end) => socket.once('close', () => end(performance.now() - start)))
  await once(socket, 'connect')
  return { socket, received: () => received, ended }
}

/** Sends a text one byte at a time, every few milliseconds, until there is a response. */
async function drip({ socket, received }: Connection, text: string): Promise<void> {
  for (const byte of text) {
    if (socket.destroyed || received()) return
    socket.write(byte)
    await delay(20)
    // A byte that arrives after the response would reset the connection: read the response first.
    await nextImmediate()
  }
}

const head =
  'POST /shelves HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n'

describe('A slow client', () => {
  itOnce('that sends its headers byte by byte gets 408', () =>
    withServer(short, async ({ port }) => {
      const clients = await Promise.all(Array.from({ length: 20 }, () => open(port)))
      for (const client of clients) void drip(client, `GET /shelves HTTP/1.1\r\nX: ${'x'.repeat(500)}`)
      for (const { ended, received } of clients) {
        expect(await ended).to.be.at.least(2490)
        expect(received()).to.match(/^HTTP\/1.1 408 /)
      }
    }),
  )

  itOnce('that sends its body byte by byte gets 408', () =>
    withServer(short, async ({ port, log }) => {
      const clients = await Promise.all(Array.from({ length: 20 }, () => open(port)))
      for (const client of clients) {
        client.socket.write(head)
        void drip(client, `{"name":"${'x'.repeat(490)}"`)
      }
      for (const { ended, received } of clients) {
        expect(await ended).to.be.at.least(2990)
        expect(received()).to.match(/^HTTP\/1.1 408 /)
      }
      const errors = log.lines.filter(({ level }) => Number(level) >= 50)
      expect(errors).to.deep.equal([])
    }),
  )

  const incomplete = { headers: 'GET /shelves HTTP/1.1\r\nX: x', body: `${head}{"name":"x` }
  for (const [part, text] of Object.entries(incomplete)) {
    it(`that has not sent all of its ${part} holds no connection of the database`, () =>
      withServer(patient, async ({ port, url }) => {
        const clients = await Promise.all(Array.from({ length: 20 }, () => open(port)))
        for (const { socket } of clients) socket.write(text)
        // Lets the requests arrive.
        await delay(100)
        const responses = await Promise.all(
          Array.from({ length: 10 }, () => fetch(`${url}/shelves`, { method: 'POST' })),
        )
        expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([201]))
        expect(await (await fetch(`${url}/shelves`)).json()).to.have.length(10)
        for (const { socket } of clients) socket.destroy()
      }))
  }

  itOnce('that disconnects in the middle of its body causes no error in the log', () =>
    withServer(short, async ({ port, url, log }) => {
      const { socket, ended } = await open(port)
      socket.write(`${head}{"name":`)
      await delay(50)
      socket.destroy()
      await ended
      await delay(50)
      expect((await fetch(`${url}/shelves`)).status).to.equal(200)
      expect(log.lines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
    }),
  )

  const leaving = {
    disconnects: (socket: Socket) => socket.destroy(),
    'resets its connection': (socket: Socket) => socket.resetAndDestroy(),
  }
  for (const [what, leave] of Object.entries(leaving))
    itOnce(`that ${what} in the middle of a streamed response causes no error in the log`, () =>
      withServer(short, async ({ port, url, log, streamEnded }) => {
        const { socket, received } = await open(port)
        socket.write('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n')
        while (!received().includes('first')) await delay(5)
        leave(socket)
        await streamEnded()
        expect((await fetch(`${url}/shelves`)).status).to.equal(200)
        expect(log.lines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
      }),
    )

  itOnce(
    'whose streamed response the application ends too early gets no complete response, and the log has an error',
    () =>
      withServer(short, async ({ port, log }) => {
        const { socket, received, ended } = await open(port)
        socket.write('GET /stream?broken HTTP/1.1\r\nHost: x\r\n\r\n')
        await ended
        expect(received()).not.to.match(/\r\n0\r\n\r\n$/)
        const errors = log.lines.filter(({ level }) => Number(level) >= 50)
        expect(errors.map(({ msg }) => msg)).to.include('the response could not be written')
      }),
  )

  it('that does not read its response holds no connection of the database', () =>
    withServer(patient, async ({ port, url, largeBegun }) => {
      const clients = await Promise.all(Array.from({ length: 5 }, () => open(port)))
      for (const { socket } of clients) {
        socket.pause()
        socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
      }
      await largeBegun(clients.length)
      expect((await fetch(`${url}/shelves`)).status).to.equal(200)
      for (const { socket } of clients) socket.destroy()
    }))

  itOnce('that does not read its response is disconnected', () =>
    withServer({ ...patient, sendTimeout: 3000 }, async ({ port, largeEnded }) => {
      const clients = await Promise.all(Array.from({ length: 5 }, () => open(port)))
      for (const { socket } of clients) {
        socket.pause()
        socket.write('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
      }
      await largeEnded(clients.length)
      for (const { socket, received, ended } of clients) {
        socket.resume()
        await ended
        expect(received().length).to.be.below(20 * 1024 * 1024)
      }
    }),
  )

  itOnce('that reads its response slowly but steadily gets all of it', () =>
    withServer(short, async ({ port }) => {
      const { socket, received, ended } = await open(port)
      socket.write('GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      // Each pause is short, but together they are longer than sendTimeout.
      for (let pauses = 0; pauses < 10; pauses += 1) {
        socket.pause()
        await delay(400)
        socket.resume()
        await delay(2)
      }
      await ended
      expect(received().length).to.be.above(20 * 1024 * 1024)
    }),
  )

  itOnce('that sends no request is disconnected', () =>
    withServer(short, async ({ port }) => {
      const { ended } = await open(port)
      await ended
    }),
  )

  itOnce('that waits for a slow response stays connected', () =>
    withServer({ ...short, sendTimeout: 300 }, async ({ url }) => {
      expect(await (await fetch(`${url}/slow`)).text()).to.equal('done')
    }),
  )

  itOnce('that sends no further request is disconnected after keepAliveTimeout', () =>
    withServer(
      { ...short, headersTimeout: 5000, requestTimeout: 5000, sendTimeout: 5000 },
      async ({ port }) => {
        const { socket, ended, received } = await open(port)
        socket.write('GET /shelves HTTP/1.1\r\nHost: x\r\n\r\n')
        // Node adds a second, so that a client which respects the header is never too late.
        expect(await ended).to.be.at.least(290)
        expect(received()).to.contain('Connection: keep-alive')
      },
    ),
  )
})

describeOnce('Many idle connections', () => {
  it('do not slow down other clients', () =>
    withServer({}, async ({ port, url }) => {
      const idle = await Promise.all(Array.from({ length: 1000 }, () => open(port)))
      const responses = await Promise.all(Array.from({ length: 50 }, () => fetch(`${url}/shelves`)))
      expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([200]))
      for (const { socket } of idle) socket.destroy()
    }))
})

describeOnce('A request that is too large', () => {
  let server: Server
  before(async () => {
    server = await openServer({})
  })
  after(() => server.close())

  const cases: Record<string, [request: string, status: number]> = {
    'a hundred long headers': [
      `GET /shelves HTTP/1.1\r\nHost: x\r\n${`X-A: ${'x'.repeat(200)}\r\n`.repeat(100)}\r\n`,
      431,
    ],
    'ten thousand short headers': [
      `GET /shelves HTTP/1.1\r\nHost: x\r\n${'A: b\r\n'.repeat(10_000)}\r\n`,
      431,
    ],
    'a url of 20 KB': [`GET /shelves?${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    'a url of 15 KB': [
      `GET /shelves?${'x'.repeat(15_000)} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      200,
    ],
    // Node 24 counts all headers, and accepts a thousand. Node 20 ignores further ones.
    'a thousand short headers': [
      `GET /shelves HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${'A: b\r\n'.repeat(998)}\r\n`,
      200,
    ],
  }
  for (const [what, [request, status]] of Object.entries(cases)) {
    it(`returns ${status} for ${what}`, async () => {
      const { socket, received, ended } = await open(server.port)
      socket.write(request)
      await ended
      expect(received()).to.match(new RegExp(`^HTTP/1.1 ${status} `))
    })
  }
})

describeOnce('A request that is malformed', () => {
  let server: Server
  before(async () => {
    server = await openServer({})
  })
  after(() => server.close())

  const post = 'POST /shelves HTTP/1.1\r\nHost: x\r\n'
  const cases: Record<string, string> = {
    'fewer bytes than its Content-Length': `${post}Content-Length: 100\r\n\r\n{}`,
    'more bytes than its Content-Length': `${post}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}{}`,
    'two lengths': `${post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
    'a length and chunks': `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}`,
    'a negative length': `${post}Content-Length: -2\r\n\r\n{}`,
    'a length that is not a number': `${post}Content-Length: 2a\r\n\r\n{}`,
    'broken chunks': `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`,
    'a header without a colon': `${post}X\r\n\r\n`,
    'an invalid method': 'P\0ST / HTTP/1.1\r\n\r\n',
    'bytes that are not HTTP': '\x16\x03\x01\x02\x00\x01',
  }
  for (const [what, request] of Object.entries(cases)) {
    it(`is rejected, and its connection closed: ${what}`, async () => {
      const { url, log } = server
      const { socket, received, ended } = await open(server.port)
      socket.end(request)
      await ended
      // The first of two requests may get a response: the error comes after it.
      const [, ...statuses] = received().split(/^HTTP\/1.1 (?=\d)/m)
      expect(statuses.at(-1) ?? '400', received()).to.match(/^4\d\d/)
      expect((await fetch(`${url}/shelves`)).status).to.equal(200)
      expect(log.lines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
    })
  }
})
