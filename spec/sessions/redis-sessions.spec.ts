import { expect } from 'chai'
import { pino } from 'pino'
import { createClient } from 'redis'
import { App, redisSessions, type Context } from '../../src/index.js'
import { failure } from '../support/failure.js'
import { needRedis, OwnRedis, redisUrl } from '../support/redis.js'
import { Site, type SpecResponse } from '../support/site.js'

const logger = pino({ level: 'silent' })

/** A gate that blocks a request. */
function newGate() {
  let pass = () => {}
  let reach = () => {}
  const passed = new Promise<void>((resolve) => (pass = resolve))
  const reached = new Promise<void>((resolve) => (reach = resolve))
  return { pass, reach, passed, reached }
}

let gate = newGate()

function application(url: string, prefix: string): App {
  const app = new App({
    sessionName: '_blog_session',
    sessionStore: redisSessions(createClient({ url }), { prefix, timeout: 1000 }),
    sessionMaxAge: 60_000,
    logger,
  })
  app.get('/', (ctx) => void (ctx.body = ctx.session))
  app.put('/', (ctx) => void (ctx.body = Object.assign(ctx.session, ctx.request.body)))
  app.put('/late', async (ctx) => {
    Object.assign(ctx.session, { late: true })
    gate.reach()
    await gate.passed
    ctx.body = 'late'
  })
  app.post('/sign-in', (ctx) => {
    Object.assign(ctx.session, { user: 'Anna' })
    ctx.renewSession()
    ctx.body = 'signed in'
  })
  app.delete('/', (ctx: Context) => {
    ctx.session = null
    ctx.body = 'ended'
  })
  return app
}

function idOf(answer: SpecResponse): string {
  const cookies = answer.headers.getSetCookie()
  return cookies.map((cookie) => /^_blog_session=([^;]*)/.exec(cookie)?.[1]).at(-1) ?? ''
}

const put = (site: Site, json: unknown) => site.put('/', { json })

const read = async (site: Site, id?: string) =>
  (await site.get('/', id === undefined ? {} : { headers: { cookie: `_blog_session=${id}` } })).json

describe('redisSessions(client)', () => {
  const redis = createClient({ url: redisUrl })
  let prefix: string
  let site: Site

  before(async function () {
    await needRedis(this)
    await redis.connect()
  })

  beforeEach(async () => {
    prefix = `kit_spec_${crypto.randomUUID()}:`
    gate = newGate()
    site = await Site.open(application(redisUrl, prefix))
  })

  afterEach(async () => {
    await site.close()
    const left = await keys()
    if (left.length > 0) await redis.del(left)
  })

  after(async () => {
    if (redis.isOpen) await redis.close()
  })

  function keys(): Promise<string[]> {
    return redis.keys(`${prefix}*`)
  }

  it('keeps only an id in the cookie, and the content under the hash of the id, until it expires', async () => {
    const id = idOf(await put(site, { name: 'Zoë 値', text: 'x'.repeat(10_000) }))
    expect(id).to.match(/^[\w-]{43}\.[\w-]{43}$/)
    const [key = '', ...more] = await keys()
    expect(more).to.deep.equal([])
    expect(id).not.to.contain(key.slice(prefix.length))
    // koa-session allows stores to keep sessions a little longer than cookies.
    expect(await redis.pTTL(key)).to.be.within(50_000, 70_000)
    expect(await read(site)).to.include({ name: 'Zoë 値' })
  })

  it('keeps nothing of an empty session', async () => {
    await read(site)
    await put(site, {})
    expect(await keys()).to.deep.equal([])
  })

  it('gives a renewed session another id, and ends the old session', async () => {
    const before = idOf(await put(site, { basket: [1] }))
    const after = idOf(await site.post('/sign-in'))
    expect(after).not.to.equal(before)
    expect(await read(site, after)).to.deep.equal({ basket: [1], user: 'Anna' })
    expect(await read(site, before)).to.deep.equal({})
    expect(await keys()).to.have.length(1)
  })

  it('does not restore an ended session by a late write of another request', async () => {
    const id = idOf(await put(site, { user: 'Anna' }))
    const late = site.put('/late', { headers: { cookie: `_blog_session=${id}` } })
    await gate.reached
    await site.delete('/')
    gate.pass()
    const answer = await late
    expect([answer.status, answer.headers.getSetCookie()]).to.deep.equal([200, []])
    expect(await keys()).to.deep.equal([])
    expect(await read(site, id)).to.deep.equal({})
  })

  it('ignores expired sessions, and does not adopt their ids', async () => {
    const id = idOf(await put(site, { a: 1 }))
    await redis.pExpire((await keys())[0] ?? '', 0)
    expect(await read(site, id)).to.deep.equal({})
    const answer = await site.put('/', { json: { b: 2 }, headers: { cookie: `_blog_session=${id}` } })
    expect(idOf(answer)).to.be.a('string').that.does.not.equal(id)
  })

  it('serves many concurrent requests of one session', async () => {
    await put(site, { number: 0 })
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, number) => (number % 2 ? site.get('/') : put(site, { number }))),
    )
    expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(await keys()).to.have.length(1)
  })

  it('ignores content that cannot be read', async () => {
    for (const content of ['{', 'null', '1', '[]', '{"content":1}', '{"content":{"__proto__":{"x":1}}}']) {
      await put(site, { a: 1 })
      await redis.set((await keys())[0] ?? '', content)
      expect((await site.get('/')).status, content).to.equal(200)
    }
    expect(Reflect.get({}, 'x')).to.equal(undefined)
  })
})

describe('redisSessions(client) while Redis is unreachable', function () {
  let own: OwnRedis
  let site: Site

  before(async function () {
    await needRedis(this)
  })

  beforeEach(async () => {
    own = await OwnRedis.start()
    site = await Site.open(application(own.url, 'session:'))
    await put(site, { a: 1 })
    await own.stop()
  })

  afterEach(async () => {
    await site?.close()
    await own?.stop()
  })

  it('quickly returns 503 with Retry-After for a request that reads or changes a session', async () => {
    for (const answer of [await site.get('/'), await put(site, { b: 2 })]) {
      expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '5'])
    }
  })

  it('does not affect static files, GET /up and unknown paths', async () => {
    expect((await site.get('/kit.css')).status).to.equal(200)
    expect((await site.get('/up')).status).to.equal(200)
    expect((await site.get('/nowhere')).status).to.equal(404)
  })

  it('recovers by itself when Redis is reachable again', async () => {
    expect((await site.get('/')).status).to.equal(503)
    await own.start()
    while ((await put(site, { c: 3 })).status !== 200);
    expect(await read(site)).to.deep.equal({ c: 3 })
  })

  it('stops the start with a one-line message', async () => {
    const error = await failure(application(own.url, 'session:').start())
    expect(Reflect.get(Object(error), 'message')).to.match(
      /^The session store is not available: Redis does not respond \(.+\)\. Start it, or correct its url\.$/,
    )
  })
})
