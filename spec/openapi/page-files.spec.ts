import { expect } from 'chai'
import { App } from '../../src/index.js'
import { openapi } from '../../src/openapi/index.js'
import { Site } from '../support/site.js'

describe('The files of the page of an OpenAPI document', () => {
  let site: Site
  const bundle = '/docs/swagger-ui-bundle.js'

  before(async () => {
    const app = new App({ api: true })
    app.extend(openapi('/openapi.json', { title: 'Greetings', version: '1', page: '/docs' }))
    site = await Site.open(app)
  })

  after(() => site.close())

  it('have addresses with the version of Swagger UI, under which browsers keep them', async () => {
    const page = await site.get('/docs/')
    const [, address = ''] = /src="(swagger-ui-bundle\.js\?v=\d+\.\d+\.\d+[^"]*)"/.exec(page.text) ?? []
    expect(page.text.match(/\?v=/g)).to.have.length(7)
    const versioned = await site.get(`/docs/${address}`)
    expect(versioned.status).to.equal(200)
    expect(versioned.headers.get('cache-control')).to.equal('max-age=31536000, immutable')
    expect(versioned.headers.get('content-type')).to.match(/javascript/)
    expect(Number(versioned.headers.get('content-length'))).to.equal(Buffer.byteLength(versioned.text))
  })

  it('have a tag, so that a browser that has a file receives 304', async () => {
    const first = await site.get(bundle)
    expect(first.headers.get('cache-control')).to.equal('no-cache')
    const etag = String(first.headers.get('etag'))
    const again = await site.get(bundle, { headers: { 'if-none-match': etag } })
    expect([again.status, again.text]).to.deep.equal([304, ''])
  })

  it('are none but those that the page loads', async () => {
    for (const file of ['package.json', 'missing.js', 'constructor', '__proto__', 'swagger-ui-bundle.js.map'])
      expect((await site.get(`/docs/${file}`)).status, file).to.equal(404)
  })

  it('have a response to HEAD without content', async () => {
    const head = await site.request('HEAD', bundle)
    expect(Number(head.headers.get('content-length'))).to.be.above(1_000_000)
  })
})
