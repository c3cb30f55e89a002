import { expect } from 'chai'
import { pino } from 'pino'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import { browserName } from '../../src/auth/browser-name.js'
import { authenticate, requireUser, signIn, userSessions, type UserSession } from '../../src/auth/index.js'
import {
  App,
  column,
  Database,
  databaseSessions,
  Model,
  primaryKey,
  sessionsTable,
  timestamps,
  transaction,
} from '../../src/index.js'
import type { Client } from '../../src/testing/index.js'
import { databaseWithTables } from '../support/databases.js'
import { describeOnce } from '../support/engine.js'
import { sessionId } from '../support/session-client.js'
import { Site } from '../support/site.js'

@Entity('users')
class User extends Model {
  @Column('varchar') email!: string
  @Column('varchar') password_hash!: string
}

class CreateUsers1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const columns = [column(runner, 'email', 'string'), column(runner, 'password_hash', 'string')]
    await runner.createTable(
      new Table({ name: 'users', columns: [primaryKey(runner), ...columns, ...timestamps(runner)] }),
    )
    await runner.createTable(sessionsTable(runner))
  }
  async down(runner: QueryRunner) {
    for (const name of ['sessions', 'users']) await runner.dropTable(name)
  }
}

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const hour = 60 * 60 * 1000

function open(url: string): Promise<Database> {
  const config = { test: { url }, models: [User], migrations: [CreateUsers1700000000000] }
  return new Database(config, 'test').open()
}

async function migrate(url: string): Promise<void> {
  const database = await open(url)
  await database.migrate()
  await database.close()
}

