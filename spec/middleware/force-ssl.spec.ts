import { expect } from 'chai'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App, forceSSL, type Context, type ForceSSLOptions } from '../../src/index.js'
import { Site } from '../support/site.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const ok = (ctx: Context) => {
  ctx.body = 'ok'
}

const https = { 'x-forwarded-proto': 'https' }
const year = 'max-age=31536000; includeSubDomains'

describe('forceSSL(options)', () => {
  let site: Site
  let folder: string

  afterEach(async () => {
    await site.close()
    rmSync(folder, { recursive: true })
  })

  async function open(options: ForceSSLOptions = { env: 'production' }, proxy = true): Promise<void> {
    folder = temporaryFolder()
    writeFileSync(join(folder, 'hello.txt'), 'hello')
    const app = new App({ env: 'production', secret: 'a secret of the specs, long enough', proxy })
    app.get('/.well-known/challenge', ok)
    app.static('/open', folder)
    app.use(forceSSL(options))
    app.get('/', ok)
    for (const method of ['get', 'post', 'put', 'delete'] as const) app[method]('/posts', ok)
    app.static('/files', folder)
    site = await Site.open(app)
  }

  /** The status and the Location of the response to a request with this target and Host. */
  async function redirectOf(target: string, host: string, method = 'GET'): Promise<string> {
    const response = await site.raw(
      `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
    )
    const [, status] = /^HTTP\/1.1 (\d+)/.exec(response) ?? []
    const [, location = ''] = /^Location: (.*)\r$/im.exec(response) ?? []
    return `${status} ${location}`.trim()
  }

  describe('outside of production', () => {
    for (const env of ['development', 'test', 'staging']) {
      it(`does nothing in ${env}`, async () => {
        await open({ env, hosts: ['example.com'] })
        const [plain, secure] = [await site.get('/posts'), await site.get('/posts', { headers: https })]
        expect([plain.status, secure.status]).to.deep.equal([200, 200])
        expect(secure.headers.has('strict-transport-security')).to.equal(false)
      })
    }
  })

  describe('in production', () => {
    it('reads the environment of the application if it has no option env', async () => {
      await open({})
      expect((await site.get('/posts')).status).to.equal(301)
    })

    const methods = { GET: 301, HEAD: 301, POST: 308, PUT: 308, DELETE: 308 }
    for (const [method, status] of Object.entries(methods)) {
      it(`redirects ${method} with ${status} to the same URL`, async () => {
        await open()
        expect(await redirectOf('/posts?page=2&q=a%20b', 'example.com', method)).to.equal(
          `${status} https://example.com/posts?page=2&q=a%20b`,
        )
      })
    }

    it('sends Strict-Transport-Security over https', async () => {
      await open()
      const { status, headers } = await site.get('/posts', { headers: https })
      expect([status, headers.get('strict-transport-security')]).to.deep.equal([200, year])
    })

    it('sends Strict-Transport-Security with errors', async () => {
      await open()
      const { status, headers } = await site.get('/files/nope.txt', { headers: https })
      expect([status, headers.get('strict-transport-security')]).to.deep.equal([404, year])
    })

    it('never sends Strict-Transport-Security over http', async () => {
      await open()
      expect((await site.get('/posts')).headers.has('strict-transport-security')).to.equal(false)
    })

    for (const value of ['https', 'HTTPS', 'http, https']) {
      it(`recognizes https by X-Forwarded-Proto: ${value} from a trusted proxy`, async () => {
        await open()
        expect((await site.get('/posts', { headers: { 'x-forwarded-proto': value } })).status).to.equal(200)
      })
    }

    for (const value of ['http', 'https, http', 'ssl', '']) {
      it(`does not recognize https by X-Forwarded-Proto: ${value || '(empty)'}`, async () => {
        await open()
        expect((await site.get('/posts', { headers: { 'x-forwarded-proto': value } })).status).to.equal(301)
      })
    }

    it('ignores X-Forwarded-Proto without a trusted proxy', async () => {
      await open(undefined, false)
      expect((await site.get('/posts', { headers: https })).status).to.equal(301)
    })

    it('ignores routes that are declared above it, and GET /up', async () => {
      await open()
      for (const path of ['/.well-known/challenge', '/open/hello.txt', '/up']) {
        expect((await site.get(path)).status, path).to.equal(200)
      }
    })

    it('redirects static files that are declared beneath it', async () => {
      await open()
      expect(await redirectOf('/files/hello.txt', 'example.com')).to.equal(
        '301 https://example.com/files/hello.txt',
      )
      const { status, text, headers } = await site.get('/files/hello.txt', { headers: https })
      expect([status, text, headers.get('strict-transport-security')]).to.deep.equal([200, 'hello', year])
    })

    it('configures the header, or leaves it out', async () => {
      await open({ env: 'production', hsts: { maxAge: 60, includeSubDomains: false } })
      expect((await site.get('/', { headers: https })).headers.get('strict-transport-security')).to.equal(
        'max-age=60',
      )
      await site.close()
      await open({ env: 'production', hsts: { preload: true } })
      expect((await site.get('/', { headers: https })).headers.get('strict-transport-security')).to.equal(
        `${year}; preload`,
      )
      await site.close()
      await open({ env: 'production', hsts: false })
      expect((await site.get('/', { headers: https })).headers.has('strict-transport-security')).to.equal(
        false,
      )
    })
  })

  describe('with a Host that may be forged', () => {
    const targets: Array<[target: string, host: string, response: string]> = [
      ['/', 'example.com:8080', '301 https://example.com/'],
      ['/', 'EXAMPLE.com.', '301 https://example.com/'],
      ['/', '[::1]:3000', '301 https://[::1]/'],
      ['//evil.example/', 'example.com', '301 https://example.com//evil.example/'],
      ['http://evil.example/posts', 'example.com', '301 https://example.com/posts'],
      ['/', 'example.com@evil.example', '301 https://evil.example/'],
      ['/', 'example.com/evil', '400'],
      ['/', 'example.com#evil', '400'],
      ['/', 'example.com\\evil', '400'],
      ['/', '*.example.com', '400'],
      ['/', '1.2.3.999', '400'],
      ['/', '99999999999', '400'],
      ['/', '[:::]', '400'],
      // Node 24 accepts this name.
      ['/', 'xn--a', URL.canParse('https://xn--a') ? '301 https://xn--a/' : '400'],
      ['/', '', '400'],
    ]
    for (const [target, host, response] of targets) {
      // A path of `//evil.example/` has no route, so that the middleware does not run: 404.
      const expected = target.startsWith('//') ? '404' : response
      it(`returns ${expected} for ${target} of ${host || 'no host'}`, async () => {
        await open()
        expect(await redirectOf(target, host)).to.equal(expected)
      })
    }

    it('returns 400 for a host that is not in the list, also over https', async () => {
      await open({ env: 'production', hosts: ['example.com', '*.example.org', '127.0.0.1'] })
      const responses: Record<string, string> = {
        'example.com': '301 https://example.com/',
        'Example.COM:80': '301 https://example.com/',
        'www.example.org': '301 https://www.example.org/',
        'example.org': '400',
        'evilexample.org': '400',
        'evil.example/.example.org': '400',
        'evil.example?.example.org': '400',
        'evil.example#.example.org': '400',
        'evil.example\\.example.org': '400',
        '.example.org': '400',
        'www.example.com': '400',
        'example.com.evil.example': '400',
        'evil.example': '400',
      }
      for (const [host, response] of Object.entries(responses))
        expect(await redirectOf('/', host), host).to.equal(response)
      expect((await site.get('/', { headers: https })).status).to.equal(200)
      expect((await site.get('/files/hello.txt', { headers: https })).status).to.equal(200)
    })

    it('reads X-Forwarded-Host behind a proxy', async () => {
      await open({ env: 'production', hosts: ['example.com'] })
      expect((await site.get('/', { headers: { 'x-forwarded-host': 'evil.example' } })).status).to.equal(400)
      expect(
        (await site.get('/', { headers: { ...https, 'x-forwarded-host': 'example.com' } })).status,
      ).to.equal(200)
    })

    it('reads only Host if the application trusts no proxy, with a list of hosts and without one', async () => {
      const forged = 'example.com\r\nX-Forwarded-Host: evil.example'
      await open({ env: 'production' }, false)
      expect(await redirectOf('/posts', forged)).to.equal('301 https://example.com/posts')
      await site.close()
      await open({ env: 'production', hosts: ['example.com'] }, false)
      expect(await redirectOf('/posts', forged)).to.equal('301 https://example.com/posts')
      expect(await redirectOf('/posts', 'evil.example\r\nX-Forwarded-Host: example.com')).to.equal('400')
      await site.close()
      await open({ env: 'production' }, true)
      expect(await redirectOf('/posts', forged)).to.equal('301 https://evil.example/posts')
    })

    it('redirects to one configured host', async () => {
      await open({ env: 'production', host: 'example.com:8443' })
      for (const host of ['evil.example', 'www.example.com']) {
        expect(await redirectOf('/posts?a=1', host)).to.equal('301 https://example.com:8443/posts?a=1')
      }
      await site.close()
      await open({ env: 'production', host: 'example.com', hosts: ['www.example.com'] })
      expect(await redirectOf('/', 'www.example.com')).to.equal('301 https://example.com/')
      expect(await redirectOf('/', 'example.com')).to.equal('301 https://example.com/')
      expect(await redirectOf('/', 'evil.example')).to.equal('400')
    })

    it('explains why a request is rejected', async () => {
      await open({ env: 'production', hosts: ['example.com'] }, false)
      const { json } = await site.get('/', { accept: 'application/json' })
      expect(json.detail).to.equal(`"${new URL(site.url).host}" is not a host of this application.`)
    })

    for (const wrong of ['https://example.com', 'example.com/path', '', 'a b']) {
      it(`rejects ${JSON.stringify(wrong)} as the name of a host`, async () => {
        await open()
        const sentence = `forceSSL() expects host names like "example.com", not ${JSON.stringify(wrong)}.`
        expect(() => forceSSL({ hosts: [wrong] })).to.throw(sentence)
        expect(() => forceSSL({ host: wrong })).to.throw('forceSSL() expects host names')
      })
    }

    it('rejects a pattern as the host of the redirect', async () => {
      await open()
      expect(() => forceSSL({ host: '*.example.com' })).to.throw('not "*.example.com"')
    })
  })
})
