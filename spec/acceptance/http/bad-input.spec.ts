import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { parseXml } from '../../../src/http/body/xml-reader.js'
import { describeOnce, engine, itOnce } from '../../support/engine.js'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import { openEverything, thing } from '../../support/applications/everything.js'
import type { Site, SpecRequest, SpecResponse } from '../../support/site.js'

const absent = '0193b6a2-7c3e-7000-8000-00000000000a'
const types = { html: 'text/html', json: 'application/json', xml: 'application/xml' }
type Format = keyof typeof types
const formats = ['html', 'json', 'xml'] as const

/**
 * Returns the format of a request. The rejection of a request doesn't depend on the format of the response, so the requests of a
 * spec alternate between the formats.
 */
function formatOf(request: number): Format {
  return formats[request % formats.length]!
}

/** Fields as text, or as values that only JSON can hold. */
type Fields = Record<string, unknown>

/** How the fields of a record are sent. JSON can hold every value that the others hold. */
const encodings: Record<string, (fields: Fields) => SpecRequest> = {
  JSON: (fields) => ({ json: fields }),
  'an html form': (fields) => ({ form: textsOf(fields) }),
  'a multipart form': (fields) => {
    const form = new FormData()
    for (const [name, value] of textsOf(fields)) form.append(name, value)
    return { form }
  },
  XML: (fields) => ({ xml: `<r>${Object.entries(fields).map(elementOf).join('')}</r>` }),
}

function textsOf(fields: Fields): Array<[string, string]> {
  return Object.entries(fields).flatMap(([name, value]) =>
    Array.isArray(value)
      ? value.map((item): [string, string] => [`${name}[]`, String(item)])
      : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)] as [string, string]],
  )
}

