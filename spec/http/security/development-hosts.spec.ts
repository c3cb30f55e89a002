import { expect } from 'chai'
import { App, type AppOptions } from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { Site } from '../../support/site.js'

const variable = 'DEVELOPMENT_HOSTS'
const before = process.env[variable]

describe('The hosts of an application', () => {
  let site: Site

  async function open(options: AppOptions = {}): Promise<void> {
    const app = new App({ api: true, env: 'development', logger: captureLog().logger, ...options })
    app.get('/secret-of-the-routes', (ctx) => void (ctx.body = 'home'))
    site = await Site.open(app)
  }

  afterEach(async () => {
    await site.close()
    if (before === undefined) delete process.env[variable]
    else process.env[variable] = before
  })

  /** The response to a request for a host, as a browser sends it after it has resolved the name. */
  async function answerTo(host: string, path = '/secret-of-the-routes', header = ''): Promise<string> {
    return site.raw(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: text/html\r\n${header}Connection: close\r\n\r\n`,
    )
  }

  async function statusOf(host: string): Promise<number> {
    return Number((await answerTo(host)).split(' ')[1])
  }

  describe('in development', () => {
    const here = ['localhost', 'LOCALHOST:3000', 'localhost.', 'blog.localhost:3000', 'a.b.localhost']
    for (const host of [
      ...here,
      '127.0.0.1:3000',
      '192.168.1.20',
      '0.0.0.0:3000',
      '[::1]:3000',
      '[fe80::1]',
    ]) {
      it(`include ${host}, which is this machine`, async () => {
        await open()
        expect(await statusOf(host)).to.equal(200)
      })
    }

    const elsewhere = [
      'evil.example',
      'evil.example:3000',
      'localhost.evil.example',
      'evillocalhost',
      '127.1',
    ]
    for (const host of [
      ...elsewhere,
      '127.0.0.1.evil.example',
      'localhost@evil.example',
      '[::1',
      '*.localhost',
      '',
    ]) {
      it(`exclude ${host || 'a missing host'}, which could point here by DNS rebinding`, async () => {
        await open()
        expect(await statusOf(host)).to.equal(403)
      })
    }

    it('are explained in the response of a rejected request, without details of the application', async () => {
      await open()
      for (const path of ['/secret-of-the-routes', '/nope', '/kit.css']) {
        const response = await answerTo('evil.example', path)
        expect(response)
          .to.match(/^HTTP\/1.1 403 /)
          .and.to.include('&quot;evil.example&quot; is not a host of this application in development')
          .and.to.include('DEVELOPMENT_HOSTS')
          .and.to.include('developmentHosts')
          .and.not.to.include('<code>/secret-of-the-routes</code>')
          .and.not.to.include('.ts:')
      }
    })

    it('are not read from X-Forwarded-Host, which a page can set', async () => {
      await open({ proxy: true })
      const forged = 'X-Forwarded-Host: localhost\r\n'
      expect(await answerTo('evil.example', '/nope', forged)).to.match(/^HTTP\/1.1 403 /)
    })

    it('include the option developmentHosts', async () => {
      await open({ developmentHosts: ['Blog.example', '*.tunnel.example'] })
      expect(await statusOf('blog.example:3000')).to.equal(200)
      expect(await statusOf('a.tunnel.example')).to.equal(200)
      expect(await statusOf('tunnel.example')).to.equal(403)
      expect(await statusOf('localhost')).to.equal(200)
    })

    it('include DEVELOPMENT_HOSTS, and the address that the application listens on', async () => {
      process.env[variable] = 'web, *.tunnel.example'
      await open({ host: 'devbox' })
      for (const host of ['web:3000', 'a.tunnel.example', 'devbox:3000'])
        expect(await statusOf(host), host).to.equal(200)
      expect(await statusOf('evil.example')).to.equal(403)
    })

    const forwarded: Array<[what: string, host: string, header: string, status: number]> = [
      ['Host is localhost', 'localhost', 'X-Forwarded-For: 192.0.2.1', 403],
      ['Host is an address', '127.0.0.1:3000', 'X-Forwarded-Proto: https', 403],
      ['Host is where it listens', 'devbox', 'X-Forwarded-Port: 443', 403],
      ['it is of another host', 'localhost', 'X-Forwarded-Host: example.com', 403],
      ['it claims localhost', 'localhost', 'X-Forwarded-Host: localhost', 403],
      ['it is forwarded by the standard header', 'localhost', 'Forwarded: for=192.0.2.1', 403],
      ['Host is named', 'a.tunnel.example', 'X-Forwarded-For: 192.0.2.1', 200],
      ['X-Forwarded-Host is named', 'localhost', 'X-Forwarded-Host: Blog.example:443', 200],
      ['a client forged X-Forwarded-Host', 'localhost', 'X-Forwarded-Host: blog.example, example.com', 403],
      ['Host is of another site', 'evil.example', 'X-Forwarded-Host: blog.example', 403],
    ]
    for (const [what, host, header, status] of forwarded) {
      it(`return ${status} for a forwarded request if ${what}`, async () => {
        await open({ host: 'devbox', developmentHosts: ['blog.example', '*.tunnel.example'] })
        expect(await answerTo(host, undefined, `${header}\r\n`)).to.match(new RegExp(`^HTTP/1.1 ${status} `))
      })
    }

    it('are explained in the response to a rejected forwarded request, without details of the application', async () => {
      await open()
      expect(await answerTo('localhost', '/nope', 'X-Forwarded-For: 192.0.2.1\r\n'))
        .to.include('GO_ENV=production')
        .and.to.include('DEVELOPMENT_HOSTS')
        .and.not.to.include('<code>/secret-of-the-routes</code>')
        .and.not.to.include('.ts:')
    })

    for (const wrong of ['https://blog.example', 'blog.example/path', 'blog.example:3000', '']) {
      it(`cannot be ${JSON.stringify(wrong)}, which stops the start`, async () => {
        await open()
        const app = new App({ api: true, env: 'development', developmentHosts: [wrong] })
        expect(() => app.callback()).to.throw(
          `${JSON.stringify(wrong)} isn't a valid development host. Write it like`,
        )
      })
    }

    it('do not matter for GET /up', async () => {
      await open()
      expect(await answerTo('web', '/up')).to.match(/^HTTP\/1.1 200 /)
    })
  })

  for (const env of ['test', 'production']) {
    it(`include all hosts in ${env}`, async () => {
      await open({ env, developmentHosts: ['blog.example'] })
      expect(await statusOf('evil.example')).to.equal(200)
    })
  }
})
