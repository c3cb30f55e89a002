import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { pino } from 'pino'
import {
  App,
  transaction,
  translations,
  type Context,
  type Database,
  type DeliveryMessage,
  type QueryMessage,
  type RenderMessage,
  type TransactionMessage,
} from '../../../src/index.js'
import { mailer, sendMail } from '../../../src/mail/index.js'
import { newShelf, Shelf, withLibrary } from '../../support/applications/library.js'
import { newPost, openBlogDatabase, Post } from '../../support/applications/blog-database.js'
import { databasesAreReady } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { failingStatement } from '../../support/failing-statement.js'
import { Site } from '../../support/site.js'
import { secretPages } from '../../support/applications/secret-pages.js'

/** An error of MariaDB, which detects conflicts by its locks only. */
const DEADLOCK = "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213"

const logger = pino({ level: 'silent' })

const secret = 'k3y-of-7777-doors'

/** Collects the messages of a channel while some work runs. */
async function messagesOf<T>(name: string, work: () => Promise<unknown>): Promise<T[]> {
  await databasesAreReady()
  const messages: T[] = []
  const collect = (message: unknown): unknown => messages.push(message as T)
  subscribe(name, collect)
  try {
    await work()
  } finally {
    unsubscribe(name, collect)
  }
  return messages
}

const queriesOf = (work: () => Promise<unknown>) => messagesOf<QueryMessage>('resource-kit:query', work)
const transactionsOf = (work: () => Promise<unknown>) =>
  messagesOf<TransactionMessage>('resource-kit:transaction', work)

