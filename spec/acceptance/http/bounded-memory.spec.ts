import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'

const main = fileURLToPath(new URL('../../support/applications/bounded-main.js', import.meta.url))

/** The megabytes of the heap, of which the application itself needs 20. */
const heap = 64

/** The beginning of a body of each format, whose value may continue without an end. */
const formats: Record<string, [type: string, start: string]> = {
  json: ['application/json', '{"a":"'],
  xml: ['application/xml', '<r><a>'],
  form: ['application/x-www-form-urlencoded', 'a='],
  'multipart field': [
    'multipart/form-data; boundary=X',
    '--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n',
  ],
  'multipart file': [
    'multipart/form-data; boundary=X',
    '--X\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n',
  ],
}

interface Memory {
  used: number
  waiting: number
}

function head(type: string, path = '/', more = ''): string {
  const encoding = 'Transfer-Encoding: chunked'
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${more}${encoding}\r\n\r\n`
}

/** The bytes as chunks of this length. */
function inChunks(content: string | Buffer, length: number): Buffer {
  const bytes = Buffer.from(content)
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += length) {
    const piece = bytes.subarray(at, at + length)
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat(chunks)
}

describe(`A process with ${heap} MB of heap`, () => {
  let server: ChildProcess
  let port: number
  const sockets: Socket[] = []

  beforeEach(async () => {
    server = fork(main, {
      execArgv: ['--expose-gc', `--max-old-space-size=${heap}`],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const [address] = await once(server, 'message')
    port = Number(new URL(String(address)).port)
  })

  afterEach(async () => {
    sockets.splice(0).forEach((socket) => socket.destroy())
    if (server.exitCode !== null || server.signalCode !== null) return
    server.kill('SIGKILL')
    await once(server, 'exit')
  })

  function open(): Socket {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.on('error', () => {})
    sockets.push(socket)
    return socket
  }

  /** Sends bytes, and returns the status of the first response; NaN if there is none. */
  async function send(...parts: (string | Buffer)[]): Promise<number> {
    const socket = open()
    for (const part of parts) socket.write(part)
    return statusOf(socket)
  }

  async function statusOf(socket: Socket): Promise<number> {
    const closed = new Promise<string[]>((close) => socket.once('close', () => close([])))
    const data = new Promise<string[]>((arrive) => socket.once('data', (bytes) => arrive([String(bytes)])))
    const [response] = await Promise.race([data, closed])
    return Number(/^HTTP\/1.1 (\d+)/.exec(response ?? '')?.[1])
  }

  async function memory(): Promise<Memory> {
    const response = await fetch(`http://127.0.0.1:${port}/memory`)
    return (await response.json()) as Memory
  }

  /** Waits until the state of the server meets a condition. */
  async function until(condition: (memory: Memory) => boolean): Promise<Memory> {
    for (;;) {
      const now = await memory()
      if (condition(now)) return now
      await delay(20)
    }
  }

  for (const [name, [type, start]] of Object.entries(formats)) {
    it(`rejects bodies in chunks of one byte with 400: ${name}`, async () => {
      const body = inChunks(`${start}${'x'.repeat(900_000)}`, 1)
      const statuses = await Promise.all([1, 2, 3, 4].map(() => send(head(type), body)))
      expect(statuses).to.deep.equal([400, 400, 400, 400])
      expect((await memory()).used).to.be.below(heap * 1_000_000)
    })
  }

  it('rejects compressed bodies in chunks of one byte with 400', async () => {
    const random = Array.from({ length: 100_000 }, (_, index) => Math.sin(index)).join('')
    const body = inChunks(gzipSync(random).subarray(0, 300_000), 1)
    const encoding = 'Content-Encoding: gzip\r\n'
    const statuses = await Promise.all(
      [1, 2, 3, 4].map(() => send(head('application/json', '/', encoding), body)),
    )
    expect(statuses).to.deep.equal([400, 400, 400, 400])
  })

  it('holds little more than the bytes of 30 bodies in chunks of 20 bytes', async () => {
    const [type, start] = formats['json'] ?? ['', '']
    const body = inChunks(`${start}${'x'.repeat(1_000_000)}`, 20)
    const clients = Array.from({ length: 30 }, () => open())
    await Promise.all(clients.map((client) => new Promise((sent) => client.write(head(type) + body, sent))))
    const statuses = clients.map((client) => statusOf(client))
    for (const client of clients) client.write('2\r\n"}\r\n0\r\n\r\n')
    expect(new Set(await Promise.all(statuses))).to.deep.equal(new Set([200]))
  })

  it('keeps few objects of bodies in chunks of one byte that no route reads, and answers their requests', async () => {
    const body = inChunks('x'.repeat(60_000), 1)
    const clients = Array.from({ length: 30 }, () => open())
    for (const client of clients) client.write(head('text/plain', '/wait', 'Connection: close\r\n') + body)
    await until(({ waiting }) => waiting === clients.length)
    const statuses = clients.map((client) => statusOf(client))
    await fetch(`http://127.0.0.1:${port}/release`)
    expect(new Set(await Promise.all(statuses))).to.deep.equal(new Set([200]))
  })

  it('sends files of Swagger UI to clients that do not read them without a copy for each', async () => {
    const before = await memory()
    const clients = Array.from({ length: 200 }, () => open())
    for (const client of clients) client.write('GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n')
    await Promise.all(clients.map((client) => once(client, 'data').then(() => client.pause())))
    const during = await memory()
    expect(during.used - before.used).to.be.below(100_000_000)
  })
})
