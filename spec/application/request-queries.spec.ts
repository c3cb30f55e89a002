import { expect } from 'chai'
import { In } from 'typeorm'
import { App, transaction, type Context, type Database } from '../../src/index.js'
import { captureLog, expectQueries } from '../../src/testing/index.js'
import { Comment, newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { Site } from '../support/site.js'

describe('The queries of a request in development', () => {
  let database: Database
  let posts: Post[]
  let log: ReturnType<typeof captureLog>

  beforeEach(async () => {
    database = await openBlogDatabase()
    posts = await database.manager.save(Array.from({ length: 7 }, (_, number) => newPost(`Post ${number}`)))
    log = captureLog()
  })

  afterEach(() => database.close())

  async function visit(handler: (ctx: Context) => unknown, env = 'development') {
    const app = new App({ api: true, env, logger: log.logger })
    app.use(transaction(database))
    app.get('/posts', async (ctx) => {
      await handler(ctx)
      ctx.body ??= {}
    })
    const site = await Site.open(app)
    const response = await site.get('/posts')
    await site.close()
    return response
  }

  const warnings = () => log.lines.filter(({ level, sql }) => level === 40 && sql !== undefined)
  const line = () => log.lines.find(({ status }) => status === 200)

  it('are in its line and in its Server-Timing header', async () => {
    const response = await visit(async (ctx) => {
      ctx.set('Server-Timing', 'own;dur=1')
      await ctx.findAll(Post)
      await ctx.tx.count(Post)
    })
    expect(line()).to.include({ queries: 2 }).and.have.property('db_ms').above(0)
    expect(line()?.['msg']).to.match(/^GET \/posts 200 [\d.]+ ms \(2 queries, [\d.]+ ms\)$/)
    expect(response.headers.get('server-timing')).to.match(
      /^own;dur=1, db;dur=[\d.]+;desc="2 queries", total;dur=[\d.]+$/,
    )
  })

  it('leave the line of a request without a query without brackets', async () => {
    const response = await visit(() => {})
    expect(line()?.['msg']).to.match(/^GET \/posts 200 [\d.]+ ms$/)
    expect(response.headers.get('server-timing')).to.match(/^total;dur=[\d.]+$/)
  })

  it('are not counted in other environments', async () => {
    const response = await visit((ctx) => ctx.findAll(Post), 'production')
    expect(line()).to.include({ msg: 'GET /posts 200' }).and.not.have.property('queries')
    expect(response.headers.get('server-timing')).to.equal(null)
  })

  it('have a line with the level debug, with the place and without values', async () => {
    await visit((ctx) => ctx.tx.query(`SELECT id FROM posts WHERE title = 'Post 3'`))
    const found = log.lines.find(({ msg }) => String(msg).startsWith('SELECT'))
    expect(found).to.include({ level: 20, msg: 'SELECT id FROM posts WHERE title = ?', rows: 1 })
    expect(found).to.have.property('request_id', line()?.['request_id'])
    expect(found?.['place']).to.match(/^spec\/application\/request-queries\.spec\.ts:\d+$/)
  })

  const repeating: Record<string, (ctx: Context) => Promise<unknown>> = {
    'the fast path': async (ctx) => {
      for (const { id } of posts) await ctx.find(Post, id)
    },
    TypeORM: async (ctx) => {
      for (const { id } of posts) await ctx.tx.countBy(Comment, { post_id: id })
    },
    'Promise.all': (ctx) => Promise.all(posts.map(({ id }) => ctx.tx.countBy(Comment, { post_id: id }))),
    'a function of a model': async (ctx) => {
      const count = async (id: string) => ctx.tx.countBy(Comment, { post_id: id })
      for (const { id } of posts) await count(id)
    },
  }
  for (const [way, handler] of Object.entries(repeating)) {
    it(`are reported once if one line repeats them by ${way}`, async () => {
      await visit(handler)
      await visit(handler)
      const [warning, ...others] = warnings()
      expect(others).to.deep.equal([])
      // The stack of the first query, which begins the transaction, can end before the function.
      expect(warning?.['count']).to.be.within(6, 7)
      expect(warning?.['place']).to.match(/^spec\/application\/request-queries\.spec\.ts:\d+$/)
      expect(warning?.['msg']).to.match(
        /^[67] times in GET \/posts, at spec\/.*: SELECT .*\nRead the records/,
      )
    })
  }

  it('are not reported if they read all records at once, or save in a loop', async () => {
    await visit(async (ctx) => {
      const found = await ctx.findAll(Post)
      await ctx.tx.findBy(Comment, { post_id: In(found.map(({ id }) => id)) })
      const comments = found.map(({ id }) => Object.assign(new Comment(), { post_id: id }))
      await ctx.load(comments, 'post')
    })
    await visit(async (ctx) => {
      for (const { id } of posts.slice(0, 5)) await ctx.find(Post, id)
    })
    const app = new App({ api: true, env: 'development', logger: log.logger })
    app.use(transaction(database))
    app.put('/posts', async (ctx) => {
      for (const post of posts) await ctx.save(Object.assign(post, { description: 'New' }))
      ctx.body = {}
    })
    const site = await Site.open(app)
    await site.put('/posts')
    expect(warnings()).to.deep.equal([])
  })

  describe('expectQueries(count, work)', () => {
    it('returns what the work returns', async () => {
      expect(await expectQueries(1, () => database.manager.count(Post))).to.equal(7)
    })

    it('throws an error with each statement, its number and its place', async () => {
      const work = () => Promise.all([database.manager.count(Post), database.manager.count(Post)])
      const error = await expectQueries(1, work).catch((thrown: unknown) => thrown)
      expect(error).to.include({ name: 'AssertionError', expected: 1, actual: 2 })
      expect(Object(error).message).to.match(
        /^Expected 1 queries instead of 2:\n(1 x at spec\/application\/request-queries\.spec\.ts:\d+: SELECT .*\n?){2}$|^Expected 1 queries instead of 2:\n2 x at spec/,
      )
    })

    it('throws an error of the work as it is', async () => {
      const failure = new Error('no')
      const error = await expectQueries(0, () => Promise.reject(failure)).catch((thrown: unknown) => thrown)
      expect(error).to.equal(failure)
    })
  })
})