describe('The channel', () => {
  let database: Database

  beforeEach(async () => {
    database = await openBlogDatabase()
  })

  afterEach(() => database.close())

  async function open(handler: (ctx: Context) => unknown): Promise<Site> {
    const app = new App({ api: true, env: 'test' })
    app.use(transaction(database))
    app.get('/', handler)
    app.put('/', handler)
    return Site.open(app)
  }

  describe('resource-kit:query', () => {
    it('has the statements of the fast path and of TypeORM, with their place', async () => {
      const site = await open(async (ctx) => {
        await ctx.save(newPost(secret))
        await ctx.findOneBy(Post, { title: secret })
        await ctx.tx.query(`SELECT title FROM posts WHERE title = '${secret}'`)
        ctx.body = await Promise.all([ctx.tx.count(Post), ctx.tx.findBy(Post, { title: secret })])
      })
      const queries = await queriesOf(() => site.put('/'))
      const found = queries.filter(({ sql }) => /^(INSERT|SELECT)/.test(sql))
      expect(found.map(({ rows, error }) => ({ rows, error }))).to.deep.equal(
        Array.from({ length: 5 }, () => ({ rows: 1, error: undefined })),
      )
      expect(found[2]?.sql).to.equal('SELECT title FROM posts WHERE title = ?')
      for (const { sql, ms, engine: name, place } of found) {
        expect(ms).to.be.above(0)
        expect(name).to.equal(engine)
        // The queue of savepoints on PostgreSQL ends the stack of a write.
        if (!sql.startsWith('INSERT'))
          expect(place).to.match(/^spec\/acceptance\/process\/channels\.spec\.ts:\d+$/)
      }
      expect(new Set(found.slice(1).map(({ place }) => place))).to.have.property('size', 3)
      expect(queries.map(({ sql }) => sql)).to.include('COMMIT')
      expect(JSON.stringify(queries.map(({ sql, place }) => [sql, place])))
        .to.not.include(secret)
        .and.not.include('7777')
    })

    it('has a stream as one query, after its last row', async () => {
      for (let number = 1; number <= 150; number += 1) await database.manager.save(newPost(`Post ${number}`))
      const site = await open(async (ctx) => {
        const rows = await ctx.tx.createQueryBuilder(Post, 'post').stream()
        ctx.body = Readable.from(rows).map(() => '.')
      })
      const queries = await queriesOf(() => site.get('/'))
      const [query, ...others] = queries.filter(({ sql }) => !/^(BEGIN|START|COMMIT)/.test(sql))
      expect(others).to.deep.equal([])
      expect(query).to.include({ rows: 150, error: undefined })
      expect(query?.place).to.match(/channels\.spec/)
      expect(query?.sql).to.match(/^SELECT .* FROM .posts. .post.$/)
    })

    it('has the problem of a failure, and no message', async () => {
      await database.manager.save(newPost(secret))
      const site = await open((ctx) => ctx.save(newPost(secret)))
      const queries = await queriesOf(() => site.put('/'))
      expect(queries.filter(({ error }) => error)).to.have.lengthOf(1)
      expect(queries.find(({ error }) => error)).to.include({ error: 'unique', rows: undefined })
      expect(JSON.stringify(queries)).to.not.include(secret)
    })

    it('has the class of any other error', async () => {
      const queries = await queriesOf(() => database.query('SELEC 1').catch(() => undefined))
      expect(queries.map(({ error, sql }) => [error, sql])).to.deep.equal([['QueryFailedError', 'SELEC ?']])
    })
  })

  describe('resource-kit:transaction', () => {
    it('tells how long a transaction waited and ran', async () => {
      const site = await open(async (ctx) => {
        await ctx.tx.count(Post)
        await new Promise((later) => setTimeout(later, 20))
        ctx.body = {}
      })
      const [message, ...others] = await transactionsOf(() => site.put('/'))
      expect(others).to.deep.equal([])
      expect(message).to.include({ outcome: 'committed', attempt: 0 })
      expect(message?.waited).to.be.above(0)
      expect(message?.ms).to.be.above(19)
    })

    it('is silent for a request without a query', async () => {
      const site = await open((ctx) => (ctx.body = {}))
      expect(await transactionsOf(() => site.put('/'))).to.deep.equal([])
    })

    it('has a request that only reads', async () => {
      const site = await open(async (ctx) => {
        ctx.body = await ctx.findAll(Post)
      })
      expect(await transactionsOf(() => site.get('/'))).to.have.nested.property('0.outcome', 'committed')
    })

    it('has a rollback', async () => {
      const site = await open(async (ctx) => {
        await ctx.save(newPost('New'))
        ctx.status = 409
      })
      expect(await transactionsOf(() => site.put('/'))).to.have.nested.property('0.outcome', 'rolled back')
    })

    it('has each attempt of a request that is retried', async () => {
      const isolation = engine === 'postgres' ? { isolation: 'SERIALIZABLE' as const } : {}
      await withLibrary(isolation, async ({ database: library, site, handle }) => {
        const { id } = await newShelf(library)
        let arrived = 0
        let meet = (): void => {}
        const met = new Promise<void>((resolve) => (meet = resolve))
        handle(async (ctx) => {
          const { count } = await ctx.tx.findOneByOrFail(Shelf, { id })
          const isSecond = (arrived += 1) === 2
          if (isSecond) meet()
          await met
          if (engine === 'mariadb' && isSecond) await ctx.tx.query(DEADLOCK)
          else await ctx.tx.update(Shelf, { id }, { count: count + 1 })
          ctx.body = {}
        })
        const messages = await transactionsOf(() => Promise.all([site.get('/'), site.get('/')]))
        expect(messages.map(({ outcome, attempt }) => `${outcome} ${attempt}`)).to.include.members([
          'committed 0',
          'conflict 0',
          'committed 1',
        ])
      })
    })
  })

  describe('resource-kit:render and resource-kit:mail', () => {
    let folder: string

    before(() => {
      folder = secretPages()
      process.env['BASE_URL'] = 'https://shop.example'
    })

    after(() => {
      delete process.env['BASE_URL']
    })

    async function visit(...paths: string[]): Promise<void> {
      const app = new App({ env: 'production', templates: folder, secret: 'x'.repeat(40), logger })
      // No mail server listens there.
      app.extend(mailer({ from: 'shop@shop.example', url: 'smtp://127.0.0.1:1' }))
      app.use(transaction(database, { checksMigrations: false }))
      app.use(translations(folder))
      app.get('/pages/:name', (ctx) => {
        ctx.session['token'] = secret
        ctx.body = ctx.render(ctx.params['name'] ?? '', { secret })
      })
      app.get('/mail', (ctx) => {
        sendMail(ctx, { to: `${secret}@a.example`, name: 'welcome', locals: { secret } })
        ctx.body = ''
      })
      app.get('/failure', (ctx) => ctx.tx.query(failingStatement(secret)))
      const site = await Site.open(app)
      for (const path of paths) await site.get(path, { headers: { Cookie: `key=${secret}` } })
      await site.close()
    }

    it('have the name, the time and the class of an error', async () => {
      const paths = ['/pages/page', '/pages/broken', `/pages/${secret}`, '/mail']
      const pages = await messagesOf<RenderMessage>('resource-kit:render', () => visit(...paths))
      expect(pages.map(({ template, error }) => [template, error])).to.deep.equal([
        ['page', undefined],
        ['broken', 'TypeError'],
        ['error', undefined],
        ['error', undefined],
        ['mails/welcome', undefined],
      ])
      const sent = await messagesOf<DeliveryMessage>('resource-kit:mail', () => visit('/mail'))
      expect(sent.map(({ name, error }) => [name, error])).to.deep.equal([['welcome', 'Error']])
      for (const { ms } of [...pages, ...sent]) expect(ms).to.be.above(0)
    })

    it('contain no secret, and neither do the other channels', async () => {
      const names = ['query', 'transaction', 'render', 'mail'].map((name) => `resource-kit:${name}`)
      const all: unknown[] = []
      const work = () => visit('/pages/page', `/pages/${secret}`, '/mail', '/failure')
      const collected = names.reduceRight<() => Promise<unknown>>(
        (inner, name) => async () => all.push(...(await messagesOf(name, inner))),
        work,
      )
      await collected()
      expect(all).to.have.length.above(4)
      expect(inspect(all, { depth: 9, showHidden: true })).to.not.include(secret)
      expect(JSON.stringify(all)).to.not.include(secret)
    })
  })
})
