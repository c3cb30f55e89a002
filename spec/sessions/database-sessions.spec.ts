import { expect } from 'chai'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import {
  App,
  csrf,
  Database,
  databaseSessions,
  sessionsTable,
  type Context,
  type SessionStore,
} from '../../src/index.js'
import { DeclarationError } from '../../src/errors.js'
import { sessionsApp } from '../support/applications/sessions.js'
import { databaseWithTables, newDatabase } from '../support/databases.js'
import { failure } from '../support/failure.js'
import { Gate } from '../support/gate.js'
import { putSession, readSession, sessionId } from '../support/session-client.js'
import { Site } from '../support/site.js'

class CreateSessions1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(sessionsTable(runner))
  }
  async down(runner: QueryRunner) {
    await runner.dropTable('sessions')
  }
}

const maxAge = 60_000

function application(sessionStore: SessionStore, gate = new Gate()): App {
  const app = sessionsApp({ sessionStore }, gate)
  app.post('/sign-out', (ctx: Context) => {
    ctx.session = null
    ctx.seeOther('/', { success: 'Good bye.' })
  })
  app.post('/restart', (ctx) => {
    ctx.session = null
    ctx.session = { fresh: true }
    ctx.body = 'restarted'
  })
  app.get('/messages', (ctx) => void (ctx.body = ctx.takeFlash()))
  app.use(csrf())
  app.get('/form', (ctx) => {
    ctx.body = `name="authenticity_token" value="${ctx.csrfToken}"`
  })
  app.post('/sign-in-page', (ctx) => {
    const before = ctx.csrfToken
    ctx.renewSession()
    Object.assign(ctx.session, { user: 'Anna' })
    ctx.body = `${before === ctx.csrfToken ? 'same' : 'other'} name="authenticity_token" value="${ctx.csrfToken}"`
  })
  app.post('/form', (ctx) => void (ctx.body = 'sent'))
  app.post('/flash', (ctx) => {
    ctx.flash('success', 'Saved.')
    ctx.body = 'saved'
  })
  return app
}

interface Fixture {
  site: Site
  database: Database
  gate: Gate
  rows(): Promise<{ id: string; content: string; expires_at: number }[]>
}

function open(url: string): Promise<Database> {
  return new Database({ test: { url }, migrations: [CreateSessions1700000000000] }, 'test').open()
}

async function migrate(url: string): Promise<void> {
  const database = await open(url)
  await database.migrate()
  await database.close()
}

async function withSite(work: (fixture: Fixture) => Promise<void>): Promise<void> {
  await withSiteAt(await databaseWithTables('sessions', migrate), work)
}

async function withSiteAt(url: string, work: (fixture: Fixture) => Promise<void>): Promise<void> {
  const database = await open(url)
  const gate = new Gate()
  const site = await Site.open(application(databaseSessions(database), gate))
  try {
    await work({
      site,
      database,
      gate,
      rows: () => database.query('SELECT * FROM sessions ORDER BY expires_at'),
    })
  } finally {
    await site.close()
    await database.close()
  }
}

/** The cookie of a session from another store. */
async function signedId(): Promise<string> {
  const kept = new Map<string, Record<string, unknown>>()
  const store: SessionStore = {
    get: async (id) => kept.get(id),
    set: async (id, data) => Boolean(kept.set(id, data)),
    destroy: async (id) => void kept.delete(id),
  }
  const site = await Site.open(application(store))
  const id = sessionId(await putSession(site, { a: 1 })) ?? ''
  await site.close()
  return id
}

