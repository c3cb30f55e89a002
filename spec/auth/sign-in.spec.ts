import { expect } from 'chai'
import { pino } from 'pino'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import {
  authenticate,
  issueToken,
  requireUser,
  signIn,
  signOut,
  takeReturnTo,
  verifyPassword,
  type ApiToken,
} from '../../src/auth/index.js'
import {
  App,
  column,
  csrf,
  Database,
  databaseSessions,
  DeclarationError,
  Model,
  primaryKey,
  sessionsTable,
  timestamps,
  transaction,
  type Context,
} from '../../src/index.js'
import { countQueries } from '../support/count-queries.js'
import { databaseWithTables } from '../support/databases.js'
import { cheapHash } from '../support/passwords.js'
import { Site } from '../support/site.js'

@Entity('users')
class User extends Model {
  @Column('varchar') email!: string
  @Column('varchar') password_hash!: string
  @Column('boolean', { default: false }) suspended!: boolean
}

@Entity('api_tokens')
class Token extends Model implements ApiToken {
  @Column('uuid') user_id!: string
  @Column('varchar') secret_hash!: string
  @Column('varchar') stamp!: string
  @Column({ type: Date }) expires_at!: Date
  @Column({ type: Date, nullable: true }) last_used_at!: Date | null
}

class CreateUsers1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const users = [
      column(runner, 'email', 'string'),
      column(runner, 'password_hash', 'string'),
      column(runner, 'suspended', 'bool', { default: false }),
    ]
    const tokens = [
      column(runner, 'user_id', 'uuid'),
      column(runner, 'secret_hash', 'string'),
      column(runner, 'stamp', 'string'),
      column(runner, 'expires_at', 'datetime'),
      column(runner, 'last_used_at', 'datetime', { isNullable: true }),
    ]
    for (const [name, columns] of Object.entries({ users, api_tokens: tokens })) {
      const all = [primaryKey(runner), ...columns, ...timestamps(runner)]
      await runner.createTable(new Table({ name, columns: all }))
    }
    await runner.createTable(sessionsTable(runner))
  }
  async down(runner: QueryRunner) {
    for (const name of ['sessions', 'api_tokens', 'users']) await runner.dropTable(name)
  }
}

const logger = pino({ level: 'silent' })

function application(database: Database, options: { isStored?: boolean; api?: boolean } = {}): App {
  const { isStored = true, api = false } = options
  const store = isStored && !api ? { sessionStore: databaseSessions(database) } : {}
  const app = new App({ sessionName: '_blog_session', logger, api, ...store })
  if (!api) app.use(csrf())
  app.use(transaction(database))
  app.use(authenticate(database, User, { tokens: Token, isActive: (user) => !user.suspended }))
  const start = (ctx: Context) => {
    const user = Reflect.get(ctx, 'user')
    if (ctx.query['cache']) ctx.set('Cache-Control', 'max-age=60')
    return ctx.respond({
      html: () => show(ctx, user?.email ?? 'nobody'),
      data: { email: user?.email ?? null },
    })
  }
  app.get('/', start)
  if (!api) {
    app.get('/session/new', (ctx) => show(ctx, 'sign in'), { name: 'newSessionPath' })
    app.post('/session', async (ctx) => {
      const { email, password } = Object(ctx.request.body) as Record<string, string>
      const user = await database.read((tx) => tx.findOneBy(User, { email: String(email) }))
      if (!(await verifyPassword(String(password), user?.password_hash)) || !user) {
        ctx.status = 422
        return show(ctx, 'wrong')
      }
      const path = takeReturnTo(ctx)
      signIn(ctx, user)
      return ctx.seeOther(path)
    })
    app.delete('/session', (ctx) => {
      signOut(ctx)
      ctx.seeOther('/')
    })
  }
  app.use(requireUser())
  app.get('/mine', start)
  app.post('/mine', start)
  app.use(requireUser({ recently: '15 minutes' }))
  app.get('/recent', start)
  return app
}

function show(ctx: Context, text: string): void {
  ctx.type = 'html'
  ctx.body = `<p>${text}</p>${ctx.hasSession ? `<input name="authenticity_token" value="${ctx.csrfToken}">` : ''}`
}

