import { connect } from 'node:net'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { machine } from '../shared/machine.js'
import { ServerProcess } from '../shared/server-process.js'
import { median } from '../shared/statistics.js'
import { measureHostileClients } from './hostile-clients.js'

/**
 * npm run bench:bodies: what a body of 1 MiB, or of 128 KiB of XML, may cost a server, whatever is in it, and what hostile
 * clients make it hold.
 *
 *     npm run bench:bodies                       every body and the memory, in about two minutes
 *     npm run bench:bodies -- --only multipart   those whose name contains a text
 */
const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' } } })
const rounds = 5
const port = 4480
const size = 1024 * 1024
/** The default `xmlLimit`. */
const xmlSize = 128 * 1024

/** A request's body. */
interface Body {
  type: string
  content: Buffer
  headers?: Record<string, string>
  /** Bytes of each chunk of the transfer encoding; without it, the body is sent with its length. */
  chunk?: number
}

const form = 'application/x-www-form-urlencoded'
const [json, xml] = ['application/json', 'application/xml']
const boundary = '----WebKitFormBoundaryAbCdEfGhIjKlMnOp'

/** The bodies, by name. The first one is what the others are compared with. */
const bodies: Record<string, Body> = {
  'multipart: a plain file': upload(filled('0123456789abcdef')),
  'multipart: a file of CR': upload(filled('\r')),
  'multipart: a file of CRLF': upload(filled('\r\n')),
  'multipart: a file of CRLF and dashes': upload(filled('\r\n--')),
  'multipart: a file of almost the boundary': upload(filled(`\r\n--${boundary.slice(0, -1)}`)),
  'multipart: a file in base64': upload(filled('QUJD'), 'Content-Transfer-Encoding: base64\r\n'),
  'multipart: a plain field': multipart([part('a', filled('0123456789abcdef', size - 300))]),
  'multipart: a field of CR': multipart([part('a', filled('\r', size - 300))]),
  'multipart: 1,000 fields': multipart(fieldsOf(1000)),
  'multipart: 1,000 fields of one name': multipart(fieldsOf(1000, 'a[]')),
  'multipart: 1,000 nested fields': multipart(fieldsOf(1000, 'a[b][c][d]')),
  'multipart: empty parts': multipart(Array.from({ length: size / 48 }, () => Buffer.from('\r\n'))),
  'multipart: empty parts, short boundary': {
    type: 'multipart/form-data; boundary=x',
    content: filled('--x\r\n\r\n\r\n'),
  },
  'multipart: 50 files': multipart(
    Array.from({ length: 50 }, (_, i) => part(`f${i}`, filled('a', 20_000), `; filename="${i}.txt"`)),
  ),
  'multipart: one header': multipart([Buffer.concat([Buffer.from('A: '), filled('b')])]),
  'multipart: 500 headers of asterisks': multipart(
    Array.from({ length: 500 }, (_, i) => part(`f${i}`, filled('x', 1), `; x="${'*'.repeat(1900)}"`)),
  ),
  'multipart: chunks of one byte': { ...upload(filled('a', size / 4)), chunk: 1 },
  'multipart: CR in chunks of one byte': { ...upload(filled('\r', size / 4)), chunk: 1 },
  'multipart: chunks of 100 bytes': { ...upload(filled('a')), chunk: 100 },

  'json: a text': { type: json, content: text('{"title":"', 'x', '"}') },
  'json: a text of escapes': { type: json, content: text('{"title":"', '\\u00e4', '"}') },
  'json: white space': { type: json, content: text('{', ' ', '}') },
  'json: a long number': { type: json, content: text('{"a":', '1', '}') },
  'json: 10,000 members': { type: json, content: members(10_000, (i) => `"${i}k${'x'.repeat(80)}":1`) },
  'json: 10,000 index members': { type: json, content: members(10_000, (i) => `"${i * 65_536}":1`) },
  'json: 80,000 members': { type: json, content: members(80_000, (i) => `"k${i}":1`) },
  'json: a list of 500,000': { type: json, content: text('{"a":[', '1,', '1]}') },
  'json: lists in lists': { type: json, content: Buffer.from('['.repeat(size / 2) + ']'.repeat(size / 2)) },
  'json: chunks of one byte': { type: json, content: text('{"a":"', 'x', '"}', size / 4), chunk: 1 },

  'xml: a text': { type: xml, content: xmlText('<r><a>', 'x', '</a></r>') },
  'xml: 1,300 elements': { type: xml, content: xmlText('<r>', `<a>${'x'.repeat(90)}</a>`, '</r>') },
  'xml: 1,100 attributes': { type: xml, content: elements(1100, (i) => ` a${i}="${'x'.repeat(90)}"`) },
  'xml: 1,100 elements of other names': {
    type: xml,
    content: Buffer.from(`<r>${listOf(1100, (i) => `<a${i}>${'x'.repeat(80)}</a${i}>`)}</r>`),
  },
  'xml: 1,100 entities': {
    type: xml,
    content: Buffer.from(`<r><a>${listOf(1100, () => `&amp;${'x'.repeat(90)}`)}</a></r>`),
  },
  'xml: text and elements, 26,000 times': { type: xml, content: xmlText('<r>', 'x<a/>', '</r>') },
  'xml: attributes': { type: xml, content: elements(12_000, (i) => ` a${i}="1"`) },
  'xml: entities': { type: xml, content: xmlText('<r><a>', '&amp;', '</a></r>') },
  'xml: CDATA': { type: xml, content: xmlText('<r><a>', '<![CDATA[x]]>', '</a></r>') },
  'xml: comments': { type: xml, content: xmlText('<r>', '<!--x-->', '</r>') },
  'xml: open comments': { type: xml, content: xmlText('<r>&amp;', '<!--', '</r>') },
  'xml: open elements': { type: xml, content: xmlText('', '<a>', '') },
  'xml: one long tag': { type: xml, content: xmlText('<r><a', ' ', '/></r>') },
  'xml: one long name': { type: xml, content: xmlText('<r><', 'a', '/></r>') },
  'xml: one long attribute': { type: xml, content: xmlText('<r><a b="', '>', '"/></r>') },
  'xml: one comment of dashes': { type: xml, content: xmlText('<r><!--', '- ', '--></r>') },
  'xml: ]]> in a text': { type: xml, content: xmlText('<r><a>', ']]> ', '</a></r>') },
  'xml: white space': { type: xml, content: xmlText('<r>', ' ', '</r>') },
  'xml: 1,500 bytes of gzip': compressed({ type: xml, content: text('', 'x<a/>', '') }),

  'xml: CDATA of ]': { type: xml, content: xmlText('<r><a><![CDATA[', ']', ']]></a></r>') },
  'xml: an instruction of ?': { type: xml, content: xmlText('<r><?x ', '?', '?></r>') },
  'xml: a text of CR': { type: xml, content: xmlText('<r><a>', '\r', '</a></r>') },
  'xml: an attribute of line breaks': { type: xml, content: xmlText('<r a="', '\n', '"/>') },

  'form: a text of +': { type: form, content: text('title=', '+', '') },
  'form: a name of escaped brackets': { type: form, content: text('', '%5B', '=1') },
  'form: a text': { type: form, content: text('title=', 'x', '') },
  'form: a text of escapes': { type: form, content: text('title=', '%C3%A4', '') },
  'form: broken escapes': { type: form, content: text('title=', '%C3%', '') },
  'form: 1,000 fields': {
    type: form,
    content: Buffer.from(listOf(999, (i) => `f${i}=${'x'.repeat(1000)}&`)),
  },
  'form: 1,000 fields of one name': {
    type: form,
    content: Buffer.from(listOf(999, () => `a[]=${'x'.repeat(1000)}&`)),
  },
  'form: 1,000 indexed fields': {
    type: form,
    content: Buffer.from(listOf(999, (i) => `a[${i}]=${'x'.repeat(1000)}&`)),
  },
  'form: 1,000 nested fields': {
    type: form,
    content: Buffer.from(listOf(999, (i) => `a[b][c][${i}]=${'x'.repeat(1000)}&`)),
  },
  'form: a name of brackets': { type: form, content: text('', '[', ']=1') },
  'form: a name of pairs of brackets': { type: form, content: text('a', '[a]', '=1') },
  'form: ampersands': { type: form, content: text('', '&', 'a=1') },
  'form: 350,000 fields': { type: form, content: text('', 'a=&', '') },
}

