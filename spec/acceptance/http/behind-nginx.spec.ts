import { expect } from 'chai'
import { pino } from 'pino'
import { rateLimit } from '../../../src/auth/index.js'
import { App } from '../../../src/index.js'
import { Letter, newRecord, openOffice, type Office } from '../../support/applications/letters.js'
import { describeBehindNginx, startNginx, type Nginx } from '../../support/servers/nginx.js'
import { Site } from '../../support/site.js'

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

describeBehindNginx('A record behind nginx that compresses responses', () => {
  let office: Office
  let nginx: Nginx

  before(async () => {
    office = await openOffice()
    const settings = 'gzip on; gzip_types application/json; gzip_proxied any; gzip_min_length 1;'
    nginx = await startNginx(office.site.url, settings)
  })

  after(async () => {
    await nginx?.stop()
    await office?.site.close()
  })

  it('has a tag that comes back weak, and still matches', async () => {
    const { id } = await newRecord(office.database, Letter)
    const url = `${nginx.url}/letters/${id}`
    const shown = await fetch(url)
    expect(shown.headers.get('content-encoding')).to.equal('gzip')
    const tag = shown.headers.get('etag') ?? ''
    expect(tag).to.match(/^W\/"1-/)
    expect((await fetch(url, { headers: { 'If-None-Match': tag } })).status).to.equal(304)
    const headers = { 'If-Match': tag, 'Content-Type': 'application/json' }
    const put = () => fetch(url, { method: 'PUT', headers, body: '{"title":"changed"}' })
    expect([(await put()).status, (await put()).status]).to.deep.equal([200, 412])
  })
})
