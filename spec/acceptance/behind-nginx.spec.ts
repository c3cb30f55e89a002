import { expect } from 'chai'
import { pino } from 'pino'
import { rateLimit } from '../../src/auth/index.js'
import { App } from '../../src/index.js'
import { describeBehindNginx, startNginx, type Nginx } from '../support/servers/nginx.js'
import { Site } from '../support/site.js'

describeBehindNginx('An application behind nginx', () => {
  let site: Site
  let nginx: Nginx

  beforeEach(async () => {
    const app = new App({ api: true, proxy: 1, logger: pino({ level: 'silent' }) })
    app.use(rateLimit({ to: 3, within: '1 hour' }))
    app.get('/', (ctx) => void (ctx.body = ctx.ip))
    site = await Site.open(app)
    nginx = await startNginx(site.url)
  })

  afterEach(async () => {
    await nginx?.stop()
    await site.close()
  })

  it('counts a client with forged headers by its own address', async () => {
    const forged: Record<string, string>[] = [
      {},
      { 'X-Forwarded-For': '192.0.2.1' },
      { 'X-Forwarded-For': '192.0.2.2, 192.0.2.3' },
      { 'X-Forwarded-For': '127.0.0.1, 2001:db8::1' },
      { 'X-Forwarded-For': ',,' },
      {
        'X-Real-IP': '192.0.2.4',
        Forwarded: 'for=192.0.2.5',
        'Client-IP': '192.0.2.6',
        'X-Client-IP': '192.0.2.7',
      },
    ]
    const responses = []
    for (const headers of forged) responses.push(await fetch(nginx.url, { headers }))
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 429, 429, 429])
    expect(await Promise.all(responses.slice(0, 3).map((response) => response.text()))).to.deep.equal(
      Array.from({ length: 3 }, () => '127.0.0.1'),
    )
  })
})
