import { expect } from 'chai'
import { pino } from 'pino'
import { App, type Context } from '../../../src/index.js'
import { Site } from '../../support/site.js'

const page = (ctx: Context) => ctx.render('layout')

function application(): App {
  const app = new App({ logger: pino({ level: 'silent' }) })
  app.get('/', page)
  app.get('/json', (ctx) => void (ctx.body = { session: ctx.session }))
  app.put('/json', (ctx) => {
    Object.assign(ctx.session, ctx.request.body)
    ctx.body = 'kept'
  })
  app.post('/end', (ctx) => {
    ctx.session = null
    ctx.seeOther('/', { info: 'Good bye.' })
  })
  app.get('/hop', (ctx) => ctx.seeOther('/', { info: 'Hopped.' }))
  app.get('/now', (ctx) => {
    ctx.flash('warning', 'Right now.')
    page(ctx)
  })
  app.post('/save', (ctx) => ctx.seeOther('/hop', { success: 'Saved.', danger: '<Not> sent.' }))
  app.post('/fail', (ctx) => {
    ctx.flash('success', 'Saved.')
    throw new Error('the commit failed')
  })
  app.get('/broken', (ctx) => {
    ctx.takeFlash()
    throw new Error('the template failed')
  })
  return app
}

describe('A flash message', () => {
  let site: Site

  beforeEach(async () => (site = await Site.open(application())))
  afterEach(() => site.close())

  const messages = async (path = '/') =>
    [...(await site.get(path)).text.matchAll(/<p class="flash ([^"]*)">(.*?)<\/p>/g)].map(
      ([, type, text]) => [type, text],
    )

  it('is kept over redirects, together with others, and shown once', async () => {
    await site.post('/save')
    expect((await site.get('/hop')).headers.get('location')).to.equal('/')
    expect(await messages()).to.deep.equal([
      ['success', 'Saved.'],
      ['danger', '&lt;Not&gt; sent.'],
      ['info', 'Hopped.'],
    ])
    expect(await messages()).to.deep.equal([])
  })

  it('waits during responses without pages, and during HEAD requests', async () => {
    await site.get('/hop')
    await site.get('/json')
    await site.get('/kit.css')
    await site.get('/nope')
    await site.request('HEAD', '/')
    expect(await messages()).to.deep.equal([['info', 'Hopped.']])
  })

  it('is shown immediately by a page of the same request, and then deleted', async () => {
    expect(await messages('/now')).to.deep.equal([['warning', 'Right now.']])
    expect(await messages()).to.deep.equal([])
  })

  it('is lost if the request fails, because it would report a success', async () => {
    expect((await site.post('/fail')).status).to.equal(500)
    expect(await messages()).to.deep.equal([])
  })

  it('still waits if the page that should show it fails', async () => {
    await site.get('/hop')
    expect((await site.get('/broken')).status).to.equal(500)
    expect(await messages()).to.deep.equal([['info', 'Hopped.']])
  })

  it('is dropped if the session ends after it, and shown if it is added after the end', async () => {
    await site.get('/hop')
    await site.post('/end')
    expect(await messages()).to.deep.equal([['info', 'Good bye.']])
  })

  it('is shown only if the application has signed the cookie for this purpose', async () => {
    const session = (await site.put('/json', { json: { a: 1 } })).headers.getSetCookie()[0]
    const [, value] = /=([^;]*)/.exec(session ?? '') ?? []
    const forged = Buffer.from(JSON.stringify([{ type: 'info', message: 'Hopped.' }])).toString('base64url')
    for (const flash of [forged, `${forged}.${value?.split('.')[1]}`, value, '', '.', 'x.y']) {
      const response = await site.get('/', { headers: { cookie: `_kit_session_flash=${flash}` } })
      expect([response.status, response.text.includes('<p class="flash ')], flash).to.deep.equal([200, false])
    }
  })

  it('is ignored in an API application, which has no sessions', async () => {
    const app = new App({ api: true })
    app.get('/', (ctx) => {
      ctx.flash('success', 'Saved.')
      ctx.renewSession()
      ctx.body = ctx.takeFlash()
    })
    await site.close()
    site = await Site.open(app)
    const response = await site.get('/')
    expect([response.json, response.headers.getSetCookie()]).to.deep.equal([[], []])
  })
})
