import { expect } from 'chai'
import { App, DeclarationError, forceSSL, type AppOptions } from '../../../src/index.js'
import { Site } from '../../support/site.js'

const local = '127.0.0.1'

describe('new App({ proxy })', () => {
  let site: Site

  async function open(options: AppOptions): Promise<void> {
    const app = new App({ api: true, env: 'test', ...options })
    app.get('/client', (ctx) => {
      ctx.cookies.set('seen', '1')
      ctx.body = { ip: ctx.ip, ips: ctx.ips, scheme: ctx.protocol, host: ctx.host, secure: ctx.secure }
    })
    app.use(forceSSL({ env: 'production' }))
    app.get('/secure', (ctx) => void (ctx.body = 'secure'))
    site = await Site.open(app)
  }

  afterEach(() => site.close())

  async function seen(headers: Record<string, string>): Promise<Record<string, unknown>> {
    return (await site.get('/client', { headers, accept: 'json' })).json
  }

  const addresses: Array<[proxy: number | boolean, header: string, ip: string]> = [
    [0, '192.0.2.1', local],
    [false, '192.0.2.1, 192.0.2.2', local],
    [1, '', local],
    [1, ' , ', local],
    [1, '192.0.2.1', '192.0.2.1'],
    [true, '203.0.113.9, 192.0.2.1', '192.0.2.1'],
    [1, '203.0.113.8,203.0.113.9,192.0.2.1', '192.0.2.1'],
    [2, '203.0.113.9, 192.0.2.1, 192.0.2.2', '192.0.2.1'],
    [2, '192.0.2.1, 192.0.2.2', '192.0.2.1'],
    [2, '192.0.2.1', '192.0.2.1'],
    [3, '192.0.2.1, 192.0.2.2', '192.0.2.1'],
    [1, '192.0.2.1:49152', '192.0.2.1'],
    [1, '[2001:db8::1]:49152', '2001:db8::1'],
    [1, '2001:db8::1', '2001:db8::1'],
    [1, '::ffff:192.0.2.1', '192.0.2.1'],
    [1, 'unknown', local],
    [1, '<script>', local],
  ]
  for (const [proxy, header, ip] of addresses) {
    it(`uses ${ip} as the client in X-Forwarded-For: "${header}" behind ${proxy} proxies`, async () => {
      await open({ proxy })
      expect((await seen({ 'x-forwarded-for': header }))['ip']).to.equal(ip)
    })
  }

  it('lists the addresses that trusted proxies wrote, beginning with the client', async () => {
    await open({ proxy: 2 })
    const { ips } = await seen({ 'x-forwarded-for': '203.0.113.9, 192.0.2.1, 192.0.2.2' })
    expect(ips).to.deep.equal(['192.0.2.1', '192.0.2.2'])
  })

  it('reports an IPv4 client as IPv4 if the server listens on IPv6', async () => {
    await open({})
    const app = new App({ api: true, env: 'test' })
    app.get('/client', (ctx) => void (ctx.body = ctx.ip))
    const { port } = new URL(await app.listen(0, '::ffff:127.0.0.1'))
    try {
      expect(await (await fetch(`http://${local}:${port}/client`)).text()).to.equal(local)
    } finally {
      await app.close()
    }
  })

  const origins: Array<[proxy: number, scheme: string, host: string, expected: string]> = [
    [0, 'https', 'example.com', 'own'],
    [1, 'https', 'example.com', 'https://example.com'],
    [1, 'HTTPS', 'user@example.com:8443', 'https://example.com:8443'],
    [1, 'http, https', 'evil.example, example.com', 'https://example.com'],
    [1, 'https, http', 'evil.example, example.com', 'http://example.com'],
    [1, 'javascript', 'example.com', 'http://example.com'],
    [2, 'http, https, http', 'evil.example, example.com, inner', 'https://example.com'],
    [2, 'https', 'example.com', 'https://example.com'],
  ]
  for (const [proxy, scheme, host, expected] of origins) {
    it(`reads ${expected} from the scheme "${scheme}" and the host "${host}" behind ${proxy} proxies`, async () => {
      await open({ proxy })
      const headers = { 'x-forwarded-proto': scheme, 'x-forwarded-host': host }
      const client = await seen(headers)
      expect(`${String(client['scheme'])}://${String(client['host'])}`).to.equal(
        expected === 'own' ? site.url : expected,
      )
      const isSecure = expected.startsWith('https')
      expect(client['secure']).to.equal(isSecure)
      const { headers: response } = await site.get('/client', { headers })
      expect(/;\s*secure/i.test(response.get('set-cookie') ?? '')).to.equal(isSecure)
      expect((await site.get('/secure', { headers })).status).to.equal(isSecure ? 200 : 301)
    })
  }

  it('defaults to 1 in production and to 0 elsewhere', async () => {
    const forwarded = { 'x-forwarded-for': '203.0.113.9, 192.0.2.1' }
    await open({ env: 'production' })
    expect((await seen(forwarded))['ip']).to.equal('192.0.2.1')
    await site.close()
    await open({ env: 'test' })
    expect((await seen(forwarded))['ip']).to.equal(local)
  })

  for (const wrong of [-1, 1.5, Number.NaN]) {
    it(`rejects ${wrong}`, async () => {
      await open({})
      expect(() => new App({ proxy: wrong })).to.throw(
        DeclarationError,
        `The option proxy is the number of trusted proxies, not ${wrong}. Write 1 for one proxy, or 0 for none.`,
      )
    })
  }
})