describe('userSessions(database)', () => {
  let database: Database
  let site: Site
  let phone: Client
  let now = 0

  beforeEach(async () => {
    database = await open(await databaseWithTables('users and sessions', migrate))
    for (const email of ['ada', 'bob'])
      await database.manager.save(database.manager.create(User, { email, password_hash: 'x' }))
    now = Date.now()
    site = await Site.open(application())
    phone = site.another()
  })

  afterEach(() => site.close())

  function application(): App {
    const sessions = userSessions(database)
    const app = new App({
      sessionName: '_blog_session',
      sessionStore: databaseSessions(database, { now: () => now }),
      logger: pino({ level: 'silent' }),
    })
    app.use(transaction(database))
    app.use(authenticate(database, User, { keepClient: true }))
    app.post('/session', async (ctx) => {
      const user = await ctx.findOneBy(User, { email: String(Object(ctx.request.body).email) })
      if (ctx.query['password']) await ctx.save(Object.assign(user, { password_hash: ctx.query['password'] }))
      signIn(ctx, user)
      ctx.body = 'signed in'
    })
    app.use(requireUser())
    app.get('/sessions', async (ctx) => ctx.respond({ data: await sessions.list(ctx) }))
    app.delete('/sessions/{id}', async (ctx) =>
      ctx.respond({ data: await sessions.end(ctx, ctx.params['id']) }),
    )
    app.delete('/sessions', async (ctx) => {
      await sessions.endOthers(ctx)
      return ctx.respond({ data: await sessions.list(ctx) })
    })
    return app
  }

  function enter(client: Client, email = 'ada', query = '') {
    return client.post(`/session${query}`, { json: { email }, headers: { 'User-Agent': firefox } })
  }

  async function list(client: Client): Promise<UserSession[]> {
    const { status, json } = await client.get('/sessions', { accept: 'json' })
    return status === 200 ? json : []
  }

  const end = (client: Client, id = '') => client.delete(`/sessions/${id}`, { accept: 'json' })

  it('lists the sessions of the user with browser, address and times, and marks the current one', async () => {
    await enter(site)
    await enter(phone)
    await enter(site.another(), 'bob')
    const sessions = await list(site)
    expect(sessions.map((it) => it.is_current).toSorted()).to.deep.equal([false, true])
    for (const session of sessions) {
      expect(session).to.include({ browser: 'Firefox, Linux', ip: '127.0.0.1' })
      expect(new Date(session.signed_in_at).getTime()).to.be.within(now - 1000, Date.now())
    }
    const xml = await site.get('/sessions', { accept: 'xml' })
    expect(xml.text).to.include('<browser>Firefox, Linux</browser>')
  })

  it('shows an id that gives no access to the session', async () => {
    const cookie = sessionId(await enter(site)) ?? ''
    const [session] = await list(site)
    expect(session?.id).to.match(/^[\w-]{43}$/)
    expect(cookie).to.not.include(session?.id)
    const forged = cookie.replace(/^[^.]*/, session?.id ?? '')
    for (const id of [session?.id, forged]) {
      const headers = { cookie: `_blog_session=${id}` }
      expect((await phone.get('/sessions', { accept: 'json', headers })).status).to.equal(401)
    }
  })

  it('ends a session of the user, and no session of another user', async () => {
    await enter(site)
    await enter(phone)
    const bob = site.another()
    await enter(bob, 'bob')
    const other = (await list(site)).find((it) => !it.is_current)
    for (const id of [other?.id, 'unknown']) expect((await end(bob, id)).status).to.equal(404)
    expect(await list(phone)).to.have.length(2)
    expect((await end(site, other?.id)).status).to.equal(200)
    expect((await end(site, other?.id)).status).to.equal(404)
    expect(await list(phone)).to.deep.equal([])
    expect(await list(site)).to.have.length(1)
  })

  it('ends a session that is not among the 100 that are listed', async () => {
    await enter(phone)
    const [first] = await list(phone)
    now += 1
    await enter(site)
    for (let count = 0; count < 100; count += 1) {
      await database.query(
        `INSERT INTO sessions (id, content, expires_at, used_at, user_id) SELECT 'copy ${count}', content, expires_at, used_at, user_id FROM sessions WHERE id <> '${first?.id}' AND id NOT LIKE 'copy %'`,
      )
    }
    const listed = await list(site)
    expect(listed).to.have.length(100)
    expect(listed.map(({ id }) => id)).to.not.include(first?.id)
    expect((await end(site, first?.id)).json).to.include({ id: first?.id, is_current: false })
    expect(await list(phone)).to.deep.equal([])
  })

  it('signs out if the current session is ended', async () => {
    await enter(site)
    await enter(phone)
    const present = (await list(site)).find((it) => it.is_current)
    expect((await end(site, present?.id)).json).to.include({ is_current: true })
    expect(await list(site)).to.deep.equal([])
    expect(await list(phone)).to.have.length(1)
  })

  it('ends all other sessions of the user', async () => {
    const bob = site.another()
    for (const client of [site, phone]) await enter(client)
    await enter(bob, 'bob')
    expect((await site.delete('/sessions', { accept: 'json' })).status).to.equal(200)
    expect(await list(phone)).to.deep.equal([])
    expect(await list(site)).to.have.length(1)
    expect(await list(bob)).to.have.length(1)
  })

  it('uses the request’s transaction, of which there may be only one at a time', async () => {
    await site.close()
    const url = await databaseWithTables('users and sessions', migrate)
    const config = { test: { url, pool: 1 }, models: [User], migrations: [CreateUsers1700000000000] }
    database = await new Database(config, 'test').open()
    await database.manager.save(database.manager.create(User, { email: 'ada', password_hash: 'x' }))
    site = await Site.open(application())
    phone = site.another()
    for (const client of [site, phone]) await enter(client)
    const [other] = (await list(site)).filter((it) => !it.is_current)
    expect((await end(site, other?.id)).status).to.equal(200)
    await enter(phone)
    const { json } = await site.delete('/sessions', { accept: 'json' })
    expect(json.map((it: UserSession) => it.is_current)).to.deep.equal([true])
  })

  it('does not list sessions that have expired, or that ended with a new password', async () => {
    await enter(phone)
    await enter(site, 'ada', '?password=new')
    expect((await list(site)).map((it) => it.is_current)).to.deep.equal([true])
    await enter(phone)
    expect(await list(site)).to.have.length(2)
    await database.query("UPDATE sessions SET expires_at = 1 WHERE content LIKE '%user_id%'")
    expect(await list(site)).to.deep.equal([])
  })

  it('notes the last use once an hour', async () => {
    await enter(site)
    await enter(phone)
    const lastUse = async () => {
      const session = (await list(site)).find((it) => !it.is_current)
      return new Date(session?.last_used_at ?? 0).getTime()
    }
    const first = now
    expect(await lastUse()).to.equal(first)
    now += hour - 1
    await list(phone)
    expect(await lastUse()).to.equal(first)
    now += 1
    await list(phone)
    expect(await lastUse()).to.equal(now)
  })
})

describeOnce('The name of a browser', () => {
  const names: Record<string, string> = {
    [firefox]: 'Firefox, Linux',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36':
      'Chrome, Windows',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0':
      'Edge, Windows',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15':
      'Safari, macOS',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/140.0.0.0 Mobile/15E148 Safari/604.1':
      'Chrome, iOS',
    'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36':
      'Samsung Internet, Android',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36':
      'Chrome, Linux',
    'curl/8.5.0': 'curl',
    '<script>': '',
    '': '',
  }
  for (const [header, name] of Object.entries(names)) {
    it(`is "${name}" for ${header || 'no header'}`, () => expect(browserName(header)).to.equal(name))
  }
})
