import { expect } from 'chai'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { GracefulServer } from '../../src/server/graceful-server.js'

describe('GracefulServer', () => {
  it('closes an idle connection whose last request got its response before all of its body had arrived', async () => {
    const server = new GracefulServer((_req, res) => res.end('early'))
    const { port } = new URL(await server.listen(0, '127.0.0.1'))
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20\r\n\r\nthe first ')
    await once(socket, 'data')
    socket.write('and second')
    const timeout = 60_000
    const start = performance.now()
    await Promise.all([server.close(timeout), once(socket, 'close')])
    expect(performance.now() - start).to.be.below(timeout / 2)
  })

  describe('with many requests on one connection', () => {
    let server: GracefulServer
    let socket: Socket
    let received: string
    /** The requests that have begun, and have no response yet. */
    let begun: [req: IncomingMessage, res: ServerResponse][]
    /** The paths of all requests that have begun. */
    let paths: string[]

    beforeEach(async () => {
      begun = []
      paths = []
      received = ''
      server = new GracefulServer((req, res) => {
        begun.push([req, res])
        paths.push(String(req.url))
      })
      const { port } = new URL(await server.listen(0, '127.0.0.1'))
      socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {}).on('data', (data) => (received += data.toString()))
    })

    afterEach(async () => {
      socket.destroy()
      await server.close(0)
    })

    async function until(condition: () => boolean): Promise<void> {
      while (!condition()) await new Promise(setImmediate)
    }

    /** Responds to the requests in flight with their paths, until this many have begun. */
    async function respond(count: number): Promise<void> {
      for (let done = 0; done < count; done++) {
        await until(() => begun.length > 0)
        const [req, res] = begun.shift() ?? []
        res?.end(`${req?.url};`)
      }
    }

    const get = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
    const gets = (count: number, more = ''): string =>
      Array.from({ length: count }, (_, index) => get(`/${index}`, more)).join('')
    const answers = (): string[] => [...received.matchAll(/\/\d+(?=;)/g)].map(([path]) => path)

    it('begins eight at a time, and responds to all in order', async () => {
      socket.write(gets(50))
      await until(() => begun.length >= 8)
      await new Promise(setImmediate)
      expect(paths).to.have.length(8)
      await respond(1)
      await until(() => begun.length >= 8)
      expect(paths).to.have.length(9)
      await respond(49)
      await until(() => answers().length === 50)
      expect(answers()).to.deep.equal(Array.from({ length: 50 }, (_, index) => `/${index}`))
    })

    it('responds to all that arrive one after another', async () => {
      for (let index = 0; index < 300; index++) {
        socket.write(get(`/${index}`))
        if (index % 10 === 0) await new Promise(setImmediate)
        if (index > 20) await respond(1)
      }
      await respond(21)
      await until(() => answers().length === 300)
      expect(answers()).to.deep.equal(Array.from({ length: 300 }, (_, index) => `/${index}`))
    })

    it('reads nothing more while requests wait, so that further ones wait in the system', async () => {
      const padding = `X: ${'x'.repeat(2000)}\r\n`
      for (let step = 0; step < 20; step++) {
        socket.write(gets(20, padding))
        await new Promise(setImmediate)
      }
      await respond(400)
      await until(() => answers().length === 400)
      expect(socket.destroyed).to.equal(false)
    })

    for (const [what, more] of [
      ['GET', ''],
      ['requests with Expect: 100-continue', 'Expect: 100-continue\r\n'],
      ['requests with an unknown expectation', 'Expect: 200-ok\r\n'],
    ] as const)
      it(`closes the connection of a client that sends more than a hundred that wait: ${what}`, async () => {
        // The server may reset the connection, because it does not read all of it.
        const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
        socket.on('end', () => socket.end())
        socket.write(gets(2000, more))
        await closed
        expect(paths.length).to.be.at.most(8)
      })

    it('reads a body although it waits', async () => {
      const body = 'x'.repeat(100_000)
      const post = `POST /8 HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      socket.write(gets(8) + post + get('/9'))
      await until(() => begun.length >= 8)
      await respond(8)
      await until(() => begun.length > 0)
      let length = 0
      begun[0]?.[0].on('data', (data: Buffer) => (length += data.length))
      await until(() => length === body.length)
      await respond(2)
      await until(() => answers().length === 10)
    })

    it('closes the responses of all in flight when the client has left', async () => {
      socket.write(gets(8))
      await until(() => begun.length === 8)
      let closed = 0
      for (const [, res] of begun) res.on('close', () => (closed += 1))
      socket.destroy()
      await until(() => closed >= 8)
      await new Promise(setImmediate)
      expect(closed).to.equal(8)
    })

    it('begins none that wait when the client has left', async () => {
      socket.write(gets(20))
      await until(() => begun.length >= 8)
      socket.destroy()
      // While requests wait, nothing is read, so only writing shows that the client has left.
      await until(() => begun.every(([req, res]) => req.destroyed || void res.write('x')))
      await new Promise(setImmediate)
      expect(paths).to.have.length(8)
    })
  })
})
