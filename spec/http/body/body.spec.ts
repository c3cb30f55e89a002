import { expect } from 'chai'
import { randomBytes } from 'node:crypto'
import { Agent, request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { App, type Handler } from '../../../src/index.js'
import { Site } from '../../support/site.js'

const limit = 64 * 1024
const kinds = {
  'application/x-www-form-urlencoded': (size: number) => 'a='.padEnd(size, 'x'),
  'application/json': (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`,
  'application/xml': (size: number) => `<r><a>${'x'.repeat(size - 14)}</a></r>`,
}

describe('The body of a request', () => {
  let site: Site
  const crashes: unknown[] = []
  const note = (error: unknown) => crashes.push(error)

  before(async () => {
    process.on('uncaughtException', note).on('unhandledRejection', note)
    const app = new App({ api: true, bodyLimit: limit, membersLimit: 1000 })
    app.post('/echo', (ctx) => {
      ctx.body = JSON.stringify(ctx.request.body)
    })
    const echo: Handler = (ctx) => {
      ctx.body = JSON.stringify(ctx.request.body)
    }
    app.get('/ignored', echo)
    app.delete('/ignored', echo)
    app.get('/read', echo, { body: true })
    app.delete('/read', echo, { body: true })
    app.post('/unread', echo, { body: false })
    app.get('/', (ctx) => {
      ctx.body = 'home'
    })
    site = await Site.open(app)
  })

  after(async () => {
    await site.close()
    process.off('uncaughtException', note).off('unhandledRejection', note)
  })

  afterEach('no error remains unhandled', async () => {
    await new Promise(setImmediate)
    expect(crashes.splice(0)).to.deep.equal([])
  })

  function send(type: string | undefined, body: string | Uint8Array, headers: Record<string, string> = {}) {
    return site.post('/echo', {
      body,
      accept: 'application/json',
      headers: { ...(type && { 'content-type': type }), ...headers },
    })
  }

  /** Sends chunks without a length over a new connection, or over one that is kept. */
  function stream(
    type: string,
    chunks: Iterable<string | Uint8Array>,
    headers: Record<string, string> = {},
    agent?: Agent,
  ) {
    return new Promise<{ status: number; body: string; response: IncomingMessage }>((answered, failed) => {
      const options = {
        method: 'POST',
        headers: { 'content-type': type, accept: 'application/json', ...headers },
        agent: agent ?? false,
      }
      const call = request(`${site.url}/echo`, options, async (response) => {
        answered({ status: response.statusCode ?? 0, body: await text(response), response })
      })
      call.on('error', failed)
      for (const chunk of chunks) call.write(chunk)
      call.end()
    })
  }

  describe('of each type', () => {
    it('is parsed as the fields of a record', async () => {
      expect((await send('application/x-www-form-urlencoded', 'a=1&b=%20x+y&c=')).json).to.deep.equal({
        a: '1',
        b: ' x y',
        c: '',
      })
      expect((await send('application/json', '{"a":1}')).json).to.deep.equal({ a: 1 })
      expect((await send('application/merge-patch+json', '{"a":1}')).json).to.deep.equal({ a: 1 })
      expect((await send('application/xml', '<r><a>1</a></r>')).json).to.deep.equal({ a: '1' })
      expect((await send('text/xml', '<r><a>1</a></r>')).json).to.deep.equal({ a: '1' })
      expect((await send('application/atom+xml', '<r><a>1</a></r>')).json).to.deep.equal({ a: '1' })
      expect((await send('APPLICATION/JSON; Charset="UTF-8"', '{"a":1}')).json).to.deep.equal({ a: 1 })
    })

    it('is empty if the request has none', async () => {
      expect((await site.post('/echo')).json).to.deep.equal({})
      expect((await send('application/json', '')).json).to.deep.equal({})
      expect((await send(undefined, '')).json).to.deep.equal({})
    })

    it('contains nothing that objects inherit', async () => {
      const form = '__proto__=1&__proto__[x]=2&constructor=3&constructor[prototype][x]=4&toString=5&a=6'
      expect((await send('application/x-www-form-urlencoded', form)).json).to.deep.equal({ a: '6' })
      expect((await send('application/json', '{"__proto__":{"x":1}}')).status).to.equal(400)
      expect((await send('application/xml', '<r><__proto__><x>1</x></__proto__></r>')).status).to.equal(400)
      expect({}).not.to.have.property('x')
    })
  })

  describe('that cannot be read', () => {
    const malformed: Array<[what: string, type: string, body: string | Buffer]> = [
      ['broken JSON', 'application/json', '{"a":'],
      ['text instead of JSON', 'application/json', 'a=1'],
      ['JSON that is not an object', 'application/json', '"text"'],
      ['JSON with a comment', 'application/json', '{/* */}'],
      ['100 levels of JSON and more', 'application/json', `{"a":${'['.repeat(500)}${']'.repeat(500)}}`],
      ['JSON lists without an end', 'application/json', '['.repeat(500)],
      ['broken XML', 'application/xml', '<a><b></a>'],
      ['JSON that is not UTF-8', 'application/json', Buffer.from('{"a":"caf\xe9"}', 'latin1')],
      ['text instead of XML', 'application/xml', 'a=1'],
      ['a DOCTYPE', 'application/xml', '<!DOCTYPE a><a/>'],
    ]
    for (const [what, type, body] of malformed) {
      it(`is rejected with 400: ${what}`, async () => {
        const response = await send(type, body)
        expect(response.status).to.equal(400)
        expect(response.json).to.include({ status: 400, title: 'Bad Request' })
        expect(response.json.request_id).to.equal(response.headers.get('x-request-id'))
      })
    }

    it('has an error that describes the mistake', async () => {
      const detail = async (type: string, body: string): Promise<string> =>
        (await send(type, body)).json.detail
      expect(await detail('application/json', '{"a":')).to.equal(
        'The JSON body is not well-formed: Unexpected end of JSON input.',
      )
      expect(await detail('application/json', "{'a': 1}")).to.match(/^The JSON body is not well-formed: .*1/)
      expect(await detail('application/json', '"text"')).to.equal(
        'The JSON body must be an object or a list, like { "name": "value" }.',
      )
      expect(await detail('application/xml', '<a><b></a>')).to.match(
        /^The XML body is not well-formed: 1:10: unexpected close tag/,
      )
    })

    it('is parsed like a browser does if its percent-encoding is broken', async () => {
      expect((await send('application/x-www-form-urlencoded', 'a=%zz&%=1')).json).to.deep.equal({
        a: '%zz',
        '%': '1',
      })
    })
  })

  describe('of another type', () => {
    const types = [
      'text/plain',
      'image/png',
      'application/octet-stream',
      'multipart/mixed; boundary=x',
      'json',
      '/',
      'application/json/x',
    ]
    for (const type of [
      ...types,
      'application/json, text/xml',
      ';',
      'application/json; charset=latin1',
      'text/xml; charset=x',
    ]) {
      it(`is rejected with 415: ${type}`, async () => {
        expect((await send(type, '{"a":1}')).status).to.equal(415)
      })
    }

    it('is rejected with 415 if it has no type', async () => {
      expect((await send(undefined, new Uint8Array([123, 125]))).status).to.equal(415)
    })
  })

  describe('at the limit', () => {
    const encodings = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync }
    const large = Buffer.alloc(20_000_000, 'x')
    const bombs = Object.entries(encodings).map(
      ([encoding, compress]) => [encoding, compress(large)] as const,
    )

    for (const [type, body] of Object.entries(kinds)) {
      it(`is read up to the limit, and rejected with 413 beyond: ${type}`, async () => {
        expect((await send(type, body(limit))).status).to.equal(200)
        const response = await send(type, body(limit + 1))
        expect(response.status).to.equal(413)
        expect(response.json.detail).to.equal(`The body is larger than ${limit} bytes.`)
      })

      it(`counts chunks without a Content-Length: ${type}`, async () => {
        const within = body(limit)
        expect((await stream(type, [within.slice(0, 100), within.slice(100)])).status).to.equal(200)
        const beyond = body(limit + 1)
        expect((await stream(type, [beyond.slice(0, 100), beyond.slice(100)])).status).to.equal(413)
      })

      it(`counts decompressed bytes: ${type}`, async () => {
        for (const [encoding, compress] of Object.entries(encodings)) {
          const headers = { 'content-encoding': encoding }
          expect((await send(type, compress(body(limit)), headers)).status, encoding).to.equal(200)
          expect((await send(type, compress(body(limit + 1)), headers)).status, encoding).to.equal(413)
        }
        for (const [encoding, bomb] of bombs)
          expect((await send(type, bomb, { 'content-encoding': encoding })).status, encoding).to.equal(413)
      })
    }
  })

  describe('of many small values', () => {
    const small = 1000
    const forms: Array<[what: string, type: string, body: (count: number) => string]> = [
      ['members of an object', 'application/json', (n) => `{${list(n, (i) => `"k${i}":1`, ',')}}`],
      ['items of a list', 'application/json', (n) => `{"a":[${list(n - 1, () => '1', ',')}]}`],
      ['objects', 'application/json', (n) => `[${list(n / 2, () => '{}', ',')}]`],
      ['open lists', 'application/json', (n) => (n > small ? '['.repeat(n) : '[]')],
      ['elements', 'application/xml', (n) => `<r>${list(n - 1, () => 'x<a/>')}</r>`],
      ['elements with text', 'application/xml', (n) => `<r>${list(n - 1, (i) => `<a${i}>1</a${i}>`)}</r>`],
      ['attributes', 'application/xml', (n) => `<r${list(n - 1, (i) => ` a${i}='='`)}/>`],
      ['sections of CDATA', 'application/xml', (n) => `<r>${list(n - 1, () => '<![CDATA[x]]>')}</r>`],
      ['comments', 'application/xml', (n) => `<r>${list(n - 1, () => '<!--x-->')}</r>`],
    ]
    for (const [what, type, body] of forms) {
      it(`is read up to membersLimit, and rejected with 413 beyond: ${what}`, async () => {
        expect((await send(type, body(small))).status).to.equal(200)
        const response = await send(type, body(small + 2))
        expect([response.status, response.json.detail]).to.deep.equal([
          413,
          'The body has more than 1000 members: values, elements and attributes.',
        ])
      })
    }

    it('is XML of xmlLimit bytes, however large bodyLimit is, and is rejected with 413 beyond', async () => {
      const app = new App({ api: true, xmlLimit: 100, bodyLimit: 1000 })
      app.post('/echo', (ctx) => void (ctx.body = JSON.stringify(ctx.request.body)))
      const own = await Site.open(app)
      const statusOf = async (type: string, body: string) =>
        (await own.post('/echo', { body, headers: { 'content-type': type } })).status
      const xml = (length: number) => `<r><a>${'x'.repeat(length - 14)}</a></r>`
      try {
        expect(await statusOf('application/xml', xml(100))).to.equal(200)
        expect(await statusOf('application/xml', xml(101))).to.equal(413)
        expect(await statusOf('application/json', JSON.stringify({ a: 'x'.repeat(900) }))).to.equal(200)
      } finally {
        await own.close()
      }
    })

    it('counts no values in texts', async () => {
      const commas = ',[{\\"'.repeat(small)
      expect((await send('application/json', JSON.stringify({ commas }))).json).to.deep.equal({ commas })
      const text = `="'>${'= '.repeat(2 * small)}`
      expect((await send('application/xml', `<r><a>${text}</a></r>`)).json).to.deep.equal({ a: text })
      const markup = `<![CDATA[${'<a b="">&'.repeat(small)}]]>`
      expect((await send('application/xml', `<r><a>${markup}</a></r>`)).status).to.equal(200)
    })

    it('may be a form of 1,000 fields, and is rejected with 413 beyond', async () => {
      for (const field of ['a=1', 'a[]=1', 'a[b]=1']) {
        const form = (count: number) => list(count, () => field, '&')
        expect((await send('application/x-www-form-urlencoded', form(1000))).status, field).to.equal(200)
        const response = await send('application/x-www-form-urlencoded', form(1001))
        expect(response.json.detail, field).to.equal('The form has too many fields or files.')
      }
    })
  })

  describe('on a route of GET, HEAD or DELETE', () => {
    const broken = { body: '{', headers: { 'content-type': 'application/json' } }

    it('is ignored, whatever it contains', async () => {
      for (const method of ['GET', 'DELETE']) {
        const response = await raw(method, '/ignored', '{', 'application/json')
        expect(response, method).to.match(/^HTTP\/1.1 200 [^]*\r\n\r\n\{\}$/)
        expect(await raw(method, '/ignored', 'x', 'image/png'), method).to.match(/^HTTP\/1.1 200 /)
      }
      expect(await raw('HEAD', '/ignored', '{', 'application/json')).to.match(/^HTTP\/1.1 200 /)
    })

    it('is read with { body: true }', async () => {
      for (const method of ['GET', 'DELETE']) {
        expect(await raw(method, '/read', '{"a":1}', 'application/json'), method).to.match(/\{"a":1\}$/)
        expect(await raw(method, '/read', 'a=1', 'application/x-www-form-urlencoded'), method).to.match(
          /\{"a":"1"\}$/,
        )
        expect(await raw(method, '/read', '{', 'application/json'), method).to.match(/^HTTP\/1.1 400 /)
      }
    })

    it('is not read by another route with { body: false }', async () => {
      expect((await site.post('/unread', { ...broken, accept: 'application/json' })).json).to.deep.equal({})
    })

    function raw(method: string, path: string, body: string, type: string): Promise<string> {
      return site.raw(
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: ${type}\r\n` +
          `Content-Length: ${body.length}\r\n\r\n${body}`,
      )
    }
  })

  it('is rejected with 415 in a format that bodyFormats does not contain', async () => {
    const app = new App({ api: true, bodyFormats: ['json', 'form'] })
    app.post('/', (ctx) => void (ctx.body = 'read'))
    const one = await Site.open(app)
    try {
      for (const [type, body, status] of [
        ['application/json', '{}', 200],
        ['application/x-www-form-urlencoded', 'a=1', 200],
        ['application/xml', '<r/>', 415],
        ['multipart/form-data; boundary=X', '--X--\r\n', 415],
      ] as const) {
        const response = await one.post('/', { body, headers: { 'content-type': type } })
        expect(response.status, type).to.equal(status)
      }
    } finally {
      await one.close()
    }
  })

  describe('that is compressed', () => {
    it('may expand to a hundred times its size beyond its first 64 KiB, and is rejected with 413 beyond that', async () => {
      const app = new App({ api: true })
      app.post('/', (ctx) => void (ctx.body = 'read'))
      const one = await Site.open(app)
      try {
        const text = (bytes: number, random: number) =>
          `{"a":"${randomBytes(random).toString('hex')}${'x'.repeat(bytes)}"}`
        for (const [bytes, random, status] of [
          [60_000, 0, 200],
          [300_000, 3000, 200],
          [300_000, 0, 413],
        ] as const) {
          const body = gzipSync(text(bytes, random))
          const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
          const response = await one.post('/', { body, headers, accept: 'application/json' })
          expect(response.status, `${bytes} ${random} ${body.length}`).to.equal(status)
          if (status === 413)
            expect(response.json.detail).to.equal('The body is compressed by more than 100:1.')
        }
      } finally {
        await one.close()
      }
    })

    it('is read if its encoding is in upper case', async () => {
      expect(
        (await send('application/json', gzipSync('{"a":1}'), { 'content-encoding': 'GZip' })).json,
      ).to.deep.equal({ a: 1 })
    })

    for (const encoding of ['compress', 'gzip, gzip', 'zstd', 'x', '__proto__', 'toString']) {
      it(`is rejected with 415: ${encoding}`, async () => {
        expect(
          (await send('application/json', gzipSync('{}'), { 'content-encoding': encoding })).status,
        ).to.equal(415)
      })
    }

    for (const [encoding, whole] of [
      ['gzip', gzipSync('{"a":1}')],
      ['deflate', deflateSync('{"a":1}')],
      ['br', brotliCompressSync('{"a":1}')],
    ] as const) {
      it(`is rejected with 400 if it is broken or incomplete: ${encoding}`, async () => {
        const headers = { 'content-encoding': encoding }
        expect((await send('application/json', 'no such data', headers)).status).to.equal(400)
        expect((await send('application/json', whole.subarray(0, -4), headers)).status).to.equal(400)
        expect((await send('application/json', deflateRawSync('{}'), headers)).status).to.equal(400)
      })
    }

    it('does not end the process if it breaks beyond the limit', async () => {
      const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3])
      for (const size of [limit + 1, limit + 16_385, limit + 20_000, 2 * limit]) {
        const data = deflateRawSync(Buffer.alloc(size, 'a'), { finishFlush: constants.Z_SYNC_FLUSH })
        const bomb = Buffer.concat([head, data, Buffer.alloc(32, 0xff)])
        expect((await send('application/json', bomb, { 'content-encoding': 'gzip' })).status).to.be.oneOf([
          400, 413,
        ])
      }
    })
  })

  describe('that is rejected', () => {
    const megabyte = Buffer.alloc(1024 * 1024, 'x')
    const incompressible = Buffer.concat(
      Array.from({ length: 300 }, (_, index) => Buffer.from(`${Math.sin(index)}`.repeat(500))),
    )

    it('gets a complete response while the client is still sending 20 MB', async () => {
      for (const type of [...Object.keys(kinds), 'multipart/form-data; boundary=X', 'text/plain']) {
        const chunks = [
          Buffer.from('--X\r\nContent-Disposition: form-data; name="a"\r\n\r\n'),
          ...Array.from({ length: 20 }, () => megabyte),
        ]
        const response = await stream(type, chunks)
        expect(response.status, type).to.equal(type === 'text/plain' ? 415 : 413)
        expect(JSON.parse(response.body), type).to.include({ status: response.status })
      }
    })

    it('leaves the connection usable for the next request', async () => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      try {
        let socket: unknown
        for (const [type, headers] of [
          ['application/json', {}],
          ['application/json', { 'content-length': String(2 * megabyte.length) }],
          ['application/json', { 'content-encoding': 'gzip' }],
          ['multipart/form-data; boundary=X', {}],
          ['image/png', {}],
        ] as Array<[string, Record<string, string>]>) {
          const body = 'content-encoding' in headers ? gzipSync(Buffer.alloc(30_000_000)) : megabyte
          const chunks = 'content-encoding' in headers ? [body, incompressible] : [body, body]
          expect((await stream(type, chunks, headers, agent)).status, type).to.be.oneOf([400, 413, 415])
          const next = await stream('application/json', ['{"a":1}'], {}, agent)
          expect([next.status, next.body]).to.deep.equal([200, '{"a":1}'])
          socket ??= next.response.socket
          expect(next.response.socket, `the connection after ${type}`).to.equal(socket)
        }
      } finally {
        agent.destroy()
      }
    })
  })

  it('may end early without harm', async () => {
    for (const headers of [
      'Content-Type: application/json',
      'Content-Type: application/json\r\nContent-Encoding: gzip',
      'Content-Type: multipart/form-data; boundary=X',
    ]) {
      await new Promise<void>((closed) => {
        const call = request(`${site.url}/echo`, {
          method: 'POST',
          headers: {
            'content-length': '1000',
            ...Object.fromEntries(headers.split('\r\n').map((line) => line.split(': '))),
          },
          agent: false,
        })
        call.on('error', () => {}).on('close', closed)
        call.write('--X\r\n', () => call.destroy())
      })
    }
    expect((await site.get('/')).text).to.equal('home')
  })
})

function list(count: number, item: (index: number) => string, separator = ''): string {
  return Array.from({ length: count }, (_, index) => item(index)).join(separator)
}