function open(url: string): Promise<Database> {
  const config = { test: { url }, models: [User, Token], migrations: [CreateUsers1700000000000] }
  return new Database(config, 'test').open()
}

async function migrate(url: string): Promise<void> {
  const database = await open(url)
  await database.migrate()
  await database.close()
}

describe('Signing in', () => {
  let database: Database
  let site: Site
  let ada: User

  beforeEach(async () => {
    database = await open(await databaseWithTables('users and tokens', migrate))
    const password_hash = cheapHash('correct horse')
    ada = await database.manager.save(
      database.manager.create(User, { email: 'ada@example.com', password_hash }),
    )
    site = await Site.open(application(database))
  })

  afterEach(() => site.close())

  async function enter(password = 'correct horse') {
    await site.get('/session/new')
    return site.post('/session', { form: { email: 'ada@example.com', password } })
  }

  it('sets ctx.user until the sign-out', async () => {
    expect((await enter('wrong horse')).status).to.equal(422)
    expect((await site.get('/')).text).to.include('nobody')
    expect((await enter()).location).to.equal('/')
    expect((await site.get('/')).text).to.include('ada@example.com')
    await site.delete('/session', { form: {} })
    expect((await site.get('/')).text).to.include('nobody')
  })

  it('gives the session a new id, and a copied cookie ends with the sign-out', async () => {
    const planted = cookieOf(await site.get('/mine')) ?? ''
    const before = cookieOf(await site.get('/session/new'))
    const entered = await enter()
    const cookie = cookieOf(entered) ?? ''
    expect(cookie).not.to.equal(before)
    expect((await site.get('/', { headers: { cookie } })).text).to.include('ada')
    expect(planted).not.to.equal('')
    expect((await site.another().get('/', { headers: { cookie: planted } })).text).to.include('nobody')
    await site.delete('/session', { form: {} })
    expect((await site.get('/', { headers: { cookie } })).text).to.include('nobody')
  })

  it('redirects pages to the sign-in page and back, and returns 401 for JSON and XML', async () => {
    const rejected = await site.get('/mine?tab=2')
    expect([rejected.status, rejected.location]).to.deep.equal([303, '/session/new'])
    expect((await enter()).location).to.equal('/mine?tab=2')
    await site.delete('/session', { form: {} })
    for (const accept of ['json', 'xml']) {
      const response = await site.get('/mine', { accept })
      expect([response.status, response.headers.get('WWW-Authenticate')]).to.deep.equal([401, 'Session'])
    }
  })

  it('keeps the page to return to in the cookie, so that requests of strangers create no sessions in the table', async () => {
    const rows = () => database.query('SELECT id FROM sessions')
    for (const path of ['/mine', `/mine?q=${'x'.repeat(990)}`, `/mine?q=${'"'.repeat(990)}`]) {
      await site.get(path, { headers: { cookie: '_blog_session=' } })
      await site.get(path)
    }
    expect(await rows()).to.deep.equal([])
    expect((await enter()).location).to.equal(`/mine?q=${'x'.repeat(990)}`)
    expect(await rows()).to.have.length(1)
  })

  it('does not return to the path of a POST, or to another site', async () => {
    for (const path of ['/mine', '/mine//evil.example', '/mine?to=//evil.example', '/mine?a=\\b']) {
      await site.get('/')
      await (path === '/mine' ? site.post(path, { form: {} }) : site.get(path))
      expect((await enter()).location, path).to.equal('/')
      await site.delete('/session', { form: {} })
    }
  })

  it('ends with the next request when the user is deleted, suspended, or has another password', async () => {
    const changes = [
      () => database.manager.update(User, ada.id, { suspended: true }),
      () => database.manager.update(User, ada.id, { suspended: false }),
      () => database.manager.update(User, ada.id, { password_hash: 'another' }),
    ]
    await enter()
    const seen: boolean[] = []
    for (const change of changes) {
      await change()
      seen.push((await site.get('/')).text.includes('ada@example.com'))
    }
    expect(seen).to.deep.equal([false, true, false])
    await database.manager.delete(User, ada.id)
    expect((await site.get('/')).status).to.equal(200)
  })

  it('costs two queries a page: the session and the user', async () => {
    const queries = () => countQueries(database, () => site.get('/'))
    await site.get('/')
    expect(await queries()).to.equal(0)
    await enter()
    await site.get('/')
    expect(await queries()).to.equal(2)
  })

  it('keeps pages for users out of all caches', async () => {
    await enter()
    expect((await site.get('/')).headers.get('Cache-Control')).to.equal('private, no-store')
    expect((await site.get('/', { accept: 'json' })).headers.get('Cache-Control')).to.equal(
      'private, no-cache',
    )
    expect((await site.get('/?cache=60', { accept: 'json' })).headers.get('Cache-Control')).to.equal(
      'max-age=60',
    )
  })

  it('asks for the password again if the sign-in is not recent', async () => {
    await enter()
    expect((await site.get('/recent')).status).to.equal(200)
    const { now } = Date
    try {
      Date.now = () => now() + 16 * 60_000
      expect((await site.get('/recent')).location).to.equal('/session/new')
      expect((await enter()).location).to.equal('/recent')
      expect((await site.get('/recent')).status).to.equal(200)
    } finally {
      Date.now = now
    }
  })

  it('needs no session store', async () => {
    await site.close()
    site = await Site.open(application(database, { isStored: false }))
    await enter()
    expect((await site.get('/')).text).to.include('ada')
    await database.manager.update(User, ada.id, { password_hash: 'another' })
    expect((await site.get('/')).text).to.include('nobody')
  })

  describe('with a bearer token', () => {
    async function issue(values: Partial<Token> = {}): Promise<string> {
      const token = Object.assign(new Token(), { last_used_at: null }, values)
      const text = issueToken(token, ada, { prefix: 'shop' })
      await database.manager.save(token)
      return text
    }

    async function emailFor(text: string, more: Record<string, string> = {}): Promise<string | null> {
      const headers = { Authorization: `Bearer ${text}`, ...more }
      return (await site.get('/', { accept: 'json', headers })).json.email
    }

    it('rejects a prefix with which no token would be valid', () => {
      expect(() => issueToken(new Token(), ada, { prefix: 'my-shop' })).to.throw(
        'The prefix of issueToken() is "my-shop". Use letters, digits and _.',
      )
    })

    it('sets ctx.user by the token alone', async () => {
      const text = await issue()
      expect(text).to.match(/^shop_[\da-f]{32}_[\da-f]{64}_[\da-f]{8}$/)
      expect(await emailFor(text)).to.equal('ada@example.com')
      await enter()
      expect(await emailFor('forged')).to.equal(null)
    })

    it('returns 401 for any other Authorization, without a query, also beside the session of a user', async () => {
      const text = await issue()
      await enter()
      const secret = text.replace(/^shop_/, '')
      const others = ['Bearer', `Bearer ${text} x`, `Basic ${text}`, text, 'Bearer %00', `Bearer ${secret}`]
      const typo = `Bearer ${text.slice(0, -1)}${text.endsWith('0') ? '1' : '0'}`
      expect((await site.get('/')).text).to.include('ada')
      for (const Authorization of [...others, typo]) {
        for (const accept of ['html', 'json', 'xml']) {
          const response = await site.get('/mine', { accept, headers: { Authorization } })
          const challenge = response.headers.get('WWW-Authenticate')
          expect([response.status, challenge], Authorization).to.deep.equal([401, 'Bearer'])
        }
        const headers = { Authorization, cookie: '' }
        const count = await countQueries(database, () => site.get('/mine', { headers }))
        expect(count, Authorization).to.equal(0)
      }
    })

    it('ends with the next request when the user is deleted or suspended', async () => {
      const text = await issue()
      await database.manager.update(User, ada.id, { suspended: true })
      expect(await emailFor(text)).to.equal(null)
      await database.manager.update(User, ada.id, { suspended: false })
      expect(await emailFor(text)).to.equal('ada@example.com')
      await database.manager.delete(User, ada.id)
      expect(await emailFor(text)).to.equal(null)
    })

    it('starts no session, even if a handler signs the user in', async () => {
      const text = await issue()
      const headers = { Authorization: `Bearer ${text}` }
      const json = { email: 'ada@example.com', password: 'correct horse' }
      const response = await site.post('/session', { json, headers })
      expect([response.status, cookieOf(response)]).to.deep.equal([303, undefined])
      expect((await site.get('/')).text).to.include('nobody')
    })

    it('does not end the session of a user, and returns 401 for DELETE /session with an invalid token', async () => {
      await enter()
      const sent = async (text: string) => {
        const headers = { Authorization: `Bearer ${text}` }
        return (await site.delete('/session', { form: {}, headers })).status
      }
      expect([await sent('forged'), await sent(await issue())]).to.deep.equal([401, 303])
      expect((await site.get('/')).text).to.include('ada@example.com')
    })

    it('is never a recent sign-in, also beside the session of one', async () => {
      const text = await issue()
      await enter()
      expect((await site.get('/recent')).status).to.equal(200)
      const headers = { Authorization: `Bearer ${text}` }
      expect((await site.get('/mine', { accept: 'json', headers })).status).to.equal(200)
      expect((await site.get('/recent', { accept: 'json', headers })).status).to.equal(401)
    })

    it('notes the use at most once an hour', async () => {
      const text = await issue()
      await emailFor(text)
      const [first] = await database.manager.find(Token)
      await emailFor(text)
      const [second] = await database.manager.find(Token)
      expect(first?.last_used_at).to.be.instanceOf(Date)
      expect(Number(second?.last_used_at)).to.equal(Number(first?.last_used_at))
      await database.manager.update(Token, first?.id ?? '', {
        last_used_at: new Date(Date.now() - 3_700_000),
      })
      await emailFor(text)
      const [third] = await database.manager.find(Token)
      expect(Number(third?.last_used_at)).to.be.at.least(Number(first?.last_used_at))
    })

    it('rejects tokens that are forged, have expired, or are older than the password', async () => {
      const text = await issue()
      const wrong = text.replace(/_[\da-f]{8}$/, '_00000000')
      expect(await emailFor(wrong)).to.equal(null)
      expect(await emailFor(`${text}x`)).to.equal(null)
      expect(await emailFor(await issue({ expires_at: new Date(Date.now() - 1000) }))).to.equal(null)
      await database.manager.update(User, ada.id, { password_hash: 'another' })
      expect(await emailFor(text)).to.equal(null)
    })

    it('returns 401 with the scheme Bearer in an API application', async () => {
      const text = await issue()
      await site.close()
      site = await Site.open(application(database, { api: true }))
      expect(await emailFor(text)).to.equal('ada@example.com')
      const response = await site.get('/mine', { accept: 'json' })
      expect([response.status, response.headers.get('WWW-Authenticate')]).to.deep.equal([401, 'Bearer'])
      expect((await site.get(`/mine?token=${text}`, { accept: 'json' })).status).to.equal(401)
    })

    it('needs a secret in production also in an API application, for the tokens in links', () => {
      const { SESSION_SECRET: before } = process.env
      delete process.env['SESSION_SECRET']
      const app = new App({ env: 'production', api: true, logger })
      app.use(authenticate(database, User, { tokens: Token }))
      const withSecret = new App({ env: 'production', api: true, logger, secret: 'x'.repeat(32) })
      withSecret.use(authenticate(database, User, { tokens: Token }))
      try {
        expect(() => app.callback()).to.throw(
          DeclarationError,
          'Signed tokens need a secret in production. Set SESSION_SECRET to a long random text. `kit generate secret` prints one.',
        )
        expect(() => withSecret.callback()).not.to.throw()
      } finally {
        if (before !== undefined) process.env['SESSION_SECRET'] = before
      }
    })
  })
})

function cookieOf({ headers }: { headers: Headers }): string | undefined {
  const cookies = headers.getSetCookie().map((cookie) => cookie.replace(/;.*/, ''))
  return cookies.find((cookie) => cookie.startsWith('_blog_session='))
}
