import { expect } from 'chai'
import {
  App,
  BaseResource,
  Model,
  Parent,
  Resource,
  ValidationErrors,
  type Context,
  type Handler,
} from '../../src/index.js'
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

  it('fails without any response, because the client has made no mistake: 500', async () => {
    const { json } = await answersOf((ctx) => ctx.respond({ data: undefined }))
    expect(json.slice(0, 3)).to.equal('500')
  })

  describe('with the status 201', () => {
    class Note extends Model {}
    class Page extends Model {
      slug = 'the page'
    }

    @Resource('/notes', { model: Note })
    class NotesResource extends BaseResource {
      override async create(ctx: Context) {
        const note = Object.assign(new Note(), { id: '7' })
        const { sent } = ctx.query
        if (sent === 'own') ctx.set('Location', '/elsewhere')
        if (sent === 'unsaved') return ctx.respond(201, { data: new Note() })
        if (sent === 'other') return ctx.respond(201, { data: new Page() })
        if (sent === '200') return ctx.respond({ data: note })
        return ctx.respond(201, { html: () => (ctx.body = 'a page'), data: note })
      }
    }

    @Resource('/pages', { model: Page, param: 'slug' })
    @Parent(NotesResource)
    class PagesResource extends BaseResource {
      override async create(ctx: Context) {
        return ctx.respond(201, { data: new Page() })
      }
    }

    let site: Site
    before(async () => {
      const app = new App()
      app.group('/{team}', (team) => {
        team.resource(NotesResource)
        team.resource(PagesResource)
      })
      site = await Site.open(app)
    })
    after(() => site.close())

    async function locationOf(path: string, accept = 'json'): Promise<string | null> {
      return (await site.post(path, { accept: `application/${accept}`, json: {} })).headers.get('location')
    }

    it('sets Location to the path of the record in the resource, below the same parents', async () => {
      for (const accept of ['json', 'xml'])
        expect(await locationOf('/a/notes', accept)).to.equal('/a/notes/7')
      const page = await site.post('/a/notes', { accept: 'text/html', json: {} })
      expect([page.text, page.headers.get('location')]).to.deep.equal(['a page', '/a/notes/7'])
      expect(await locationOf('/a/notes/7/pages')).to.equal('/a/notes/7/pages/the%20page')
    })

    it('keeps the Location of the handler', async () => {
      expect(await locationOf('/a/notes?sent=own')).to.equal('/elsewhere')
    })

    it('sets none for another status, another model, or a record without an id', async () => {
      for (const sent of ['200', 'other', 'unsaved'])
        expect(await locationOf(`/a/notes?sent=${sent}`)).to.equal(null)
    })
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

    it('has the title of the status with another status', async () => {
      const { json } = await answersOf((ctx) => ctx.respond(400, { data: errors }))
      expect(json).to.contain('400 {"status":400,"title":"Bad Request"')
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
