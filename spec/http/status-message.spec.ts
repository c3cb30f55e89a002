import { expect } from 'chai'
import { App } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { Site } from '../support/site.js'

describe('ctx.message', () => {
  it('is an error of the handler if a status line cannot contain it', async () => {
    const { logger, lines } = captureLog()
    const app = new App({ logger })
    for (const [name, text] of Object.entries({
      lines: 'a\r\nSet-Cookie: b=c',
      euro: '€',
      fine: 'Très bien',
    })) {
      app.get(`/${name}`, (ctx) => {
        ctx.body = 'sent'
        ctx.message = text
      })
    }
    const site = await Site.open(app)
    for (const path of ['/lines', '/euro']) {
      const { status, headers } = await site.get(path, { accept: 'json' })
      expect([status, headers.get('X-Content-Type-Options'), headers.get('Set-Cookie')]).to.deep.equal([
        500,
        'nosniff',
        null,
      ])
    }
    expect((await site.get('/fine')).status).to.equal(200)
    expect(await site.raw('GET /fine HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')).to.match(
      /^HTTP\/1.1 200 Tr/,
    )
    await site.close()
    const errors = lines.flatMap(({ level, err }) => (level === 50 ? String(Object(err).message) : []))
    expect(errors.filter((text) => text.startsWith('ctx.message cannot be'))).to.have.length(2)
  })
})
