import { expect } from 'chai'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  App,
  csrf,
  DeclarationError,
  HttpError,
  type AppOptions,
  type CorsOptions,
} from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { Site, type SpecRequest, type SpecResponse } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const origin = 'https://admin.example.com'
const exposed =
  'Database-Position,ETag,Idempotent-Replayed,Link,Location,RateLimit,RateLimit-Policy,Retry-After,X-Request-Id,X-Total-Count'

describe('new App({ cors })', () => {
  let site: Site
  let folder: string

  async function open(cors?: CorsOptions, options: AppOptions = {}): Promise<void> {
    folder = temporaryFolder()
    writeFileSync(join(folder, 'hello.txt'), 'hello')
    const app = new App({ api: true, bodyLimit: 100, ...(cors && { cors }), ...options })
    app.get('/posts', (ctx) => void (ctx.body = ctx.body ?? { posts: [] }))
    app.post('/posts', (ctx) => void (ctx.body = { created: true }))
    app.patch('/posts/{post_id}', (ctx) => void (ctx.body = { changed: true }))
    app.get('/varying', (ctx) => {
      ctx.set('Vary', 'Accept-Encoding')
      ctx.body = 'varies'
    })
    app.patch('/invitations/{token}', (ctx) => void (ctx.body = 'accepted'))
    app.get('/failing', () => Promise.reject(new Error('broken')))
    app.get('/payment', () => {
      throw new HttpError(402, 'pay first', { 'Retry-After': '5' })
    })
    app.options('/own', (ctx) => void (ctx.body = 'own'))
    app.static('/files', folder)
    site = await Site.open(app)
  }

  afterEach(async () => {
    await site.close()
    rmSync(folder, { recursive: true })
  })

  const listed: CorsOptions = { origins: [origin, 'http://localhost:5173/'] }

  function preflight(path: string, headers: Record<string, string> = {}): Promise<SpecResponse> {
    return site.request('OPTIONS', path, {
      headers: { origin, 'access-control-request-method': 'PATCH', ...headers },
    })
  }

  /** The CORS headers, by their names without the prefix. */
  function corsOf({ headers }: SpecResponse): Record<string, string> {
    const entries = [...headers].filter(([name]) => name.startsWith('access-control-'))
    return Object.fromEntries(entries.map(([name, value]) => [name.replace('access-control-', ''), value]))
  }

  const varies = ({ headers }: SpecResponse): boolean => /\borigin\b/i.test(headers.get('vary') ?? '')

  describe('with a list of origins', () => {
    it('responds to a preflight of a known path with the methods of the path', async () => {
      await open(listed)
      const response = await preflight('/posts/1', {
        'access-control-request-headers': 'content-type,x-kind',
      })
      expect(response.status).to.equal(204)
      expect(response.text).to.equal('')
      expect(corsOf(response)).to.deep.equal({
        'allow-origin': origin,
        'allow-methods': 'PATCH,OPTIONS',
        'allow-headers': 'content-type,x-kind',
        'max-age': '600',
      })
      expect(varies(response)).to.equal(true)
      expect(corsOf(await preflight('/posts'))['allow-methods']).to.equal('GET,HEAD,POST,OPTIONS')
    })

    it('responds to a preflight before an OPTIONS route runs, and leaves other OPTIONS requests to the route', async () => {
      await open(listed)
      expect(corsOf(await preflight('/own'))['allow-origin']).to.equal(origin)
      const response = await site.request('OPTIONS', '/own', { headers: { origin } })
      expect([response.status, response.text]).to.deep.equal([200, 'own'])
    })

    it('redacts secret parameters of a path in the log of a preflight', async () => {
      const { logger, lines } = captureLog()
      await open(listed, { logger })
      expect((await preflight('/invitations/s3cret')).status).to.equal(204)
      expect(lines.map(({ path }) => path)).to.include('/invitations/[FILTERED]')
      expect(JSON.stringify(lines)).not.to.include('s3cret')
    })

    it('returns 404 for a preflight of an unknown path', async () => {
      await open(listed)
      const response = await preflight('/nope')
      expect([response.status, varies(response)]).to.deep.equal([404, true])
      expect(corsOf(response)).not.to.have.property('allow-methods')
    })

    it('allows a listed origin to read a response, and its headers of lists and errors', async () => {
      await open(listed)
      for (const from of [origin, 'http://localhost:5173']) {
        const response = await site.get('/posts', { headers: { origin: from } })
        expect(corsOf(response)).to.deep.equal({ 'allow-origin': from, 'expose-headers': exposed })
        expect(varies(response)).to.equal(true)
      }
    })

    const others = [
      'https://evil.example',
      'null',
      'https://admin.example.com.evil.example',
      'http://admin.example.com',
    ]
    for (const other of [...others, 'https://admin.example.com:8443', '']) {
      it(`allows ${other || 'a request without an origin'} to read nothing`, async () => {
        await open({ ...listed, credentials: true })
        const response = await site.get('/posts', { headers: { origin: other } })
        expect([response.status, corsOf(response), varies(response)]).to.deep.equal([200, {}, true])
        const asked = await preflight('/posts/1', { origin: other })
        expect([asked.status, corsOf(asked), varies(asked)]).to.deep.equal([204, {}, true])
      })
    }

    it('adds Origin to a Vary header of the handler', async () => {
      await open(listed)
      const response = await site.get('/varying', { headers: { origin } })
      expect(response.headers.get('vary')).to.equal('Accept-Encoding, Origin')
    })

    it('allows a listed origin to read a file', async () => {
      await open(listed)
      const response = await site.get('/files/hello.txt', { headers: { origin } })
      expect([response.text, corsOf(response)['allow-origin']]).to.deep.equal(['hello', origin])
    })

    const failing: Array<[status: number, what: string, method: string, path: string, request: SpecRequest]> =
      [
        [
          400,
          'malformed JSON',
          'POST',
          '/posts',
          { body: '{', headers: { 'content-type': 'application/json' } },
        ],
        [400, 'a malformed path', 'GET', '/posts/%', {}],
        [402, 'an error of a handler', 'GET', '/payment', {}],
        [404, 'an unknown path', 'GET', '/nope', {}],
        [405, 'another method', 'DELETE', '/posts', {}],
        [413, 'a large body', 'POST', '/posts', { json: { title: 'a'.repeat(200) } }],
        [415, 'another type', 'POST', '/posts', { body: 'a', headers: { 'content-type': 'text/csv' } }],
        [500, 'a broken handler', 'GET', '/failing', {}],
      ]
    for (const [status, what, method, path, request] of failing) {
      it(`allows a listed origin to read ${status} for ${what}`, async () => {
        await open({ ...listed, credentials: true })
        const response = await site.request(method, path, {
          ...request,
          accept: 'json',
          headers: { ...request.headers, origin },
        })
        expect([response.status, response.json.status]).to.deep.equal([status, status])
        expect(corsOf(response)).to.deep.equal({
          'allow-origin': origin,
          'allow-credentials': 'true',
          'expose-headers': exposed,
        })
        expect(varies(response)).to.equal(true)
      })
    }
  })

  it('configures credentials, headers and the age of a preflight', async () => {
    await open({
      origins: [origin],
      credentials: true,
      allowHeaders: ['Content-Type', 'X-Kind'],
      exposeHeaders: ['X-Rows'],
      maxAge: 0,
    })
    expect(
      corsOf(await preflight('/posts/1', { 'access-control-request-headers': 'x-other' })),
    ).to.deep.equal({
      'allow-origin': origin,
      'allow-credentials': 'true',
      'allow-methods': 'PATCH,OPTIONS',
      'allow-headers': 'Content-Type,X-Kind,Database-Position',
      'max-age': '0',
    })
    expect(corsOf(await site.get('/posts', { headers: { origin } }))['expose-headers']).to.equal(
      `${exposed},X-Rows`,
    )
  })

  it('allows every site to read responses without credentials with "*"', async () => {
    await open({ origins: '*' })
    for (const from of [origin, 'null']) {
      const response = await site.get('/posts', { headers: { origin: from } })
      expect(corsOf(response)).to.deep.equal({ 'allow-origin': '*', 'expose-headers': exposed })
      expect(corsOf(await preflight('/posts', { origin: from }))).to.include({ 'allow-origin': '*' })
    }
  })

  it('allows changes by a listed origin only if csrf() also trusts the origin', async () => {
    await open()
    for (const [trustedOrigins, status] of [
      [[], 403],
      [[origin], 200],
    ] as const) {
      const app = new App({ cors: { origins: [origin], credentials: true } })
      app.use(csrf({ trustedOrigins }))
      app.post('/posts', (ctx) => void (ctx.body = 'created'))
      const other = await Site.open(app)
      try {
        const response = await other.post('/posts', {
          json: {},
          headers: { origin, 'sec-fetch-site': 'same-site' },
        })
        expect([response.status, corsOf(response)['allow-origin']]).to.deep.equal([status, origin])
      } finally {
        await other.close()
      }
    }
  })

  it('sets nothing without the option', async () => {
    await open()
    for (const response of [await site.get('/posts', { headers: { origin } }), await preflight('/posts/1')])
      expect([corsOf(response), varies(response)]).to.deep.equal([{}, false])
  })

  it('needs no session for a preflight', async () => {
    await open({ ...listed, credentials: true }, { api: false })
    expect((await preflight('/posts/1')).headers.getSetCookie()).to.deep.equal([])
  })

  it('is rejected if every site could read responses with credentials', async () => {
    await open()
    expect(() => new App({ cors: { origins: '*', credentials: true } })).to.throw(
      DeclarationError,
      'The option cors cannot allow credentials to every site. List the origins instead of "*".',
    )
  })

  for (const wrong of [
    '*',
    'null',
    'admin.example.com',
    'https://admin.example.com/app',
    'https://*.example.com',
  ]) {
    it(`is rejected with ${wrong} as an origin`, async () => {
      await open()
      expect(() => new App({ cors: { origins: [wrong] } })).to.throw(
        DeclarationError,
        `The option cors expects origins like "https://example.com", not "${wrong}".`,
      )
    })
  }
})
