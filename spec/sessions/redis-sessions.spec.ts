import { expect } from 'chai'
import { createClient } from 'redis'
import { App, redisSessions } from '../../src/index.js'
import { sessionsApp } from '../support/applications/sessions.js'
import { failure } from '../support/failure.js'
import { Gate } from '../support/gate.js'
import { needRedis, OwnRedis, redisUrl } from '../support/servers/redis.js'
import { putSession, readSession, sessionId } from '../support/session-client.js'
import { Site } from '../support/site.js'

let gate = new Gate()

function application(url: string, prefix: string): App {
  const sessionStore = redisSessions(createClient({ url }), { prefix, timeout: 1000 })
  return sessionsApp({ sessionStore, sessionMaxAge: 60_000 }, gate)
}

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
    gate = new Gate()
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
    const id = sessionId(await putSession(site, { name: 'Zoë 値', text: 'x'.repeat(10_000) }))
    expect(id).to.match(/^[\w-]{43}\.[\w-]{43}$/)
    const [key = '', ...more] = await keys()
    expect(more).to.deep.equal([])
    expect(id).not.to.contain(key.slice(prefix.length))
    // koa-session allows stores to keep sessions a little longer than cookies.
    expect(await redis.pTTL(key)).to.be.within(50_000, 70_000)
    expect(await readSession(site)).to.include({ name: 'Zoë 値' })
  })

  it('keeps nothing of an empty session', async () => {
    await readSession(site)
    await putSession(site, {})
    expect(await keys()).to.deep.equal([])
  })

  it('gives a renewed session another id, and ends the old session', async () => {
    const before = sessionId(await putSession(site, { basket: [1] }))
    const after = sessionId(await site.post('/sign-in'))
    expect(after).not.to.equal(before)
    expect(await readSession(site, after)).to.deep.equal({ basket: [1], user: 'Anna' })
    expect(await readSession(site, before)).to.deep.equal({})
    expect(await keys()).to.have.length(1)
  })

  it('does not restore an ended session by a late write of another request', async () => {
    const id = sessionId(await putSession(site, { user: 'Anna' }))
    const late = site.put('/late', { headers: { cookie: `_blog_session=${id}` } })
    await gate.reached
    await site.delete('/')
    gate.pass()
    const response = await late
    expect([response.status, response.headers.getSetCookie()]).to.deep.equal([200, []])
    expect(await keys()).to.deep.equal([])
    expect(await readSession(site, id)).to.deep.equal({})
  })

  it('ignores expired sessions, and does not adopt their ids', async () => {
    const id = sessionId(await putSession(site, { a: 1 }))
    await redis.pExpire((await keys())[0] ?? '', 0)
    expect(await readSession(site, id)).to.deep.equal({})
    const response = await site.put('/', { json: { b: 2 }, headers: { cookie: `_blog_session=${id}` } })
    expect(sessionId(response)).to.be.a('string').that.does.not.equal(id)
  })

  it('serves many concurrent requests of one session', async () => {
    await putSession(site, { number: 0 })
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, number) => (number % 2 ? site.get('/') : putSession(site, { number }))),
    )
    expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([200]))
    expect(await keys()).to.have.length(1)
  })

  it('ignores content that cannot be read', async () => {
    for (const content of ['{', 'null', '1', '[]', '{"content":1}', '{"content":{"__proto__":{"x":1}}}']) {
      await putSession(site, { a: 1 })
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
    await putSession(site, { a: 1 })
    await own.stop()
  })

  afterEach(async () => {
    await site?.close()
    await own?.stop()
  })

  it('quickly returns 503 with Retry-After for a request that reads or changes a session', async () => {
    for (const response of [await site.get('/'), await putSession(site, { b: 2 })]) {
      expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '5'])
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
    while ((await putSession(site, { c: 3 })).status !== 200);
    expect(await readSession(site)).to.deep.equal({ c: 3 })
  })

  it('stops the start with a one-line message', async () => {
    const error = await failure(application(own.url, 'session:').start())
    expect(Reflect.get(Object(error), 'message')).to.match(
      /^The session store is not available: Redis does not respond \(.+\)\. Start it, or correct its url\.$/,
    )
  })
})
