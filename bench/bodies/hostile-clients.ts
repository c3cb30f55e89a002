import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { ServerProcess } from '../shared/server-process.js'
import { median } from '../shared/statistics.js'

/** What a client sends over each of its connections, of which it reads nothing. */
interface Hold {
  connections: number
  bytes: Buffer
}

const boundary = 'X'
const field = `--${boundary}\r\nContent-Disposition: form-data; name="a"`
const multipart = `multipart/form-data; boundary=${boundary}`

/** The formats of bodies: a content type, and the beginning of a body that may continue without an end. */
const formats: [name: string, type: string, start: string][] = [
  ['JSON', 'application/json', '{"a":"'],
  ['a form', 'application/x-www-form-urlencoded', 'a='],
  ['a field of a multipart form', multipart, `${field}\r\n\r\n`],
  ['a file of a multipart form', multipart, `${field}; filename="a"\r\n\r\n`],
]
const megabyte = 1_000_000

/** The bytes of a body as chunks of this length, without an end. */
function inChunks(content: Buffer | string, length: number): Buffer {
  const bytes = Buffer.from(content)
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += length) {
    const piece = bytes.subarray(at, at + length)
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat(chunks)
}

function post(path: string, type: string, chunks: Buffer, more = ''): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\n${more}Transfer-Encoding: chunked\r\n\r\n`
  return Buffer.concat([Buffer.from(head), chunks])
}

const gets = (path: string, count: number): Buffer =>
  Buffer.from(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(count))

/** A text that compresses to about half its length. */
const digits = Array.from({ length: 40_000 }, (_, index) => String(Math.sin(index))).join('')
const text = `{"a":"${digits.slice(0, 500_000)}`

/** What is measured, by name. */
const holds: Record<string, Hold> = {
  'a connection without a request': { connections: 1000, bytes: Buffer.alloc(0) },
  'headers of 15 KB without their end': {
    connections: 500,
    bytes: Buffer.from(`GET / HTTP/1.1\r\nX: ${'x'.repeat(15_000)}`),
  },
  ...Object.fromEntries(
    formats.map(([name, type, start]) => [
      `1 MB of ${name} in chunks of 20 bytes`,
      {
        connections: name.includes('file') ? 5 : 30,
        bytes: post('/', type, inChunks(start + 'x'.repeat(megabyte), 20)),
      },
    ]),
  ),
  'JSON compressed by gzip, half a MB': {
    connections: 50,
    bytes: post('/', 'application/json', inChunks(gzipSync(text), 1000), 'Content-Encoding: gzip\r\n'),
  },
  'JSON compressed by Brotli, half a MB': {
    connections: 50,
    bytes: post(
      '/',
      'application/json',
      inChunks(brotliCompressSync(text), 1000),
      'Content-Encoding: br\r\n',
    ),
  },
  '100 bodies of 1 MB at once': {
    connections: 100,
    bytes: post('/', 'application/json', inChunks(`{"a":"${'x'.repeat(megabyte)}`, 60_000)),
  },
  'a body that its route does not read, in chunks of one byte': {
    connections: 200,
    bytes: post('/wait', 'text/plain', inChunks('x'.repeat(60_000), 1)),
  },
  'a body that its route does not read, in chunks of 100 bytes': {
    connections: 200,
    bytes: post('/wait', 'text/plain', inChunks('x'.repeat(200_000), 100)),
  },
  '108 requests at once, 8 of them in flight': { connections: 100, bytes: gets('/wait', 108) },
  '8 responses of 1 MB that are not read': { connections: 20, bytes: gets('/large', 8) },
  '8 files of 1.7 MB that are not read': { connections: 50, bytes: gets('/docs/swagger-ui-bundle.js', 8) },
}

/** Prints what each connection makes the process hold, and what ten hostile clients do to others. */
export async function measureHostileClients(port: number): Promise<void> {
  const rows = []
  for (const [name, hold] of Object.entries(holds)) rows.push({ what: name, ...(await measure(port, hold)) })
  console.table(rows)
  console.table([await attack(port)])
}

function start(port: number): Promise<ServerProcess> {
  const kind = { name: 'bodies', main: 'dist/bench/bodies/server.js' }
  return ServerProcess.start(kind, 'sqlite::memory:', port, { LOG_LEVEL: 'silent' }, ['--expose-gc'])
}

/** Measures in a new process what is left after garbage collection, and how far the process has grown. */
async function measure(port: number, { connections, bytes }: Hold): Promise<object> {
  const server = await start(port)
  const before = await memory(port)
  const sockets: Socket[] = []
  for (let count = 0; count < connections; count++) {
    const socket = connect(port, '127.0.0.1')
      .on('error', () => {})
      .pause()
    socket.write(bytes)
    sockets.push(socket)
  }
  const after = await settled(port)
  for (const socket of sockets) socket.destroy()
  await server.stop()
  return {
    connections,
    'KB each': Math.round((after.used - before.used) / connections / 100) / 10,
    'process MB more': Math.round((after.rss - before.rss) / 1e6),
  }
}

interface Memory {
  /** The bytes that are in use after garbage collection. */
  used: number
  rss: number
}

async function memory(port: number): Promise<Memory> {
  return (await (await fetch(`http://127.0.0.1:${port}/memory`)).json()) as Memory
}

/** The memory as soon as it has not grown by a percent in half a second. */
async function settled(port: number): Promise<Memory> {
  let last = await memory(port)
  for (;;) {
    await delay(500)
    const now = await memory(port)
    if (now.used < last.used * 1.01) return now
    last = now
  }
}

/** Lets ten clients attack without a pause for ten seconds, and measures the time of `GET /up` for others. */
async function attack(port: number): Promise<object> {
  const server = await start(port)
  const attacks = [
    ...formats.map(([, type, begin]) => post('/', type, inChunks(begin + 'x'.repeat(100_000), 1))),
    ...formats.map(([, type, begin]) => post('/', type, inChunks(begin + 'x'.repeat(300_000), 20))),
    post('/', 'application/json', inChunks(gzipSync(text), 1), 'Content-Encoding: gzip\r\n'),
    gets('/', 3000),
    gets('/large', 100),
    gets('/docs/swagger-ui-bundle.js', 100),
  ]
  const end = performance.now() + 10_000
  let number = 0
  let attacked = 0
  const clients = Array.from({ length: 10 }, async () => {
    while (performance.now() < end) {
      await assault(port, attacks[number++ % attacks.length] ?? Buffer.alloc(0))
      attacked++
    }
  })
  const times: number[] = []
  let most = 0
  while (performance.now() < end) {
    const started = performance.now()
    await (await fetch(`http://127.0.0.1:${port}/up`)).text()
    times.push(performance.now() - started)
    most = Math.max(most, (await server.usage()).memory)
    await delay(20)
  }
  await Promise.all(clients)
  const longest = Number(await (await fetch(`http://127.0.0.1:${port}/longest`)).text())
  await server.stop()
  return {
    'ten hostile clients': `${attacked} attacks in 10 s`,
    'median of GET /up, ms': Math.round(median(times)),
    'longest GET /up, ms': Math.round(Math.max(...times)),
    'longest stretch, CPU ms': Math.round(longest),
    'process MB': Math.round(most / 1e6),
  }
}

/** Sends an attack, and leaves after half a second, or when the server closes the connection. It hardly reads. */
async function assault(port: number, bytes: Buffer): Promise<void> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const closed = new Promise((close) => socket.once('close', close))
  socket.write(bytes)
  const slow = setInterval(() => socket.read(1000), 50)
  await Promise.race([closed, delay(500)])
  clearInterval(slow)
  socket.destroy()
}
