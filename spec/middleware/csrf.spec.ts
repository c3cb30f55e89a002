import { expect } from 'chai'
import {
  App,
  csrf,
  DeclarationError,
  type AppOptions,
  type Context,
  type CsrfOptions,
} from '../../src/index.js'
import { Site, type SpecRequest, type SpecResponse } from '../support/site.js'

const ok = (ctx: Context) => {
  ctx.body = `${ctx.method} ok`
}

const xml = '<post><title>a</title></post>'

/** How a request is sent: its real method, its body, and whether a plain form can send it as a POST. */
interface Sent {
  method: string
  body: (fields: Record<string, string>) => SpecRequest
  isPlain: boolean
  hasFields: boolean
}

const form = (fields: Record<string, string>): SpecRequest => ({ form: { title: 'a', ...fields } })
const json = (): SpecRequest => ({ json: { title: 'a' } })
const nothing = (): SpecRequest => ({})
const multipart = (fields: Record<string, string>): SpecRequest => {
  const body = new FormData()
  for (const [name, value] of Object.entries({ title: 'a', ...fields })) body.set(name, value)
  return { form: body }
}

const requests: Record<string, Sent> = {
  'POST of a form': { method: 'POST', body: form, isPlain: true, hasFields: true },
  'POST of a multipart form': { method: 'POST', body: multipart, isPlain: true, hasFields: true },
  'POST of JSON': { method: 'POST', body: json, isPlain: false, hasFields: false },
  'POST of XML': { method: 'POST', body: () => ({ xml }), isPlain: false, hasFields: false },
  'POST without a body': { method: 'POST', body: nothing, isPlain: true, hasFields: false },
  'PUT by a form with _method': {
    method: 'POST',
    body: (fields) => form({ _method: 'PUT', ...fields }),
    isPlain: true,
    hasFields: true,
  },
  'DELETE by a multipart form with _method': {
    method: 'POST',
    body: (fields) => multipart({ _method: 'DELETE', ...fields }),
    isPlain: true,
    hasFields: true,
  },
  'real PUT of a form': { method: 'PUT', body: form, isPlain: false, hasFields: true },
  'real PUT of JSON': { method: 'PUT', body: json, isPlain: false, hasFields: false },
  'real PATCH of JSON': { method: 'PATCH', body: json, isPlain: false, hasFields: false },
  'real DELETE without a body': { method: 'DELETE', body: nothing, isPlain: false, hasFields: false },
}

const sites = [undefined, 'same-origin', 'same-site', 'cross-site', 'none']
const origins = [undefined, 'own', 'other', 'null']
const tokens = [
  'no token',
  'a token',
  'a token of an older page',
  'the token of an ended session',
  "another session's token",
]
const validTokens = new Set(['a token', 'a token of an older page'])

/** Requests that are sent with each combination of headers and tokens: one that a plain form can send, and one that it cannot. */
const thorough = new Set(['POST of a form', 'real PUT of JSON'])

/** The tokens of a request. With the headers of a site or an origin, most requests take turns with the tokens. */
function tokensOf(what: string, site: string | undefined, origin: string | undefined): string[] {
  if (thorough.has(what) || ((!site || site === 'same-site') && !origin)) return tokens
  const turn = Object.keys(requests).indexOf(what) + sites.indexOf(site) + origins.indexOf(origin)
  return [tokens[turn % tokens.length]!]
}

/** Design, section 7, rule by rule. */
function expectedStatus(
  sent: Sent,
  site: string | undefined,
  origin: string | undefined,
  token: string,
): number {
  if (site === 'cross-site' || origin === 'other' || origin === 'null') return 403
  if (validTokens.has(token)) return 200
  if (site === 'same-site') return 403
  return sent.isPlain ? 403 : 200
}