const long = 15_000

/** Requests without a body, of at most 16 KB, by name: a path, and a header. */
const gets: Record<string, [path: string, header: string]> = {
  'a plain request': ['/', 'X: y'],
  '7,400 parameters': [`/?${'a&'.repeat(long / 2)}`, 'X: y'],
  '999 parameters of one name': [`/?${'a=1234567890&'.repeat(999)}`, 'X: y'],
  '999 parameters of other names': [`/?${listOf(999, (i) => `a${i}=12345&`)}`, 'X: y'],
  'a query of escapes': [`/?a=${'%C3%A4'.repeat(long / 6)}`, 'X: y'],
  'a path of slashes': ['/'.repeat(long), 'X: y'],
  'a path of escapes': [`/${'%C3%A4'.repeat(long / 6)}`, 'X: y'],
  'a list of types': ['/', `Accept: ${'a/b,'.repeat(long / 4)}`],
  'a list of languages': ['/', `Accept-Language: ${'de,'.repeat(long / 3)}`],
  'a list of addresses': ['/', `X-Forwarded-For: ${'1.1.1.1,'.repeat(long / 8)}`],
  'a thousand cookies': ['/', `Cookie: ${'a=b; '.repeat(long / 5)}`],
  'a cookie of spaces': ['/', `Cookie: a=${' '.repeat(long)}b`],
}

