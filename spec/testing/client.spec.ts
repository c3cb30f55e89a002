import { expect } from 'chai'
import { App, csrf, type Context } from '../../src/index.js'
import { Client } from '../../src/testing/index.js'

/** A form, and the result of its submission. */
function guestBook(): App {
  const app = new App()
  app.use(csrf())
  app.get('/', (ctx: Context) => {
    ctx.body = `<form method="post"><input name="authenticity_token" value="${ctx.csrfToken}"></form>`
  })
  app.post('/', (ctx: Context) => ctx.respond(201, { json: ctx.request.body, xml: ctx.request.body }))
  app.get('/name', async (ctx: Context) => {
    ctx.session['visits'] = Number(ctx.session['visits'] ?? 0) + 1
    return ctx.respond({ json: { visits: ctx.session['visits'] } })
  })
  app.get('/away', (ctx: Context) => ctx.redirect('/name'))
  return app
}

describe('Client', () => {
  let client: Client

  beforeEach(async () => {
    client = await new Client(guestBook()).open()
  })

  afterEach(() => client.close())

  it('sends a form with the token of the last page that contained one', async () => {
    const form = { name: 'Ada' }
    expect((await client.post('/', { form, accept: 'json' })).status).to.equal(403)
    await client.get('/')
    const response = await client.post('/', { form, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json).to.include(form)
  })

  it('sends a form without the token, as from another site', async () => {
    await client.get('/')
    expect((await client.post('/', { form: { name: 'Ada' }, fromPage: false })).status).to.equal(403)
  })

  it('sends an upload with its token', async () => {
    await client.get('/')
    const upload = new FormData()
    upload.append('name', 'Ada')
    upload.append('picture', new Blob(['...']), 'ada.png')
    const response = await client.post('/', { form: upload, accept: 'json' })
    expect(response.status).to.equal(201)
    expect(response.json).to.include({ name: 'Ada' })
  })

  it('sends JSON, XML and records as XML', async () => {
    const name = 'Ada & Grace'
    expect((await client.post('/', { json: { name }, accept: 'json' })).json).to.deep.equal({ name })
    const document = '<guest><name>Ada</name></guest>'
    expect((await client.post('/', { xml: document, accept: 'json' })).json).to.deep.equal({ name: 'Ada' })
    const record = { guest: { name } }
    expect((await client.post('/', { xml: record, accept: 'json' })).json).to.deep.equal({ name })
  })

  it('keeps cookies until it clears them', async () => {
    const visits = async () => (await client.get('/name', { accept: 'json' })).json.visits
    expect([await visits(), await visits()]).to.deep.equal([1, 2])
    client.forget()
    expect(await visits()).to.equal(1)
  })

  it('does not follow redirects, and returns their location', async () => {
    const response = await client.get('/away')
    expect([response.status, response.location]).to.deep.equal([302, '/name'])
  })

  it('requests HTML, or JSON in an API application', async () => {
    expect((await client.get('/nope')).headers.get('content-type')).to.include('text/html')
    const api = await new Client(new App({ api: true })).open()
    expect((await api.get('/nope')).json).to.include({ status: 404 })
    expect((await api.get('/nope', { accept: 'xml' })).text).to.include('<status>404</status>')
    await api.close()
  })

  it('throws a clear error if it is not open', () => {
    expect(() => new Client(new App()).url).to.throw('Call open() first')
  })
})