/** A site with pages that show the token, and a path with a route for every method. */
async function open(options?: CsrfOptions, settings: AppOptions = {}): Promise<Site> {
  const app = new App(settings)
  app.post('/callback', ok)
  app.use(csrf(options))
  app.get('/form', (ctx) => {
    ctx.body = `name="authenticity_token" value="${ctx.csrfToken}"`
  })
  app.get('/public', (ctx) => {
    ctx.set('Cache-Control', 'public, max-age=60')
    ctx.body = ctx.query['token'] ? `<b>${ctx.csrfToken}</b>` : 'no token'
  })
  app.get('/ended', (ctx) => {
    ctx.session = null
    ctx.body = 'ended'
  })
  app.get('/renewed', (ctx) => {
    ctx.session = null
    ctx.body = `name="authenticity_token" value="${ctx.csrfToken}"`
  })
  app.post('/sign-in', (ctx) => {
    ctx.renewSession()
    ctx.session['user'] = 'Anna'
    ctx.body = 'signed in'
  })
  for (const method of ['post', 'put', 'patch', 'delete', 'options'] as const) app[method]('/thing', ok)
  app.get('/thing', ok)
  return Site.open(app)
}

describe('csrf(options)', () => {
  describe('decides by method, body, headers and token', () => {
    let site: Site
    let mine: { cookie: string; tokens: Record<string, string | undefined> }

    // One application and its sessions suffice for all rows: none of them changes anything.
    before(async () => {
      site = await open()
      const [ended, other] = [await visit(site), await visit(site)]
      const own = await visit(site)
      const again = await site.get('/form', { headers: { cookie: own.cookie } })
      mine = {
        cookie: own.cookie,
        tokens: {
          'a token': tokenOf(again),
          'a token of an older page': own.token,
          'the token of an ended session': ended.token,
          "another session's token": other.token,
        },
      }
    })

    after(() => site.close())

    for (const [what, sent] of Object.entries(requests)) {
      for (const fetchSite of sites) {
        for (const origin of origins) {
          describe(`${what}, Sec-Fetch-Site ${fetchSite ?? 'absent'}, Origin ${origin ?? 'absent'}`, () => {
            for (const token of tokensOf(what, fetchSite, origin)) {
              const places =
                token === 'a token' && sent.hasFields
                  ? ['field', 'header']
                  : [sent.hasFields ? 'field' : 'header']
              for (const place of places) {
                const status = expectedStatus(sent, fetchSite, origin, token)
                it(`${token}${token === 'no token' ? '' : ` in the ${place}`}: ${status}`, async () => {
                  const value = mine.tokens[token]
                  const inField = place === 'field' && value !== undefined
                  const response = await site.request(sent.method, '/thing', {
                    ...sent.body(inField ? { authenticity_token: value } : {}),
                    // A response in JSON is faster than the page of an error.
                    accept: 'application/json',
                    fromPage: false,
                    headers: {
                      cookie: mine.cookie,
                      ...(fetchSite && { 'sec-fetch-site': fetchSite }),
                      ...(origin && {
                        origin: { own: site.url, other: 'https://evil.example' }[origin] ?? origin,
                      }),
                      ...(place === 'header' && value && { 'x-csrf-token': value }),
                    },
                  })
                  expect(response.status).to.equal(status)
                })
              }
            }
          })
        }
      }
    }

    for (const method of ['GET', 'HEAD', 'OPTIONS']) {
      it(`${method} from another site: 200`, async () => {
        const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
        expect((await site.request(method, '/thing', { headers })).status).to.equal(200)
      })
    }

    const wrong = { empty: '', short: 'abc', 'cut off': -1, 'longer than it was': 'x', changed: '!' }
    for (const [how, change] of Object.entries(wrong)) {
      it(`a token that is ${how}: 403`, async () => {
        const token = mine.tokens['a token'] ?? ''
        const changed = {
          '-1': token.slice(0, -4),
          x: `${token}AAAA`,
          '!': `${token[0] === 'A' ? 'B' : 'A'}${token.slice(1)}`,
        }
        const value = changed[String(change) as keyof typeof changed] ?? change
        const response = await site.post('/thing', {
          form: { authenticity_token: String(value) },
          fromPage: false,
          headers: { cookie: mine.cookie },
        })
        expect(response.status).to.equal(403)
      })
    }

    it('a token with a changed cookie, and without one: 403', async () => {
      for (const cookie of [mine.cookie.replace(/=..../, '=AAAA'), '']) {
        const headers = { cookie, 'x-csrf-token': mine.tokens['a token'] ?? '' }
        expect(
          (await site.post('/thing', { form: { a: '1' }, fromPage: false, headers })).status,
          cookie,
        ).to.equal(403)
      }
    })

    it('a token as a field of an object: 403', async () => {
      const body = `authenticity_token[a]=${mine.tokens['a token']}`
      const headers = { cookie: mine.cookie, 'content-type': 'application/x-www-form-urlencoded' }
      expect((await site.post('/thing', { body, headers })).status).to.equal(403)
    })

    it('text, and A body without a type: 415, before all of this', async () => {
      for (const type of ['text/plain', 'text/plain; application/json', '']) {
        const body = new TextEncoder().encode('a=1')
        const headers = { cookie: mine.cookie, 'content-type': type }
        expect((await site.post('/thing', { body, headers })).status, type).to.equal(415)
      }
    })

    for (const type of ['application/json', 'text/xml', 'application/problem+json; charset=utf-8']) {
      const headers = { 'content-type': type }

      it(`an empty body that is declared as ${type}: 200, because a plain form cannot send it`, async () => {
        expect((await site.post('/thing', { headers })).status, 'Content-Length: 0').to.equal(200)
        const chunked = { headers, body: new Blob([]).stream() }
        expect((await site.post('/thing', chunked)).status, 'chunked').to.equal(200)
        expect(
          await site.raw(
            `POST /thing HTTP/1.1\r\nHost: a\r\nContent-Type: ${type}\r\nConnection: close\r\n\r\n`,
          ),
          'no length',
        ).to.match(/^HTTP\/1.1 200 /)
      })

      it(`an empty body that is declared as ${type}, from another site: 403`, async () => {
        for (const fetchSite of ['cross-site', 'same-site']) {
          const response = await site.post('/thing', { headers: { ...headers, 'sec-fetch-site': fetchSite } })
          expect(response.status, fetchSite).to.equal(403)
        }
      })
    }

    it('an empty body of a type that a plain form can send: 403', async () => {
      for (const type of [
        'application/x-www-form-urlencoded',
        'text/plain;application/json',
        'multipart/form-data',
      ])
        expect((await site.post('/thing', { headers: { 'content-type': type } })).status, type).to.equal(403)
    })

    describe('with a bearer token', () => {
      const bearer = { authorization: 'Bearer abc' }
      const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      const sent: Record<string, SpecRequest> = {
        JSON: { json: {} },
        'a form': { form: { a: '1' }, fromPage: false },
        'no body': {},
      }

      for (const [what, request] of Object.entries(sent)) {
        it(`${what}, without a session cookie, from anywhere: 200`, async () => {
          const places: Array<Record<string, string>> = [{}, foreign, { origin: 'null' }]
          for (const from of places) {
            const headers = { ...bearer, ...from, cookie: 'lang=de' }
            expect((await site.post('/thing', { ...request, headers })).status).to.equal(200)
          }
        })

        it(`${what}, with a session cookie, from another site: 403`, async () => {
          for (const cookie of [mine.cookie, '_kit_session=nothing', 'lang=de; _kit_session=']) {
            const headers = { ...bearer, ...foreign, cookie }
            expect((await site.post('/thing', { ...request, headers })).status, cookie).to.equal(403)
          }
        })
      }

      it('an invalid bearer token: 403', async () => {
        for (const authorization of ['Basic YTpi', 'Bearer', 'Bearer ', 'Negotiate abc', 'abc']) {
          const response = await site.post('/thing', {
            form: { a: '1' },
            fromPage: false,
            headers: { authorization, cookie: 'lang=de' },
          })
          expect(response.status, authorization).to.equal(403)
        }
      })
    })

    it('routes declared above it: 200', async () => {
      const headers = { origin: 'https://pay.example', 'sec-fetch-site': 'cross-site' }
      expect(
        (await site.post('/callback', { form: { paid: '1' }, fromPage: false, headers })).status,
      ).to.equal(200)
    })

    it('explains why a request is rejected', async () => {
      const accept = 'application/json'
      const forged = await site.post('/thing', {
        accept,
        json: {},
        headers: { origin: 'https://evil.example' },
      })
      expect(forged.json.detail).to.equal(
        `Another site (https://evil.example) sent the request. This site is ${site.url}.`,
      )
      const form = await site.post('/thing', { accept, form: { a: '1' }, fromPage: false })
      expect(form.json.detail).to.equal('The form has no valid token. Reload its page and send it again.')
    })
  })

  describe('tokens, origins and environments', () => {
    let site: Site

    afterEach(() => site.close())

    describe('the token', () => {
      it('differs on each page, and each text is valid', async () => {
        site = await open()
        const first = tokenOf(await site.get('/form'))
        const second = tokenOf(await site.get('/form'))
        expect(first)
          .to.match(/^[\w-]{86}$/)
          .and.not.to.equal(second)
        for (const token of [first, second]) {
          const response = await site.post('/thing', {
            form: { authenticity_token: token ?? '' },
            fromPage: false,
          })
          expect(response.status).to.equal(200)
        }
      })

      it('is invalid after the session has ended', async () => {
        site = await open()
        await site.get('/form')
        expect((await site.post('/thing', { form: { a: '1' } })).status).to.equal(200)
        await site.get('/ended')
        expect((await site.post('/thing', { form: { a: '1' } })).status).to.equal(403)
      })

      it('belongs to the new session on a page that ends one', async () => {
        site = await open()
        const old = tokenOf(await site.get('/form')) ?? ''
        await site.get('/renewed')
        expect((await site.post('/thing', { form: { a: '1' } })).status).to.equal(200)
        expect(
          (await site.post('/thing', { form: { authenticity_token: old }, fromPage: false })).status,
        ).to.equal(403)
      })

      it('is invalid after the session has been renewed', async () => {
        site = await open()
        await site.get('/form')
        expect((await site.post('/sign-in', { form: { a: '1' } })).status).to.equal(200)
        expect((await site.post('/thing', { form: { a: '1' } })).status).to.equal(403)
        await site.get('/form')
        expect((await site.post('/thing', { form: { a: '1' } })).status).to.equal(200)
      })

      it('creates no session if its page is requested with HEAD', async () => {
        site = await open()
        expect((await site.request('HEAD', '/form')).headers.getSetCookie()).to.deep.equal([])
      })

      it('creates a session only if a page shows it', async () => {
        site = await open()
        expect((await site.get('/thing')).headers.getSetCookie()).to.deep.equal([])
        expect((await site.get('/form')).headers.getSetCookie()).not.to.deep.equal([])
      })

      it('keeps its page out of shared caches', async () => {
        site = await open()
        expect((await site.get('/form')).headers.get('cache-control')).to.equal('private, no-cache')
        expect((await site.get('/public?token=1')).headers.get('cache-control')).to.equal('private, no-cache')
        expect((await site.get('/public')).headers.get('cache-control')).to.equal('public, max-age=60')
      })
    })

    describe('the origin of the application', () => {
      const own: Array<[headers: Record<string, string>, proxy: boolean, status: number]> = [
        [
          { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'example.com', origin: 'https://example.com' },
          true,
          200,
        ],
        [
          {
            'x-forwarded-proto': 'https',
            'x-forwarded-host': 'example.com:443',
            origin: 'https://example.com',
          },
          true,
          200,
        ],
        [
          { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'example.com', origin: 'http://example.com' },
          true,
          403,
        ],
        [
          {
            'x-forwarded-proto': 'https',
            'x-forwarded-host': 'example.com',
            origin: 'https://example.com:8443',
          },
          true,
          403,
        ],
        [{ 'x-forwarded-host': 'example.com', origin: 'http://example.com' }, false, 403],
        [{ origin: 'http://127.0.0.1' }, false, 403],
      ]
      for (const [headers, proxy, status] of own) {
        it(`is ${status === 200 ? '' : 'not '}${JSON.stringify(headers)} ${proxy ? 'behind' : 'without'} a proxy`, async () => {
          site = await open({}, { proxy })
          expect((await site.post('/thing', { json: {}, headers })).status).to.equal(status)
        })
      }
    })

    describe('with trusted origins', () => {
      const origin = 'https://admin.example.com'
      const trusted: Array<[what: string, request: SpecRequest, status: number]> = [
        ['JSON across sites', { json: {}, headers: { origin, 'sec-fetch-site': 'cross-site' } }, 200],
        ['JSON of the same site', { json: {}, headers: { origin, 'sec-fetch-site': 'same-site' } }, 200],
        [
          'a form with a token',
          { form: { a: '1' }, headers: { origin, 'sec-fetch-site': 'cross-site' } },
          200,
        ],
        [
          'a form without one',
          { form: { a: '1' }, fromPage: false, headers: { origin, 'sec-fetch-site': 'cross-site' } },
          403,
        ],
        [
          'JSON of another origin',
          { json: {}, headers: { origin: 'https://admin.example.com.evil.example' } },
          403,
        ],
        [
          'JSON across sites without an origin',
          { json: {}, headers: { 'sec-fetch-site': 'cross-site' } },
          403,
        ],
      ]
      for (const [what, request, status] of trusted) {
        it(`returns ${status} for ${what}`, async () => {
          site = await open({ trustedOrigins: [`${origin}/`] })
          await site.get('/form')
          expect((await site.post('/thing', request)).status).to.equal(status)
        })
      }

      for (const wrong of ['admin.example.com', 'https://example.com/path', 'null', '*', 'file:///x']) {
        it(`rejects ${wrong} as an origin`, async () => {
          site = await open()
          expect(() => csrf({ trustedOrigins: [wrong] })).to.throw(
            `csrf() expects origins like "https://example.com", not "${wrong}".`,
          )
        })
      }
    })

    it('stops the start of an API application, which has no session', async () => {
      site = await open()
      const app = new App({ api: true })
      app.group('/admin').use(csrf())
      expect(() => app.callback()).to.throw(
        DeclarationError,
        'csrf() needs sessions, but an API application has none. Remove csrf().',
      )
    })

    for (const env of ['development', 'test', 'production']) {
      it(`rejects a form without a token in ${env}`, async () => {
        site = await open({}, { env, secret: 'a secret of the specs, long enough' })
        const response = await site.post('/thing', { form: { a: '1' }, accept: 'application/json' })
        expect([response.status, response.json.detail]).to.deep.equal([
          403,
          'The form has no valid token. Reload its page and send it again.',
        ])
      })
    }
  })
})

/** A new visitor's session and its token. */
async function visit(site: Site): Promise<{ cookie: string; token: string | undefined }> {
  const response = await site.get('/form', { headers: { cookie: '' } })
  const cookie = response.headers.getSetCookie().map((one) => one.split(';')[0])
  return { cookie: cookie.join('; '), token: tokenOf(response) }
}

function tokenOf({ text }: SpecResponse): string | undefined {
  return /value="([^"]+)"/.exec(text)?.[1]
}
