import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { pino } from 'pino'
import { App, HttpError, transaction, translations, type AppOptions, type Context } from '../../src/index.js'
import { Signer } from '../../src/sessions/signer.js'
import { newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { Site, type SpecResponse } from '../support/site.js'

const secret = 'a secret of the specs, thirty-two characters and more'
const another = 'another secret of the specs, which is as long as that'
const logger = pino({ level: 'silent' })

/** An application that shows its session at /, and lets requests change it. */
function application(options: AppOptions = {}): App {
  const app = new App({ sessionName: '_blog_session', secret, logger, ...options })
  app.get('/', (ctx) => void (ctx.body = ctx.session))
  app.get('/untouched', (ctx) => void (ctx.body = 'untouched'))
  app.put('/', (ctx) => {
    Object.assign(ctx.session, ctx.request.body)
    ctx.body = ctx.session
  })
  app.delete('/', (ctx) => {
    ctx.session = null
    ctx.body = 'ended'
  })
  app.post('/renew', (ctx) => {
    ctx.renewSession()
    ctx.body = 'renewed'
  })
  return app
}

function cookieOf(response: SpecResponse): string {
  return response.headers.getSetCookie()[0] ?? ''
}

function valueOf(response: SpecResponse): string {
  return /^_blog_session=([^;]*)/.exec(cookieOf(response))?.[1] ?? ''
}

describe('Sessions in a cookie', () => {
  let site: Site

  afterEach(() => site.close())

  const put = (json: unknown) => site.put('/', { json, accept: 'application/json' })
  const read = async (value?: string) => {
    const headers: Record<string, string> = value === undefined ? {} : { cookie: `_blog_session=${value}` }
    const response = await site.get('/', { headers })
    expect(response.status).to.equal(200)
    return response.json
  }

  it('keep their content for the next request', async () => {
    site = await Site.open(application())
    await put({ name: 'Anna', basket: [1, { two: 2 }] })
    expect(await read()).to.deep.equal({ name: 'Anna', basket: [1, { two: 2 }] })
  })

  it('have a cookie with the configured name, HttpOnly, SameSite=Lax, and an age of 14 days', async () => {
    site = await Site.open(application())
    const cookie = cookieOf(await put({ a: 1 }))
    expect(cookie).to.match(/^_blog_session=[\w-]+\.[\w-]+; path=\/; expires=[^;]+; samesite=lax; httponly$/)
    const expires = Date.parse(/expires=([^;]+)/.exec(cookie)?.[1] ?? '')
    expect((expires - Date.now()) / 86_400_000).to.be.closeTo(14, 0.01)
  })

  it('have a cookie in production that browsers accept only from the host itself', async () => {
    const app = application({ env: 'production' })
    app.get('/flash', (ctx) => {
      ctx.session['a'] = 1
      ctx.flash('info', 'Hello.')
      ctx.body = 'done'
    })
    site = await Site.open(app)
    const response = await site.get('/flash')
    const cookies = response.headers.getSetCookie()
    expect(cookies.map((cookie) => cookie.split('=')[0]).toSorted()).to.deep.equal([
      '__Host-_blog_session',
      '__Host-_blog_session_flash',
    ])
    for (const cookie of cookies)
      expect(cookie)
        .to.contain('; path=/; ')
        .and.to.match(/; secure; httponly$/)
  })

  it('have a Secure cookie in production, whatever the proxy reports', async () => {
    site = await Site.open(application({ env: 'production' }))
    for (const protocol of ['http', 'https']) {
      const response = await site.put('/', { json: { protocol }, headers: { 'x-forwarded-proto': protocol } })
      expect(response.status).to.equal(200)
      expect(cookieOf(response)).to.contain('; secure; httponly')
    }
  })

  it('set no cookie while they are empty', async () => {
    site = await Site.open(application())
    for (const response of [
      await site.get('/'),
      await site.get('/untouched'),
      await site.get('/nope'),
      await put({}),
    ]) {
      expect(response.headers.getSetCookie()).to.deep.equal([])
    }
  })

  it('set no cookie while nothing changes', async () => {
    site = await Site.open(application())
    await put({ a: 1 })
    for (const response of [await site.get('/'), await put({ a: 1 })]) {
      expect(response.headers.getSetCookie()).to.deep.equal([])
    }
  })

  it('are not written by a page that shows a flash message, which cannot restore an ended session', async () => {
    const app = application()
    let reach = (): void => {}
    let pass = (): void => {}
    const reached = new Promise<void>((resolve) => (reach = resolve))
    const passed = new Promise<void>((resolve) => (pass = resolve))
    app.post('/flash', (ctx) => {
      ctx.flash('success', 'Saved.')
      ctx.body = 'saved'
    })
    app.get('/slow', async (ctx) => {
      ctx.body = { name: ctx.session['name'], flash: ctx.takeFlash() }
      reach()
      await passed
    })
    site = await Site.open(app)
    await put({ name: 'Anna' })
    await site.post('/flash')
    const slow = site.get('/slow')
    await reached
    await site.delete('/')
    pass()
    const response = await slow
    expect(response.json).to.deep.equal({ name: 'Anna', flash: [{ type: 'success', message: 'Saved.' }] })
    expect(response.headers.getSetCookie().map((cookie) => cookie.split(';')[0])).to.deep.equal([
      '_blog_session_flash=',
    ])
    expect(await read()).to.deep.equal({})
  })

  it('make responses private that read them or set a cookie, unless the handler sets Cache-Control', async () => {
    const app = application()
    app.get('/public', (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=60')
      ctx.body = ctx.session
    })
    app.get('/messages', (ctx) => void (ctx.body = ctx.takeFlash()))
    app.get('/cookie', (ctx) => {
      ctx.cookies.set('theme', 'dark')
      ctx.body = 'set'
    })
    app.get('/theme', (ctx) => void (ctx.body = `theme ${ctx.cookies.get('theme')}`))
    app.get('/public-theme', (ctx) => {
      ctx.set('Cache-Control', 'public, max-age=60')
      ctx.body = `theme ${ctx.cookies.get('theme')}`
    })
    site = await Site.open(app)
    const kept = async (path: string) => (await site.get(path)).headers.get('cache-control')
    expect(await kept('/')).to.equal('private, no-cache')
    expect(await kept('/messages')).to.equal('private, no-cache')
    expect(await kept('/cookie')).to.equal('private, no-cache')
    const themed = await site.get('/theme')
    expect([themed.text, themed.headers.get('cache-control'), themed.headers.get('vary')]).to.deep.equal([
      'theme dark',
      'private, no-cache',
      'Cookie',
    ])
    expect(await kept('/public-theme')).to.equal('public, max-age=60')
    expect(await kept('/public')).to.equal('public, max-age=60')
    expect(await kept('/untouched')).to.equal(null)
    expect((await put({ a: 1 })).headers.get('cache-control')).to.equal('private, no-cache')
    await site.close()
    const api = new App({ api: true, logger })
    api.get('/cookie', (ctx) => {
      ctx.cookies.set('theme', 'dark')
      ctx.body = 'set'
    })
    site = await Site.open(api)
    expect(await kept('/cookie')).to.equal('private, no-cache')
  })

  it('end when they are set to null', async () => {
    site = await Site.open(application())
    await put({ a: 1 })
    const response = await site.delete('/')
    expect(cookieOf(response)).to.match(/^_blog_session=; path=\/; expires=Thu, 01 Jan 1970/)
    expect(await read()).to.deep.equal({})
  })

  it('are empty if the cookie is forged, truncated, signed with another secret or not a session', async () => {
    site = await Site.open(application())
    const value = valueOf(await put({ name: 'Anna', isAdmin: false }))
    expect(await read(value)).to.include({ name: 'Anna' })
    const [content = '', signature = ''] = value.split('.')
    const forged = Buffer.from(JSON.stringify({ content: { isAdmin: true } })).toString('base64url')
    const bad = [
      '',
      '.',
      '..',
      'null',
      '%',
      '%00',
      '"',
      content,
      `${content}.`,
      `.${signature}`,
      `${forged}.${signature}`,
      `${value}.`,
      `${value}.${signature}`,
      new Signer('_blog_session', [another]).sign(forged),
      new Signer('_other_session', [secret]).sign(forged),
      'ü'.repeat(10),
      'x'.repeat(4000),
      ...Array.from({ length: value.length - 1 }, (_, length) => value.slice(0, length)),
      ...Array.from({ length: value.length }, (_, at) => flip(value, at)),
    ]
    for (const one of bad) {
      if (/^[\u0020-\u00ff]*$/.test(one)) expect(await read(one), one).to.deep.equal({})
    }
  })

  it("are empty if the signed content isn't a session", async () => {
    site = await Site.open(application())
    const signer = new Signer('_blog_session', [secret])
    for (const text of ['null', '1', '"text"', '[]', '{}', '{"content":1}', '{"content":null}', '{', '']) {
      expect(await read(signer.sign(Buffer.from(text).toString('base64url'))), text).to.deep.equal({})
    }
  })

  it('are empty after they have expired, and are extended by requests', async () => {
    const sessionMaxAge = 60_000
    site = await Site.open(application({ sessionMaxAge }))
    const signer = new Signer('_blog_session', [secret])
    const until = (_expire: number): string => {
      const session = { content: { a: 1 }, _expire, _maxAge: sessionMaxAge }
      return signer.sign(Buffer.from(JSON.stringify(session)).toString('base64url'))
    }
    expect(await read(until(Date.now() - 1))).to.deep.equal({})
    const end = Date.now() + 20_000
    const response = await site.get('/', { headers: { cookie: `_blog_session=${until(end)}` } })
    expect(response.json).to.deep.equal({ a: 1 })
    const [value = ''] = valueOf(response).split('.')
    const renewed = JSON.parse(Buffer.from(value, 'base64url').toString()) as { _expire: number }
    expect(renewed._expire).to.be.above(end)
  })

  it('have keys of any name, also names with a meaning in JavaScript', async () => {
    site = await Site.open(application())
    const text =
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"toJSON":1,"_private":2,"save":3,"length":4,"maxAge":5,"isNew":6}'
    const response = await site.request('PUT', '/own', { body: text })
    expect(response.status).to.equal(404)
    const app = application()
    app.post('/own', (ctx) => {
      for (const [key, value] of Object.entries<unknown>(JSON.parse(text)))
        Reflect.set(ctx.session, key, value)
      ctx.body = 'kept'
    })
    await site.close()
    site = await Site.open(app)
    expect((await site.post('/own')).status).to.equal(200)
    expect((await site.get('/')).text).to.equal(text)
    expect(Reflect.get({}, 'polluted')).to.equal(undefined)
  })

  it('are rejected with a message about stores if the cookie is too small for them', async () => {
    const messages: string[] = []
    const log = pino(
      { level: 'error' },
      { write: (line: string) => messages.push(JSON.parse(line).err.message) },
    )
    site = await Site.open(application({ logger: log }))
    expect((await put({ text: 'x'.repeat(2700) })).status).to.equal(200)
    const response = await put({ text: 'x'.repeat(4000) })
    expect(response.status).to.equal(500)
    expect(response.headers.getSetCookie()).to.deep.equal([])
    expect(messages.join()).to.match(
      /^The session has \d+ bytes, but browsers store cookies of at most 4093 bytes\. Store less in it, or use a session store: new App\(\{ sessionStore: databaseSessions\(database\) \}\)\.$/,
    )
  })

  it('can be replaced as a whole by an object, and by nothing else', async () => {
    const app = application()
    app.post('/replace', (ctx) => {
      ctx.session = { fresh: true }
      ctx.body = 'replaced'
    })
    app.post('/break', (ctx: Context) => Reflect.set(ctx, 'session', 'text'))
    site = await Site.open(app)
    await put({ a: 1 })
    await site.post('/replace')
    expect(await read()).to.deep.equal({ fresh: true })
    expect((await site.post('/break')).status).to.equal(500)
    expect(await read()).to.deep.equal({ fresh: true })
  })

  it('keep their content when they are renewed', async () => {
    site = await Site.open(application())
    await put({ a: 1 })
    await site.post('/renew')
    expect(await read()).to.deep.equal({ a: 1 })
  })

  it('begin again with the content that is set after their end', async () => {
    const app = application()
    app.post('/again', (ctx) => {
      ctx.session = null
      ctx.body = [ctx.session['a'], Object.keys(ctx.session)]
      ctx.session['b'] = 2
    })
    site = await Site.open(app)
    await put({ a: 1 })
    expect((await site.post('/again')).text).to.equal('[null,[]]')
    expect(await read()).to.deep.equal({ b: 2 })
  })

  it('keep their previous content if a request throws or returns 5xx', async () => {
    const app = application()
    const write = (ctx: Context) => {
      ctx.session['user'] = 'Ada'
      Object.assign(Object(ctx.session['basket']), { 1: 'another' })
      ctx.renewSession()
    }
    app.post('/throw', (ctx) => {
      write(ctx)
      throw new HttpError(409, 'no')
    })
    app.post('/replace', (ctx) => {
      ctx.session = { fresh: true }
      throw new HttpError(409, 'no')
    })
    app.post('/answer/{status}', (ctx) => {
      write(ctx)
      ctx.status = Number(ctx.params['status'])
      ctx.body = 'no'
    })
    site = await Site.open(app)
    for (const path of ['/throw', '/replace', '/answer/500']) {
      expect((await site.post(path)).headers.getSetCookie(), path).to.deep.equal([])
    }
    await put({ basket: ['one'] })
    for (const path of ['/throw', '/replace', '/answer/503']) {
      await site.post(path)
      expect(await read(), path).to.deep.equal({ basket: ['one'] })
    }
    await site.post('/answer/422')
    expect(await read()).to.deep.equal({ basket: ['one', 'another'], user: 'Ada' })
  })

  it('remain ended if the request that ended them throws', async () => {
    const app = application()
    app.post('/throw', (ctx) => {
      ctx.session = null
      throw new HttpError(401, 'sign in again')
    })
    site = await Site.open(app)
    await put({ a: 1 })
    expect((await site.post('/throw')).status).to.equal(401)
    expect(await read()).to.deep.equal({})
  })

  it('throw in an API application when they are read or set', async () => {
    for (const env of ['development', 'production']) {
      const app = new App({ api: true, env, proxy: false, logger })
      app.use(translations(fileURLToPath(new URL('../../../assets/locales', import.meta.url))))
      app.get('/', (ctx) => void (ctx.body = { locale: ctx.locale }))
      app.get('/read', (ctx) => void (ctx.body = String(ctx.session['basket'])))
      app.get('/set', (ctx) => void (ctx.session = { basket: [] }))
      site = await Site.open(app)
      expect((await site.get('/', { headers: { cookie: 'lang=de' } })).json).to.deep.equal({ locale: 'de' })
      for (const path of ['/read', '/set']) {
        const { status, json } = await site.get(path, { accept: 'application/json' })
        expect([status, json.detail]).to.deep.equal([
          500,
          'ctx.session is not available, because an API application has no sessions. To use sessions, remove ' +
            '`api: true` from new App().',
        ])
      }
      await site.close()
    }
  })

  describe('with a transaction', () => {
    async function withRecords(
      work: (post: (title: string) => Promise<number>, count: () => Promise<number>) => Promise<void>,
    ): Promise<void> {
      const database = await openBlogDatabase()
      const app = application()
      app.use(transaction(database))
      app.get('/flash', (ctx) => void (ctx.body = ctx.takeFlash()))
      app.post('/posts', async (ctx) => {
        const { title, large, flash } = Object(ctx.request.body)
        await ctx.tx.save(newPost(title))
        if (large) ctx.session['large'] = 'x'.repeat(large)
        for (let number = 0; number < flash; number++) ctx.flash('info', `${number}${'ü'.repeat(3000)}`)
        ctx.status = 201
      })
      site = await Site.open(app)
      await work(
        async (json) => (await site.post('/posts', { json: JSON.parse(json) })).status,
        () => database.manager.count(Post),
      )
      await database.close()
    }

    it('are rejected before the commit if they are too large', () =>
      withRecords(async (post, count) => {
        expect(await post('{"title":"one","large":4000}')).to.equal(500)
        expect(await count()).to.equal(0)
        expect(await read()).to.deep.equal({})
      }))

    it('do not affect flash messages, of which the oldest are dropped if their cookie is full', () =>
      withRecords(async (post, count) => {
        expect(await post('{"title":"one","flash":4,"large":2600}')).to.equal(201)
        const flash: Array<{ message: string }> = (await site.get('/flash')).json
        expect(flash.map(({ message }) => message[0])).to.deep.equal(['2', '3'])
        expect(await read()).to.deep.equal({ large: 'x'.repeat(2600) })
        expect(await count()).to.equal(1)
      }))
  })

  describe('with several secrets', () => {
    it('are signed with the first secret, and verified with all of them', async () => {
      site = await Site.open(application({ secret }))
      const old = valueOf(await put({ a: 1 }))
      await site.close()
      site = await Site.open(application({ secret: [another, secret] }))
      expect(await read(old)).to.deep.equal({ a: 1 })
      const renewed = valueOf(await put({ b: 2 }))
      await site.close()
      site = await Site.open(application({ secret: [another] }))
      expect(await read(renewed)).to.deep.equal({ b: 2 })
      expect(await read(old)).to.deep.equal({})
    })
  })
})

/** The text with another letter at an index. The last letter of a signature contains bits that do not matter. */
function flip(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
}