describe('databaseSessions(database)', () => {
  it('keeps only an id in the cookie, and the hash of the id in the table', () =>
    withSite(async ({ site, rows }) => {
      const id = sessionId(await putSession(site, { name: 'Anna', text: 'x'.repeat(10_000) })) ?? ''
      expect(id).to.match(/^[\w-]{43}\.[\w-]{43}$/)
      const [row, ...more] = await rows()
      expect(more).to.deep.equal([])
      expect(row?.id).to.match(/^[\w-]{43}$/)
      expect(id).not.to.contain(row?.id)
      expect(await readSession(site)).to.include({ name: 'Anna' })
    }))

  it('keeps no row of an empty session', () =>
    withSite(async ({ site, rows }) => {
      await readSession(site)
      await putSession(site, {})
      await site.post('/nope')
      expect(await rows()).to.deep.equal([])
    }))

  it('creates an empty session for an id that is unknown, truncated or signed with another secret, and does not adopt the id', () =>
    withSite(async ({ site, rows }) => {
      const id = sessionId(await putSession(site, { a: 1 })) ?? ''
      for (const bad of ['', '.', 'x', id.slice(0, -1), `${id}.${id}`, `x${id}`]) {
        expect(await readSession(site, bad), bad).to.deep.equal({})
      }
      await site.delete('/')
      const response = await site.put('/', { json: { b: 2 }, headers: { cookie: `_blog_session=${id}` } })
      expect(sessionId(response)).to.be.a('string').that.does.not.equal(id)
      expect(await rows()).to.have.length(1)
    }))

  it('gives a renewed session another id, and ends the old session', () =>
    withSite(async ({ site, rows }) => {
      const before = sessionId(await putSession(site, { basket: [1] })) ?? ''
      const after = sessionId(await site.post('/sign-in')) ?? ''
      expect(after).not.to.equal(before)
      expect(await readSession(site, after)).to.deep.equal({ basket: [1], user: 'Anna' })
      expect(await readSession(site, before)).to.deep.equal({})
      expect(await rows()).to.have.length(1)
    }))

  it('deletes the row of a session that has been ended', () =>
    withSite(async ({ site, rows }) => {
      await putSession(site, { a: 1 })
      await site.delete('/')
      expect(await rows()).to.deep.equal([])
      expect(await readSession(site)).to.deep.equal({})
    }))

  it('keeps no row for a flash message of a user who signs out', () =>
    withSite(async ({ site, rows }) => {
      const before = sessionId(await putSession(site, { user: 'Anna' })) ?? ''
      await site.post('/sign-out')
      expect((await site.get('/messages')).json).to.deep.equal([{ type: 'success', message: 'Good bye.' }])
      expect(await readSession(site, before)).to.deep.equal({})
      expect(await rows()).to.deep.equal([])
    }))

  it('never uses the id of an ended session again', () =>
    withSite(async ({ site, rows }) => {
      const before = sessionId(await putSession(site, { user: 'Anna' })) ?? ''
      const after = sessionId(await site.post('/restart')) ?? ''
      expect(after).not.to.equal(before)
      expect(await readSession(site, before)).to.deep.equal({})
      expect(await readSession(site, after)).to.deep.equal({ fresh: true })
      expect(await rows()).to.have.length(1)
    }))

  it('does not restore an ended session by a late write of another request', () =>
    withSite(async ({ site, gate, rows }) => {
      const id = sessionId(await putSession(site, { user: 'Anna' })) ?? ''
      const late = site.put('/late', { headers: { cookie: `_blog_session=${id}` } })
      await gate.reached
      await site.delete('/')
      gate.pass()
      const response = await late
      expect(response.status).to.equal(200)
      expect(response.headers.getSetCookie()).to.deep.equal([])
      expect(await rows()).to.deep.equal([])
      expect(await readSession(site, id)).to.deep.equal({})
    }))

  it('does not overwrite the cookie of a renewed session by a late response', () =>
    withSite(async ({ site, gate }) => {
      const id = sessionId(await putSession(site, { basket: [1] })) ?? ''
      const late = site.put('/late', { headers: { cookie: `_blog_session=${id}` } })
      await gate.reached
      await site.post('/sign-in')
      gate.pass()
      await late
      expect(await readSession(site)).to.deep.equal({ basket: [1], user: 'Anna' })
    }))

  it('keeps the secret of forms in the cookie, and uses the table only for other content', () =>
    withSite(async ({ site, rows }) => {
      expect(sessionId(await site.get('/form'))).to.match(/^~/)
      expect((await site.post('/form', { form: { a: '1' } })).status).to.equal(200)
      expect((await site.get('/form')).headers.getSetCookie()).to.deep.equal([])
      expect(await rows()).to.deep.equal([])
      expect(sessionId(await putSession(site, { user: 'Anna' }))).to.match(/^[\w-]{43}\.[\w-]{43}$/)
      expect((await site.post('/form', { form: { a: '1' } })).status).to.equal(200)
      expect(await readSession(site)).to.have.keys('user', 'csrf')
      expect(await rows()).to.have.length(1)
    }))

  it('does not sign a user out by a late page with a form', () =>
    withSite(async ({ site }) => {
      const id = sessionId(await putSession(site, { basket: [1] })) ?? ''
      await site.post('/sign-in')
      const late = await site.get('/form', { headers: { cookie: `_blog_session=${id}` } })
      expect(late.headers.getSetCookie()).to.deep.equal([])
      expect(await readSession(site)).to.deep.equal({ basket: [1], user: 'Anna' })
    }))

  it('accepts forms with an id that the table does not contain', () =>
    withSite(async ({ site, database, rows }) => {
      await putSession(site, { a: 1 })
      await database.query('DELETE FROM sessions')
      expect((await site.get('/form')).headers.getSetCookie()).to.deep.equal([])
      expect((await site.post('/form', { form: { a: '1' } })).status).to.equal(200)
      expect(await rows()).to.deep.equal([])
    }))

  it('shows another token after the session has been renewed, even if the table did not contain its id', () =>
    withSite(async ({ site, database }) => {
      await putSession(site, { a: 1 })
      await database.query('DELETE FROM sessions')
      await site.get('/form')
      expect((await site.post('/sign-in-page', { form: { a: '1' } })).text).to.match(/^other/)
      expect((await site.post('/form', { form: { a: '1' } })).status).to.equal(200)
    }))

  it('serves many concurrent requests of one session', () =>
    withSite(async ({ site, rows }) => {
      await putSession(site, { number: 0 })
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, number) =>
          number % 2 ? readSession(site) : putSession(site, { number }),
        ),
      )
      for (const response of responses) expect(response.status ?? 200).to.equal(200)
      expect(await rows()).to.have.length(1)
    }))

  it('ignores a row that cannot be read', () =>
    withSite(async ({ site, database }) => {
      for (const content of ['{', 'null', '1', '[]', '{"content":1}', '{"content":{"__proto__":{"x":1}}}']) {
        await putSession(site, { a: 1 })
        await database.query(`UPDATE sessions SET content = '${content}'`)
        expect((await site.get('/')).status, content).to.equal(200)
      }
      expect(Reflect.get({}, 'x')).to.equal(undefined)
    }))

  it('ignores expired sessions, and deletes at most 500 of them when a session begins', () =>
    withSite(async ({ database, rows }) => {
      let now = 1_000_000
      const store = databaseSessions(database, { now: () => now, cleanUpEvery: 1000 })
      await store.set('first', { a: 1 }, { maxAge, isNew: true })
      expect(await store.get('first')).to.deep.equal({ a: 1 })
      for (let number = 0; number < 600; number++) {
        await database.query(`INSERT INTO sessions VALUES ('old ${number}', '{}', 1, 1, NULL)`)
      }
      now += maxAge
      expect(await store.get('first')).to.equal(undefined)
      await store.set('second', {}, { maxAge, isNew: true })
      expect(await rows()).to.have.length(102)
      await store.set('third', {}, { maxAge, isNew: true })
      expect((await rows()).map(({ id }) => id)).to.have.members(['second', 'third'])
      await database.query(`INSERT INTO sessions VALUES ('old', '{}', 1, 1, NULL)`)
      await store.set('fourth', {}, { maxAge, isNew: true })
      expect(await rows()).to.have.length(4)
      now += 1000
      await store.set('fifth', {}, { maxAge, isNew: true })
      expect((await rows()).map(({ id }) => id)).not.to.include('old')
    }))

  it('keeps text of any language, whatever the character set of the database', () =>
    withSite(async ({ database, rows }) => {
      const store = databaseSessions(database)
      const data = { name: 'Zoë 😀 \u0000 "\\u0041"', 名: '値' }
      await store.set('a', data, { maxAge, isNew: true })
      expect(await store.get('a')).to.deep.equal(data)
      expect((await rows())[0]?.content).to.match(/^[\u0020-\u007e]+$/)
    }))

  it('reports that an existing session was not saved, if its row is gone', () =>
    withSite(async ({ database }) => {
      const store = databaseSessions(database)
      expect(await store.set('gone', {}, { maxAge, isNew: false })).to.equal(false)
      expect(await store.set('here', {}, { maxAge, isNew: true })).to.equal(true)
      expect(await store.set('here', { b: 2 }, { maxAge, isNew: false })).to.equal(true)
      await store.destroy('here')
      await store.destroy('here')
      expect(await store.get('here')).to.equal(undefined)
    }))

  it('names the migration that creates its table, if that has not been run', async () =>
    withSiteAt(await newDatabase(), async ({ database }) => {
      const error = await failure(databaseSessions(database).get('x'))
      expect(error).to.be.an('error').with.property('message').that.contains('CreateSessions1700000000000')
    }))

  it('stops the start if an earlier version has created its table, and shows the migration', async () => {
    const url = await newDatabase()
    const database = await open(url)
    await database.migrate()
    await database.query('ALTER TABLE sessions DROP COLUMN used_at')
    const message =
      'The database has no table "sessions", or one of an earlier version of resource-kit. Generate a migration ' +
      '(`npx kit generate migration create_sessions_again`), and write this into its method up: ' +
      "`await runner.dropTable('sessions', true)` and `await runner.createTable(sessionsTable(runner, 'sessions'))`. " +
      'This ends all sessions.'
    const start = async (): Promise<unknown> =>
      (await Site.open(application(databaseSessions(database)))).close()
    expect(await failure(start()))
      .to.be.an.instanceOf(DeclarationError)
      .with.property('message', message)

    class CreateSessionsAgain1700000000001 implements MigrationInterface {
      async up(runner: QueryRunner) {
        await runner.dropTable('sessions', true)
        await runner.createTable(sessionsTable(runner, 'sessions'))
      }
      async down() {}
    }
    await database.close()
    const migrations = [CreateSessions1700000000000, CreateSessionsAgain1700000000001]
    const mended = await new Database({ test: { url }, migrations }, 'test').open()
    await mended.migrate()
    await (await Site.open(application(databaseSessions(mended)))).close()
    await mended.close()
  })
})

