import { expect } from 'chai'
import { App, type AppOptions, type Context } from '../../../src/index.js'
import { Site, type SpecRequest } from '../../support/site.js'

const ok = (ctx: Context) => {
  ctx.body = { method: ctx.method }
}

const form: SpecRequest = { form: { title: 'a' }, fromPage: false }
const multipart = new FormData()
multipart.set('title', 'a')
const plain: Record<string, SpecRequest> = {
  'a form': form,
  'a multipart form': { form: multipart, fromPage: false },
  'an empty form': { headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  'no body': {},
}

const listed = 'https://admin.example.com'
const foreign: Record<string, Record<string, string>> = {
  'another origin': { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  'another origin, of an old browser': { origin: 'https://evil.example' },
  'an opaque origin': { origin: 'null' },
  'another host of the same site': { origin: 'https://other.example.com', 'sec-fetch-site': 'same-site' },
  'another site without an origin': { 'sec-fetch-site': 'cross-site' },
}

describe('An API application and forms from other sites', () => {
  let site: Site
  let handled: string[]

  async function open(options: AppOptions = {}): Promise<void> {
    const app = new App({ api: true, bodyLimit: 1000, ...options })
    handled = []
    app.use((ctx, next) => {
      handled.push(ctx.method)
      return next()
    })
    app.post('/posts', ok)
    for (const method of ['get', 'put', 'patch', 'delete'] as const) app[method]('/posts/{post_id}', ok)
    site = await Site.open(app)
  }

  afterEach(() => site.close())

  /** The status of a POST from a page. */
  async function statusOf(
    request: SpecRequest,
    headers: Record<string, string>,
    path = '/posts',
  ): Promise<number> {
    const all = { ...request.headers, ...headers }
    return (await site.post(path, { ...request, headers: all, accept: 'json' })).status
  }

  for (const [what, request] of Object.entries(plain)) {
    for (const [where, headers] of Object.entries(foreign)) {
      it(`rejects ${what} from ${where} with 403`, async () => {
        await open()
        expect(await statusOf(request, headers)).to.equal(403)
        expect(handled).to.deep.equal([])
      })
    }

    it(`accepts ${what} from its own pages, from programs, and from an origin of the option cors`, async () => {
      await open({ cors: { origins: [listed] } })
      expect(await statusOf(request, { origin: site.url, 'sec-fetch-site': 'same-origin' })).to.equal(200)
      expect(await statusOf(request, {})).to.equal(200)
      expect(await statusOf(request, { 'sec-fetch-site': 'none' })).to.equal(200)
      expect(await statusOf(request, { origin: listed, 'sec-fetch-site': 'cross-site' })).to.equal(200)
    })

    it(`accepts ${what} from anywhere with a bearer token and no cookie`, async () => {
      await open()
      const from = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      expect(await statusOf(request, { ...from, authorization: 'Bearer abc' })).to.equal(200)
      expect(await statusOf(request, { ...from, authorization: 'Bearer abc', cookie: 'a=1' })).to.equal(403)
      expect(await statusOf(request, { ...from, authorization: 'Basic YTpi' })).to.equal(403)
    })
  }

  it('rejects forms from other sites with cors: "*", which only applies to responses without credentials', async () => {
    await open({ cors: { origins: '*' } })
    expect(await statusOf(form, { origin: 'https://evil.example' })).to.equal(403)
  })

  it('accepts JSON, XML and real methods, which browsers do not send to another site without permission', async () => {
    await open()
    const headers = foreign['another origin'] ?? {}
    expect(await statusOf({ json: { title: 'a' } }, headers)).to.equal(200)
    expect(await statusOf({ xml: '<post><title>a</title></post>' }, headers)).to.equal(200)
    expect(await statusOf({ headers: { 'content-type': 'application/json' } }, headers)).to.equal(200)
    for (const method of ['PUT', 'PATCH', 'DELETE', 'GET'])
      expect((await site.request(method, '/posts/1', { headers })).status, method).to.equal(200)
  })

  it('reports errors of the path, the method and the body first', async () => {
    await open()
    const headers = foreign['another origin'] ?? {}
    const type = (name: string) => ({ 'content-type': name })
    const rejections: Array<[status: number, path: string, request: SpecRequest]> = [
      [404, '/nope', form],
      [405, '/posts/1', form],
      [413, '/posts', { form: { title: 'a'.repeat(2000) }, fromPage: false }],
      [415, '/posts', { body: 'a', headers: type('text/plain') }],
      [400, '/posts', { body: '%', headers: type('multipart/form-data') }],
    ]
    for (const [status, path, request] of rejections)
      expect(await statusOf(request, headers, path), path).to.equal(status)
  })

  it('explains the rejection', async () => {
    await open()
    const response = await site.post('/posts', {
      ...form,
      accept: 'json',
      headers: { origin: 'https://evil.example' },
    })
    expect(response.json.detail).to.equal(
      `Another site (https://evil.example) sent the request. This site is ${site.url}.`,
    )
  })

  it('does not let a form override the method', async () => {
    await open()
    const overriding = (method: string) => ({ form: { _method: method }, fromPage: false })
    expect((await site.post('/posts/1', overriding('DELETE'))).status).to.equal(405)
    expect((await site.post('/posts', { ...overriding('DELETE'), accept: 'json' })).json).to.deep.equal({
      method: 'POST',
    })
    expect(handled).to.deep.equal(['POST'])
  })
})
