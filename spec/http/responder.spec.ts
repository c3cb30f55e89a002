import { expect } from 'chai'
import { App, ValidationErrors, type Handler } from '../../src/index.js'
import { Site } from '../support/site.js'

describe('ctx.respond', () => {
  /** Status and body of the responses to clients that accept HTML, JSON and XML. */
  async function answersOf(handler: Handler): Promise<Record<'html' | 'json' | 'xml', string>> {
    const app = new App()
    app.get('/posts', handler)
    const site = await Site.open(app)
    const response = async (accept: string) => {
      const { status, text } = await site.get('/posts', { accept })
      return `${status} ${text.replace(/^<\?xml.*\?>\n/, '').trimEnd()}`
    }
    try {
      return {
        html: await response('text/html'),
        json: await response('application/json'),
        xml: await response('application/xml'),
      }
    } finally {
      await site.close()
    }
  }

  it('sends data as JSON and XML', async () => {
    const responses = await answersOf((ctx) =>
      ctx.respond(201, { html: () => (ctx.body = 'a page'), data: { title: 'A' } }),
    )
    expect(responses).to.deep.equal({
      html: '201 a page',
      json: '201 {"title":"A"}',
      xml: '201 <record><title>A</title></record>',
    })
  })

  it('calls data only for JSON and XML, and html only for HTML', async () => {
    const called: string[] = []
    const responses = await answersOf((ctx) =>
      ctx.respond({
        html: async () => {
          called.push('html')
          ctx.body = await Promise.resolve('a page')
        },
        data: async () => {
          called.push('data')
          return Promise.resolve([1])
        },
      }),
    )
    expect(responses.html).to.equal('200 a page')
    expect(responses.json).to.equal('200 [1]')
    expect(called).to.deep.equal(['html', 'data', 'data'])
  })

  it('prefers json and xml to data', async () => {
    const data = { title: 'A' }
    expect(await answersOf((ctx) => ctx.respond({ data, json: null, xml: { name: 'X' } }))).to.include({
      json: '200 null',
      xml: '200 <record><name>X</name></record>',
    })
    expect(await answersOf((ctx) => ctx.respond({ data, json: [data] }))).to.include({
      json: '200 [{"title":"A"}]',
      xml: '200 <record><title>A</title></record>',
    })
  })

  it('does not offer a format without a response: 406', async () => {
    const { json, xml } = await answersOf((ctx) => ctx.respond({ html: () => (ctx.body = 'a page') }))
    expect([json, xml].map((response) => response.slice(0, 3))).to.deep.equal(['406', '406'])
    const { html } = await answersOf((ctx) => ctx.respond({ data: [] }))
    expect(html.slice(0, 3)).to.equal('406')
  })

  describe('with validation errors', () => {
    const errors = new ValidationErrors().add('title', 'present', 'Title cannot be blank.')
    const taken = new ValidationErrors(409).add('title', 'taken', 'Title has already been taken.')

    it('returns their status, the page of the form, and a problem document in JSON and XML', async () => {
      const { html, json, xml } = await answersOf((ctx) =>
        ctx.respond(errors, { html: () => (ctx.body = 'the form') }),
      )
      expect(html).to.equal('422 the form')
      expect(json).to.contain('422 {"status":422').and.to.contain('{"title":["Title cannot be blank."]}')
      expect(xml).to.contain('422 <problem').and.to.contain('<message>Title cannot be blank.</message>')
    })

    it('returns 409 for a record that conflicts with another one', async () => {
      const { html, json } = await answersOf((ctx) =>
        ctx.respond(taken, { html: () => (ctx.body = 'the form') }),
      )
      expect(html).to.equal('409 the form')
      expect(json).to.contain('409 {"status":409')
    })

    it('needs no page in an API', async () => {
      const { html, json } = await answersOf((ctx) => ctx.respond(errors))
      expect(html.slice(0, 3)).to.equal('406')
      expect(json.slice(0, 3)).to.equal('422')
    })

    it('can respond with other data', async () => {
      const { json, xml } = await answersOf((ctx) => ctx.respond(errors, { json: { title: 'blank' } }))
      expect(json).to.equal('422 {"title":"blank"}')
      expect(xml).to.contain('422 <problem')
    })
  })
})
