import { expect } from 'chai'
import {
  App,
  BaseResource,
  Resource,
  transaction,
  transactionOptions,
  Use,
  type Context,
  type Database,
} from '../../../src/index.js'
import { captureLog, Isolation, type CapturedLog } from '../../../src/testing/index.js'
import { newPost, openBlogDatabase, Post } from '../../support/applications/blog-database.js'
import { engine, itOnce } from '../../support/engine.js'
import { Site } from '../../support/site.js'

/** Whether the transaction is serializable. On MariaDB, it then locks the rows that it reads. */
async function isSerializable(ctx: Context, database: Database): Promise<boolean> {
  if (engine === 'postgres') {
    const [row] = await ctx.tx.query('SHOW transaction_isolation')
    return row.transaction_isolation === 'serializable'
  }
  await ctx.tx.query('SELECT * FROM posts')
  const lock = database.manager.query('SELECT * FROM posts FOR UPDATE NOWAIT')
  return lock.then(
    () => false,
    () => true,
  )
}

describe('transactionOptions', () => {
  let database: Database
  let site: Site
  let log: CapturedLog

  beforeEach(async () => {
    database = await openBlogDatabase()
  })

  afterEach(() => site.close())

  async function visit(declare: (app: App) => void): Promise<Site> {
    log = captureLog()
    const app = new App({ api: true, logger: log.logger })
    app.use(transaction(database))
    declare(app)
    return (site = await Site.open(app))
  }

  it('reject statements that write with readOnly, and the next request can write', async () => {
    let posts = 0
    const { request } = await visit((app) => {
      app.post('/write', async (ctx) => {
        await ctx.tx.save(newPost(`post ${(posts += 1)}`))
        ctx.body = await ctx.tx.count(Post)
      })
      app.use(transactionOptions({ readOnly: true }))
      app.post('/read', async (ctx) => {
        ctx.body = { count: await ctx.tx.count(Post) }
      })
      app.post('/try', async (ctx) => {
        await ctx.tx.save(newPost('two'))
        ctx.status = 204
      })
    }).then((it) => ({ request: it.request.bind(it) }))
    expect((await request('POST', '/write')).status).to.equal(200)
    expect((await request('POST', '/read')).json).to.deep.equal({ count: 1 })
    const rejected = await request('POST', '/try')
    expect(rejected.status).to.equal(500)
    expect(log.text()).to.include('is read-only, because of transactionOptions({ readOnly: true })')
    expect((await request('POST', '/write')).status).to.equal(200)
    expect(await database.manager.count(Post)).to.equal(2)
  })

  if (engine !== 'sqlite') {
    it('set the isolation level, also on a handler of a resource, and for its request only', async () => {
      @Resource('/levels')
      class LevelsResource extends BaseResource {
        override async list(ctx: Context) {
          ctx.body = { isSerializable: await isSerializable(ctx, database) }
        }

        @Use(transactionOptions({ isolation: 'SERIALIZABLE' }))
        @Use(transactionOptions({ readOnly: true }))
        override async create(ctx: Context) {
          ctx.body = { isSerializable: await isSerializable(ctx, database) }
        }
      }
      await visit((app) => app.resource(LevelsResource))
      await database.manager.save(newPost('one'))
      for (const [method, isSerializable] of [
        ['GET', false],
        ['POST', true],
        ['GET', false],
      ] as const) {
        expect((await site.request(method, '/levels')).json).to.deep.equal({ isSerializable })
      }
    })
  }

  it('work in the isolation of a test, in which the transaction of a request is a savepoint', async () => {
    const isolation = new Isolation(database)
    await isolation.begin()
    try {
      await visit((app) => {
        app.post('/write', async (ctx) => {
          await ctx.tx.save(newPost('one'))
          ctx.status = 204
        })
        app.use(transactionOptions({ readOnly: true, isolation: 'SERIALIZABLE' }))
        app.post('/read', async (ctx) => {
          ctx.body = { count: await ctx.tx.count(Post) }
        })
      })
      expect((await site.request('POST', '/write')).status).to.equal(204)
      expect((await site.request('POST', '/read')).json).to.deep.equal({ count: 1 })
    } finally {
      await isolation.end()
    }
    expect(await database.manager.count(Post)).to.equal(0)
  })

  it('throw after the first query', async () => {
    const messages: unknown[] = []
    await visit((app) => {
      app.use(async (ctx, next) => {
        await ctx.tx.count(Post)
        await next()
      })
      app.use(async (_ctx, next) => {
        try {
          await next()
        } catch (error) {
          messages.push(error instanceof Error && error.message)
          throw error
        }
      })
      app.use(transactionOptions({ readOnly: true }))
      app.get('/', (ctx) => void (ctx.status = 204))
    })
    expect((await site.get('/')).status).to.equal(500)
    expect(messages).to.deep.equal([
      'The transaction of this request has begun with its first query, so its options cannot change. Register ' +
        'transactionOptions() above the middleware that queries the database.',
    ])
  })

  itOnce('throw "no transaction found" without transaction()', async () => {
    log = captureLog()
    const app = new App({ api: true, logger: log.logger })
    app.use(transactionOptions({ readOnly: true }))
    app.get('/', (ctx) => void (ctx.status = 204))
    site = await Site.open(app)
    expect((await site.get('/')).status).to.equal(500)
    expect(log.text()).to.include('no transaction found')
    expect(log.text()).not.to.include('Add app.use')
  })

  itOnce('say in development how to add transaction()', async () => {
    log = captureLog()
    const app = new App({ api: true, env: 'development', logger: log.logger })
    app.get('/', (ctx) => ctx.tx.query('SELECT 1'))
    site = await Site.open(app)
    expect((await site.get('/')).status).to.equal(500)
    expect(log.text()).to.include(
      'no transaction found. Add app.use(transaction(database)) above the routes.',
    )
  })
})
