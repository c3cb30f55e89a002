import { expect } from 'chai'
import { App } from '../../src/index.js'
import { Site } from '../support/site.js'

describe('ctx.body', () => {
  const bytes = new Uint8Array([104, 105, 33, 63])
  const bodies: Record<string, unknown> = {
    'a Uint8Array': bytes.subarray(0, 3),
    'an ArrayBuffer': bytes.buffer.slice(0, 3),
    'a DataView': new DataView(bytes.buffer, 0, 3),
  }

  for (const [what, body] of Object.entries(bodies))
    it(`is sent as bytes if it is ${what}`, async () => {
      const app = new App({ api: true })
      app.get('/', (ctx) => void (ctx.body = body))
      const site = await Site.open(app)
      const response = await site.get('/')
      expect([response.text, response.headers.get('content-type')]).to.deep.equal([
        'hi!',
        'application/octet-stream',
      ])
      expect(response.headers.get('content-length')).to.equal('3')
    })
})