function elementOf([name, value]: [string, unknown]): string {
  if (value === null) return `<${name} nil="true"/>`
  if (Array.isArray(value)) return value.map((item) => elementOf([name, item])).join('')
  const content =
    typeof value === 'object' ? Object.entries(value).map(elementOf).join('') : escape(String(value))
  return `<${name}>${content}</${name}>`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** Asserts that a rejection has its status, a body in the requested format, and its request id. */
async function expectRejection(
  response: SpecResponse,
  statuses: number[],
  format: Format,
  what = '',
): Promise<void> {
  expect(response.status, `${what}: ${response.text.slice(0, 300)}`).to.be.oneOf(statuses)
  expect(response.headers.get('x-request-id'), what).to.match(/^[\w.-]{1,128}$/)
  if (response.status >= 400) await expectBody(response, format, what)
}

async function expectBody(response: SpecResponse, format: Format, what: string): Promise<void> {
  const type = response.headers.get('content-type') ?? ''
  if (format === 'html') {
    expect(type, what).to.equal('text/html; charset=utf-8')
    expect(response.text, what).to.match(/^<!doctype html>[^]*<\/html>\s*$/i)
    return
  }
  expect(type, what).to.match(new RegExp(`^application/problem\\+${format}`))
  const problem = format === 'json' ? response.json : await parseXml(response.text)
  expect(String(problem.status), what).to.equal(String(response.status))
  expect(problem.request_id, what).to.equal(response.headers.get('x-request-id'))
}

describe('Bad input', () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let everything: Awaited<ReturnType<typeof openEverything>>
  let site: Site
  let post: string
  let row: string
  const crashes: unknown[] = []
  const note = (error: unknown) => crashes.push(error)

  before(async () => {
    process.on('uncaughtException', note).on('unhandledRejection', note)
    blog = await openExampleBlog()
    site = blog.site
    everything = await openEverything()
    const created = await site.post('/posts', {
      json: { title: 'before', description: 'kept' },
      accept: types.json,
    })
    post = `/posts/${created.json.id}`
    await site.post(`${post}/comments`, { json: { body: 'kept' }, accept: types.json })
    const made = await everything.site.post('/things', { form: thing, accept: types.json })
    row = `/things/${made.json.id}`
  })

  after(async () => {
    await site.close()
    await everything.close()
    process.off('uncaughtException', note).off('unhandledRejection', note)
  })

  /** All rows of both databases. */
  async function contents(): Promise<unknown> {
    const posts = await blog.database.query('SELECT * FROM posts ORDER BY id')
    const comments = await blog.database.query('SELECT * FROM comments ORDER BY id')
    return { posts, comments, things: await everything.database.query('SELECT * FROM things ORDER BY id') }
  }

  let kept: unknown
  beforeEach(async () => {
    kept = await contents()
  })

  afterEach('logs no error, and a rejected request changes nothing', async () => {
    await new Promise(setImmediate)
    expect(crashes.splice(0)).to.deep.equal([])
    expect(await contents()).to.deep.equal(kept)
  })

  for (const [sent, encode] of Object.entries(encodings)) {
    // Values reach the database in the same way, however they were sent.
    const describeSent = sent === 'JSON' ? describe : describeOnce
    describeSent(`in ${sent}`, () => {
      const notText = sent === 'JSON' ? [1, 1.5, true, false] : []
      for (const value of [...notText, ['a', 'b'], { a: { b: 1 } }, 'a\0b']) {
        // Forms contain text only.
        if (sent.endsWith('form') && typeof value === 'object') continue
        // XML cannot contain this character: the body is not well-formed (400).
        if (sent === 'XML' && value === 'a\0b') continue
        it(`returns 422 if the title is ${JSON.stringify(value)}`, async () => {
          for (const format of engine === 'sqlite' ? formats : (['json'] as const)) {
            const accept = types[format]
            await expectRejection(
              await site.post('/posts', { ...encode({ title: value }), accept }),
              [422],
              format,
            )
            await expectRejection(
              await site.put(post, { ...encode({ title: value }), accept }),
              [422],
              format,
            )
          }
        })
      }

      it('returns 422 for a value of the wrong type, for every attribute', async () => {
        const wrong = [
          'no such value',
          '',
          ...(sent === 'XML' ? [] : ['a\0b']),
          '2026-02-30',
          '9'.repeat(400),
          '-1e999',
          '{',
          'NaN',
        ]
        const structures = [['a', 'b'], { a: 1 }, { a: [{ b: null }] }]
        const values = sent.endsWith('form') ? wrong : [...wrong, ...structures]
        for (const value of values) {
          const names = Object.keys(thing).filter((name) => !isValueOf(name, value, sent))
          const attributes = value === '' ? names : names.flatMap((name) => [name, `maybe_${name}`])
          const fields = { ...thing, ...Object.fromEntries(attributes.map((name) => [name, value])) }
          const request = { ...encode(fields), accept: types.json }
          const what = JSON.stringify(value).slice(0, 60)
          for (const response of [
            await everything.site.post('/things', request),
            await everything.site.put(row, request),
          ]) {
            await expectRejection(response, [422], 'json', what)
            expect(response.json.errors, what).to.have.all.keys(attributes)
          }
        }
      })

      it('returns 422 for null if the attribute is not nullable', async () => {
        if (sent.endsWith('form')) return
        // The database reports one column at a time.
        for (const name of Object.keys(thing)) {
          const request = { ...encode({ ...thing, [name]: null }), accept: types.json }
          await expectRejection(await everything.site.post('/things', request), [422], 'json', name)
        }
      })

      itOnce('does not change what objects inherit', async () => {
        let requests = 0
        for (const key of [
          '__proto__',
          'constructor',
          'prototype',
          'toString',
          'hasOwnProperty',
          'id',
          '__defineSetter__',
        ]) {
          for (const value of ['x', { title: 'polluted', polluted: true }]) {
            const fields: Fields = Object.fromEntries([[key, value]])
            const format = formatOf(requests++)
            const response = await site.post('/posts', { ...encode(fields), accept: types[format] })
            await expectRejection(response, [400, 422], format, key)
          }
        }
        expect({}).not.to.have.property('polluted')
        expect({}).not.to.have.property('title')
      })
    })
  }

  itOnce('accepts a text of one megabyte, and returns 413 for a longer one', async () => {
    for (const [index, encode] of Object.values(encodings).entries()) {
      const format = formatOf(index)
      const request = { ...encode({ title: 'x'.repeat(1024 * 1024 + 1) }), accept: types[format] }
      await expectRejection(await site.post('/posts', request), [413], format)
    }
    const json = { title: 'x', description: 'x'.repeat(1_000_000) }
    const long = await site.post('/posts', { json, accept: types.json })
    expect(long.status).to.equal(201)
    expect((await site.delete(`/posts/${long.json.id}`)).status).to.equal(303)
  })

  it('returns 422 if JSON contains half a surrogate pair', async () => {
    for (const title of ['\\ud800', 'a\\udc00b', '\\u0000']) {
      const response = await site.post('/posts', {
        body: `{"title":"${title}"}`,
        headers: { 'content-type': types.json },
        accept: types.json,
      })
      await expectRejection(response, [422], 'json', title)
    }
  })

  describeOnce('in the body', () => {
    const bodies: Array<
      [what: string, type: string | undefined, body: string | Uint8Array, statuses: number[]]
    > = [
      ['broken JSON', 'application/json', '{"title":', [400]],
      ['JSON that is not an object', 'application/json', '"title"', [400]],
      ['a list of records', 'application/json', '[{"title":"A"}]', [400]],
      ['100,000 open lists', 'application/json', '['.repeat(100_000), [413]],
      ['100,000 lists', 'application/json', `{"title":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, [413]],
      ['100,000 objects', 'application/json', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, [413]],
      ['broken XML', 'application/xml', '<post><title>A</post>', [400]],
      ['40,000 open elements', 'application/xml', '<a>'.repeat(40_000), [400]],
      ['U+0000 in XML', 'application/xml', '<post><title>a\0b</title></post>', [400]],
      ['a DOCTYPE', 'application/xml', '<!DOCTYPE post><post><title>A</title></post>', [400]],
      [
        'an external entity',
        'text/xml',
        '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><p><title>&x;</title></p>',
        [400],
      ],
      [
        'an entity bomb',
        'text/xml',
        `<!DOCTYPE p [<!ENTITY a "a">${'<!ENTITY b "&a;&a;">'.repeat(50)}]><p>&b;</p>`,
        [400],
      ],
      [
        'a broken multipart form',
        'multipart/form-data; boundary=x',
        '--x\r\nContent-Disposition: form-data; name="a"',
        [400],
      ],
      ['a multipart form without a boundary', 'multipart/form-data', '--x\r\n', [400]],
      ['a body without a type', undefined, new Uint8Array([97]), [415]],
      ['text', 'text/plain', 'title=A', [415]],
      ['an image', 'image/png', 'x', [415]],
      ['an invalid type', 'title', 'title=A', [415]],
      ['two types', 'application/json, application/xml', '{}', [415]],
      ['an unknown charset', 'application/json; charset=x', '{"title":"A"}', [415]],
      ['too much JSON', 'application/json', `{"title":"${'x'.repeat(2_000_000)}"}`, [413]],
      [
        'a form that is too large',
        'application/x-www-form-urlencoded',
        `title=${'x'.repeat(2_000_000)}`,
        [413],
      ],
      [
        'XML that is too large',
        'application/xml',
        `<post><title>${'x'.repeat(2_000_000)}</title></post>`,
        [413],
      ],
      ['too many fields', 'application/x-www-form-urlencoded', 'a=1&'.repeat(5000), [413]],
    ]
    for (const [index, [what, type, body, statuses]] of bodies.entries()) {
      it(`returns ${statuses.join(' or ')} for ${what}`, async () => {
        const routes = [
          ['POST', '/posts'],
          ['PUT', post],
          ['POST', `${post}/comments`],
        ] as const
        for (const [place, [method, path]] of routes.entries()) {
          const format = formatOf(index + place)
          const request = { body, accept: types[format], headers: { ...(type && { 'content-type': type }) } }
          const response = await (method === 'POST' ? site.post(path, request) : site.put(path, request))
          await expectRejection(response, statuses, format)
        }
      })
    }

    it('is rejected if a compressed body is broken or expands too far', async () => {
      const headers = { 'content-type': types.json, 'content-encoding': 'gzip' }
      const bomb = gzipSync(`{"title":"${'x'.repeat(5_000_000)}"}`)
      await expectRejection(
        await site.post('/posts', { body: bomb, headers, accept: types.json }),
        [413],
        'json',
      )
      await expectRejection(
        await site.post('/posts', { body: 'x', headers, accept: types.json }),
        [400],
        'json',
      )
      await expectRejection(
        await site.post('/posts', {
          body: 'x',
          headers: { ...headers, 'content-encoding': 'x' },
          accept: types.json,
        }),
        [415],
        'json',
      )
    })

    it('is not read if the path or the method is rejected', async () => {
      const request = { body: '{', headers: { 'content-type': types.json }, accept: types.json }
      await expectRejection(await site.post('/nope', request), [404], 'json')
      await expectRejection(await site.put('/posts', request), [405], 'json')
    })

    it('is read by the first of two content types', async () => {
      const response = await site.raw(
        'POST /posts HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nContent-Type: text/plain\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}',
      )
      expect(response).to.match(/^HTTP\/1.1 415 /)
    })
  })

  describe('in a path', () => {
    const ids = [
      'x',
      '1',
      '-1',
      'null',
      'undefined',
      '%20',
      "'%20OR%201=1--",
      '%00',
      'a%00b',
      '..',
      '%2e%2e',
      '%2f',
      '%5c',
      '{post_id}',
    ]
    const allIds = [
      ...ids,
      ':id',
      '*',
      '%F0%9F%98%80',
      absent,
      absent.toUpperCase(),
      `${absent}0`,
      `${absent}%0a`,
      'a'.repeat(8000),
    ]
    for (const [index, id] of allIds.entries()) {
      it(`returns 404 for an id that does not exist: ${id.slice(0, 60)}`, async () => {
        const routes = [
          ['GET', ''],
          ['GET', '/edit'],
          ['PUT', ''],
          ['DELETE', ''],
          ['GET', '/comments'],
          ['GET', `/comments/${id}`],
        ] as const
        for (const [place, [method, path]] of routes.entries()) {
          const format = formatOf(index + place)
          const response = await raw(
            site,
            method,
            `/posts/${id}${path}`,
            `Accept: ${types[format]}\r\n${method === 'PUT' ? 'Content-Length: 0\r\n' : ''}`,
          )
          // `/posts/..` is a separate path, not the path of the list.
          await expectRejection(response, [404], format, `${method} ${path}`)
        }
      })
    }

    itOnce('returns 400 if the percent-encoding is broken', async () => {
      for (const path of ['/%', '/%zz', '/posts/%', '/posts/%c0%af', '/posts/%ff', '/%u0041']) {
        await expectRejection(
          await raw(site, 'GET', path, 'Accept: application/json\r\n'),
          [400],
          'json',
          path,
        )
      }
    })

    itOnce('returns 404 if no route has the path', async () => {
      const paths = [
        '//posts',
        '//evil.com/..',
        '//evil.com/%2e%2e',
        '/\\evil.com',
        '/posts//',
        '/./posts',
        '/../etc/passwd',
        '/%2e%2e/%2e%2e/etc/passwd',
      ]
      for (const path of [
        ...paths,
        '/posts%2fnew',
        '/POSTS',
        '/posts;x',
        '/posts%00',
        '/.env',
        '/application.css/',
        `/${'a/'.repeat(4000)}`,
      ]) {
        const response = await raw(site, 'GET', path, 'Accept: application/json\r\n')
        await expectRejection(response, [404], 'json', path)
        expect(response.headers.get('location'), path).to.equal(null)
      }
    })

    itOnce('ignores the host that a request target may name', async () => {
      const response = await raw(site, 'GET', 'http://evil.example/posts', 'Accept: application/json\r\n')
      expect(response.status).to.equal(200)
      expect(response.headers.get('link')).to.match(/^<\/posts\?page=1>/)
    })

    itOnce(
      'gets the response from Node, which closes the connection, if the path is longer than 16 KB',
      async () => {
        expect((await raw(site, 'GET', `/${'a'.repeat(20_000)}`, '')).status).to.equal(431)
        expect((await site.get('/posts')).status).to.equal(200)
      },
    )
  })

  describe('in a query', () => {
    const unreadable = [
      '-1',
      '0',
      '1.5',
      '2abc',
      '%202',
      '',
      'NaN',
      'Infinity',
      '0x10',
      '1e3',
      '%00',
      '%zz',
      '%F0%9F%98%80',
      '一',
      "1'--",
    ]
    for (const value of unreadable) {
      itOnce(`shows the first page for page=${value}`, async () => {
        const response = await site.get(`/posts?page=${value}&per_page=${value}`, { accept: types.json })
        expect([response.status, response.json.length]).to.deep.equal([200, 1])
        expect((await site.get(`/posts?page=${value}&per_page=${value}`)).status).to.equal(200)
      })
    }

    for (const value of ['2', '1000000000', '99999999999999999999', '9'.repeat(5000)]) {
      it(`shows an empty page beyond the last one for page=${value.slice(0, 30)}`, async () => {
        for (const format of formats) {
          expect((await site.get(`/posts?page=${value}`, { accept: types[format] })).status).to.equal(200)
        }
        expect((await site.get(`/posts?page=${value}`, { accept: types.json })).json).to.deep.equal([])
      })
    }

    it('shows at most 100 records for per_page=1e9 and more', async () => {
      for (const value of ['1000000000', '99999999999999999999']) {
        const response = await site.get(`/posts?per_page=${value}`, { accept: types.json })
        expect([response.status, response.json.length]).to.deep.equal([200, 1])
      }
    })

    itOnce(
      'may contain repeated keys, and is rejected in JSON and XML if a key with a value is unknown',
      async () => {
        for (const [query, status] of Object.entries({
          'page=5&page=1': 200,
          'page[]=1': 400,
          'page[a]=1': 400,
          '__proto__[page]=1': 400,
          '__proto__=1': 400,
          'constructor=1': 400,
          '&&&===': 400,
          '?': 200,
          ['a'.repeat(8000)]: 200,
          'page&per_page': 200,
        })) {
          expect((await site.get(`/posts?${query}`, { accept: types.html })).status, query).to.equal(200)
          for (const accept of [types.json, types.xml])
            expect((await site.get(`/posts?${query}`, { accept })).status, query).to.equal(status)
        }
      },
    )
  })

  describeOnce('in the method', () => {
    for (const method of ['TRACE', 'PROPFIND', 'MKCOL', 'LOCK', 'M-SEARCH', 'PURGE', 'PATCH']) {
      it(`returns 405 and lists the allowed methods for ${method}`, async () => {
        for (const format of formats) {
          const response = await raw(site, method, '/posts', `Accept: ${types[format]}\r\n`)
          await expectRejection(response, [405], format)
          expect(response.headers.get('allow')).to.equal('GET, HEAD, POST, OPTIONS')
        }
      })
    }

    it('is rejected by Node with 400 if HTTP has no such method', async () => {
      for (const method of ['get', 'Post', 'FOO', 'GE T', ''])
        expect((await raw(site, method, '/posts', '')).status, method).to.equal(400)
    })

    it('counts as POST if a form sends any other method than PUT, PATCH and DELETE', async () => {
      for (const method of [
        '',
        'GET',
        'POST',
        'TRACE',
        'CONNECT',
        '__proto__',
        'x'.repeat(1000),
        'DELETE\0',
        ' delete',
      ]) {
        for (const encode of [encodings['an html form'], encodings['a multipart form']]) {
          const response = await site.post(post, { ...encode?.({ _method: method }), accept: types.json })
          await expectRejection(response, [405], 'json', method)
        }
      }
      const twice = await site.post(post, {
        body: '_method[]=DELETE&_method[a]=PUT',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      await expectRejection(twice, [405], 'html')
    })

    it('is not read from JSON, XML, a query or a header', async () => {
      await expectRejection(
        await site.post(post, { json: { _method: 'DELETE' }, accept: types.json }),
        [405],
        'json',
      )
      await expectRejection(
        await site.post(post, { xml: '<r><_method>DELETE</_method></r>', accept: types.json }),
        [405],
        'json',
      )
      await expectRejection(
        await site.post(`${post}?_method=DELETE`, { form: { a: '1' }, accept: types.json }),
        [405],
        'json',
      )
      await expectRejection(
        await site.post(post, { headers: { 'x-http-method-override': 'DELETE' }, accept: types.json }),
        [405],
        'json',
      )
    })
  })

  describeOnce('in a header', () => {
    it("is replaced if it isn't a valid request id", async () => {
      for (const id of ['', ' ', 'a b', 'x'.repeat(129), 'ä', '<script>', '"', 'a,b', '%0d%0a', '../x']) {
        const response = await raw(
          site,
          'GET',
          '/nope',
          `Accept: application/json\r\nX-Request-Id: ${id}\r\n`,
        )
        await expectRejection(response, [404], 'json', id)
        expect(response.headers.get('x-request-id'), id).to.match(/^[0-9a-f-]{36}$/)
      }
      const own = await site.get('/nope', { headers: { 'x-request-id': 'My_id-1.0' }, accept: types.json })
      expect([own.headers.get('x-request-id'), own.json.request_id]).to.deep.equal(['My_id-1.0', 'My_id-1.0'])
    })

    it('returns 406 as HTML if the client accepts no offered format', async () => {
      for (const accept of [
        'image/png',
        'application/json;q=0',
        '*/*;q=0',
        'json',
        '/',
        '*',
        ';;;',
        'text/html;q=x',
        'a'.repeat(5000),
      ]) {
        const response = await site.get('/posts', { headers: { accept } })
        await expectRejection(response, accept === ';;;' ? [200] : [406], 'html', accept)
      }
      await expectRejection(
        await site.post('/posts', { json: { title: 'never saved' }, accept: 'image/png' }),
        [406],
        'html',
      )
    })

    it('returns 406 in the format that the client accepts, although the route does not offer it', async () => {
      await expectRejection(await site.get('/posts/new', { accept: types.json }), [406], 'json')
    })

    it('may be an invalid host', async () => {
      for (const host of [
        '',
        '[',
        '[::1',
        '[::1]:99999',
        'a@b',
        '@',
        ':',
        'x y',
        '%00',
        '../..',
        'http://x',
        'ä',
        'x'.repeat(5000),
      ]) {
        const response = await site.raw(`GET /posts HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
        expect(response, host).to.match(/^HTTP\/1.1 200 OK/)
      }
    })

    it('may not be repeated if it is the host', async () => {
      for (const [path, hosts] of [
        ['/posts', 'Host: a.example\r\nHost: b.example'],
        ['/posts', 'HOST: a.example\r\nX-A: 1\r\nhost: a.example'],
        ['/kit.css', 'Host: a.example\r\nHost: a.example'],
        ['/nowhere', 'Host: a.example\r\nHost:'],
      ]) {
        const response = await site.raw(`GET ${path} HTTP/1.1\r\n${hosts}\r\nConnection: close\r\n\r\n`)
        expect(response, hosts).to.match(/^HTTP\/1.1 400 Bad Request/)
      }
    })

    it('may be an invalid cookie or language', async () => {
      const cookies = [
        '_blog_session=x',
        '_blog_session=',
        '_blog_session=bnVsbA==; _blog_session.sig=x',
        'lang=%zz',
        'lang=__proto__',
        '=',
        ';;',
        'lang=../../etc/passwd',
      ]
      for (const cookie of cookies)
        expect((await site.get('/posts', { headers: { cookie } })).status, cookie).to.equal(200)
      for (const language of ['', '*', 'x', 'de;q=x', '__proto__', '-', 'en-'.repeat(1000)]) {
        expect(
          (await site.get('/posts', { headers: { 'accept-language': language } })).status,
          language,
        ).to.equal(200)
      }
    })
  })
})

/** Whether a value that is wrong elsewhere is valid here: a text column accepts any text, and a JSON column any JSON. */
function isValueOf(name: string, value: unknown, sent: string): boolean {
  if (name === 'string' || name === 'text') return typeof value === 'string' && !value.includes('\0')
  // In JSON, a text is already a JSON value; elsewhere it is parsed as JSON.
  return name === 'json' && (sent === 'JSON' || typeof value !== 'string' || isJson(value))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Sends a request that no client would send, and reads the response. */
async function raw(site: Site, method: string, path: string, headers: string): Promise<SpecResponse> {
  const bytes = await site.raw(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`)
  const [head = '', ...body] = bytes.split('\r\n\r\n')
  const [line = '', ...lines] = head.split('\r\n')
  const text = body.join('\r\n\r\n')
  return {
    status: Number(line.split(' ')[1]),
    headers: new Headers(
      lines.map((it) => [it.slice(0, it.indexOf(':')), it.slice(it.indexOf(':') + 1)] as [string, string]),
    ),
    text,
    location: '',
    get json() {
      return JSON.parse(text)
    },
  }
}