const server = await ServerProcess.start(
  { name: 'bodies', main: 'dist/bench/bodies/server.js' },
  'sqlite::memory:',
  port,
  { LOG_LEVEL: 'silent' },
)
const plain = await cost(() => send(Object.values(bodies)[0]!))
const plainBytes = Object.values(bodies)[0]!.content.length
const rows = []
for (const [name, body] of Object.entries(bodies)) {
  if (!name.includes(options.only)) continue
  const { status, cpu, longest } = await cost(() => send(body))
  const times = (cpu / plain.cpu) * (plainBytes / body.content.length)
  rows.push({
    body: name,
    status,
    'CPU ms': round(cpu),
    'blocks ms': round(longest),
    'plain file': round(times),
  })
}
console.log(JSON.stringify(machine()))
console.table(rows)
const requests = []
for (const [name, [path, header]] of Object.entries(gets)) {
  const head = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${header}\r\n\r\n`
  const { status, cpu, longest } = await cost(() => transfer(Buffer.from(head)))
  requests.push({ GET: name, bytes: head.length, status, 'CPU ms': round(cpu), 'blocks ms': round(longest) })
}
console.table(requests)
await server.stop()
if (options.only === '') await measureHostileClients(port)

/** The medians of what a request costs in milliseconds of CPU: in all, and in the longest stretch in which the server answers nobody else. */
async function cost(
  request: () => Promise<number>,
): Promise<{ status: number; cpu: number; longest: number }> {
  const costs: Array<{ cpu: number; longest: number }> = []
  let status = await request()
  for (let round = 0; round < rounds; round++) {
    await fetch(`http://127.0.0.1:${port}/longest`)
    const before = await server.usage()
    status = await request()
    const after = await server.usage()
    const longest = Number(await (await fetch(`http://127.0.0.1:${port}/longest`)).text())
    costs.push({ cpu: (after.cpu - before.cpu) / 1000, longest })
  }
  return {
    status,
    cpu: median(costs.map((it) => it.cpu)),
    longest: median(costs.map((it) => it.longest)),
  }
}

/** Sends a body, and returns the status of the response. */
function send({ type, content, headers = {}, chunk }: Body): Promise<number> {
  const length = chunk ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': String(content.length) }
  const lines = Object.entries({
    Host: 'localhost',
    Connection: 'close',
    'Content-Type': type,
    ...length,
    ...headers,
  })
  const head = `POST / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return transfer(Buffer.concat([Buffer.from(head), chunk ? inChunks(content, chunk) : content]))
}

/** Sends the bytes of a request, and returns the status of the response. */
function transfer(bytes: Buffer): Promise<number> {
  return new Promise((answered) => {
    let received = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (data) => (received += data.toString('latin1')))
    // The server closes the connection of a body in small chunks after its response.
    socket.on('error', () => {})
    socket.on('close', () => answered(Number(/^HTTP\/1.1 (\d+)/.exec(received)?.[1])))
  })
}

function inChunks(content: Buffer, length: number): Buffer {
  const chunks: Buffer[] = []
  for (let start = 0; start < content.length; start += length) {
    const piece = content.subarray(start, start + length)
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'))
  }
  return Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')])
}

function filled(pattern: string, length = size): Buffer {
  return Buffer.alloc(length, pattern)
}

/** A text of this length, in which the middle is repeated as often as it fits. */
function text(start: string, middle: string, end: string, length = size): Buffer {
  const times = Math.floor((length - start.length - end.length) / middle.length)
  return Buffer.from(start + middle.repeat(times) + end)
}

/** An XML body of the maximum size. */
function xmlText(start: string, middle: string, end: string): Buffer {
  return text(start, middle, end, xmlSize)
}

function listOf(count: number, item: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => item(index)).join('')
}

function members(count: number, member: (index: number) => string): Buffer {
  return Buffer.from(`{${Array.from({ length: count }, (_, index) => member(index)).join(',')}}`)
}

function elements(count: number, attribute: (index: number) => string): Buffer {
  return Buffer.from(`<r><a${listOf(count, attribute)}/></r>`)
}

function compressed(body: Body): Body {
  return { ...body, content: gzipSync(body.content), headers: { 'Content-Encoding': 'gzip' } }
}

function upload(content: Buffer, headers = ''): Body {
  return multipart([part('a', content, '; filename="a.txt"', `${headers}Content-Type: text/plain\r\n`)])
}

function part(name: string, content: Buffer, more = '', headers = ''): Buffer {
  const disposition = `Content-Disposition: form-data; name="${name}"${more}\r\n${headers}\r\n`
  return Buffer.concat([Buffer.from(disposition), content])
}

function fieldsOf(count: number, name = 'f'): Buffer[] {
  return Array.from({ length: count }, (_, index) =>
    part(name === 'f' ? `f${index}` : name, filled('x', size / count - 150)),
  )
}

function multipart(parts: Buffer[]): Body {
  const pieces = parts.flatMap((it) => [Buffer.from(`--${boundary}\r\n`), it, Buffer.from('\r\n')])
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    content: Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]),
  }
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