describe('An unreachable session store', () => {
  const down: SessionStore = {
    get: () => Promise.reject(new Error('ECONNREFUSED')),
    set: () => Promise.reject(new Error('ECONNREFUSED')),
    destroy: () => Promise.reject(new Error('ECONNREFUSED')),
  }
  let site: Site

  beforeEach(async () => (site = await Site.open(application(down))))
  afterEach(() => site.close())

  it('causes 503 for a request that reads or changes a session, with an error page that needs no session', async () => {
    const headers = { cookie: `_blog_session=${await signedId()}` }
    for (const response of [await site.get('/', { headers }), await site.put('/', { json: { a: 1 } })]) {
      expect(response.status).to.equal(503)
      expect(response.headers.get('retry-after')).to.equal('5')
      expect(response.text).to.contain('We will be right back')
      expect(response.text).not.to.contain('ECONNREFUSED')
    }
  })

  it('does not affect flash messages, which have their own cookie', async () => {
    await site.get('/form')
    expect((await site.post('/flash', { form: { a: '1' } })).status).to.equal(200)
    expect((await site.get('/messages')).json).to.deep.equal([{ type: 'success', message: 'Saved.' }])
  })

  it('does not affect requests without a session, static files or unknown paths', async () => {
    const headers = { cookie: `_blog_session=${await signedId()}` }
    expect((await site.get('/')).status).to.equal(200)
    expect((await site.get('/kit.css', { headers })).status).to.equal(200)
    expect((await site.get('/up', { headers })).status).to.equal(200)
    expect((await site.get('/nowhere', { headers })).status).to.equal(404)
  })
})
