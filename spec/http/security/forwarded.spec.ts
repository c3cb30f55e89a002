import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { App, DeclarationError, forceSSL, type AppOptions } from '../../../src/index.js'
import { Site } from '../../support/site.js'

const local = '127.0.0.1'

describe('new App({ proxy })', () => {
  let site: Site
  let app: App

  async function open(options: AppOptions): Promise<void> {
    app = new App({ api: true, env: 'test', ...options })
    app.get('/client', (ctx) => {
      ctx.cookies.set('seen', '1')
      ctx.body = { ip: ctx.ip, ips: ctx.ips, scheme: ctx.protocol, host: ctx.host, secure: ctx.secure }
    })
    app.use(forceSSL({ env: 'production' }))
    app.get('/secure', (ctx) => void (ctx.body = 'secure'))
    site = await Site.open(app)
  }

  afterEach(async () => site?.close())

  async function seen(headers: Record<string, string>): Promise<Record<string, unknown>> {
    return (await site.get('/client', { headers, accept: 'json' })).json
  }

  /** Sends a request whose connection comes from an address, and returns what the application sees. */
  async function seenFrom(
    address: string | undefined,
    headers: Record<string, string>,
  ): Promise<Record<string, unknown>> {
    const handle = app.callback()
    const server = createServer((req, res) => {
      Object.defineProperty(req.socket, 'remoteAddress', { value: address, configurable: true })
      handle(req, res)
    })
    server.listen(0, local)
    await once(server, 'listening')
    const own = `${local}:${String(Reflect.get(Object(server.address()), 'port'))}`
    try {
      const response = await fetch(`http://${own}/client`, { headers: { ...headers, connection: 'close' } })
      const client: Record<string, unknown> = JSON.parse(await response.text())
      return { ...client, host: client['host'] === own ? 'own' : client['host'] }
    } finally {
      await new Promise((resolve) => server.close(resolve))
    }
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
    [1, '::ffff:c000:0211', '192.0.2.17'],
    [1, '[0:0:0:0:0:FFFF:c000:211]:443', '192.0.2.17'],
    [1, '::ffff:0:192.0.2.1', '::ffff:0:192.0.2.1'],
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

  const nearby: Array<[proxy: AppOptions['proxy'], header: string, ip: string]> = [
    ['private', '203.0.113.9, 192.0.2.1', '192.0.2.1'],
    ['private', '203.0.113.9, 192.0.2.1, 10.0.0.2, 172.16.0.3:4711, fd00::1, ::ffff:10.0.0.9', '192.0.2.1'],
    ['private', '192.0.2.1, 172.32.0.1', '172.32.0.1'],
    ['private', '10.0.0.1, unknown, 10.0.0.2', '10.0.0.2'],
    ['private', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['private', 'fe80::1%eth0, 169.254.0.1', 'fe80::1%eth0'],
    [['127.0.0.1'], '203.0.113.9, 192.0.2.1', '192.0.2.1'],
    [['127.0.0.0/8', '192.0.2.0/24', '2001:db8::/32'], '203.0.113.9, 192.0.2.1, 2001:db8::7', '203.0.113.9'],
    [['private', '192.0.2.0/24'], '203.0.113.9, 192.0.2.1, 10.0.0.1', '203.0.113.9'],
    [['10.0.0.0/8'], '192.0.2.1', local],
    [[], '192.0.2.1', local],
  ]
  for (const [proxy, header, ip] of nearby) {
    it(`uses ${ip} as the client in X-Forwarded-For: "${header}" with ${JSON.stringify(proxy)}`, async () => {
      await open({ proxy: proxy ?? 0 })
      expect((await seen({ 'x-forwarded-for': header }))['ip']).to.equal(ip)
    })
  }

  it('reads the scheme and the host that the outermost of the listed proxies wrote', async () => {
    await open({ proxy: ['127.0.0.1', '192.0.2.0/24'] })
    const client = await seen({
      'x-forwarded-for': '203.0.113.9, 192.0.2.1',
      'x-forwarded-proto': 'http, https, http',
      'x-forwarded-host': 'evil.example, example.com, inner',
    })
    expect(client).to.include({ ip: '203.0.113.9', scheme: 'https', host: 'example.com' })
  })

  for (const env of ['production', 'test']) {
    it(`ignores the headers of a client with a public address by default in the environment ${env}`, async () => {
      const forged = {
        'x-forwarded-for': '10.0.0.1',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'evil.example',
      }
      const addresses = ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1', '172.32.0.1', '11.0.0.1', undefined]
      const trusted = [
        '127.0.0.2',
        '::1',
        '::ffff:10.0.0.1',
        'fe80::1%eth0',
        '172.31.255.255',
        '192.168.0.1',
        'fd00::1',
      ]
      await open({ env, secret: 'a secret of the specs, long enough' })
      for (const address of [...addresses, ...trusted]) {
        const { ip, scheme, host } = await seenFrom(address, forged)
        const isTrusted = trusted.includes(String(address))
        const expected = isTrusted
          ? '10.0.0.1 https evil.example'
          : `${address?.replace('::ffff:', '') ?? ''} http own`
        expect(`${ip} ${scheme} ${host}`).to.equal(expected)
      }
    })
  }

  for (const wrong of [-1, 1.5, Number.NaN]) {
    it(`rejects ${wrong}`, async () => {
      await open({})
      expect(() => new App({ proxy: wrong })).to.throw(
        DeclarationError,
        `The option proxy is "private", a number of proxies or a list of their networks, not ${wrong}. Write 1 for one proxy, or 0 for none.`,
      )
    })
  }

  for (const wrong of [
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0',
    '2001:db8::/129',
    'public',
    '',
  ]) {
    it(`rejects the network ${JSON.stringify(wrong)}`, () => {
      expect(() => new App({ proxy: [wrong] })).to.throw(
        DeclarationError,
        `The option proxy cannot read the network ${JSON.stringify(wrong)}. Write it like "10.0.0.0/8" or "192.0.2.7".`,
      )
    })
  }
})
