import { expect } from 'chai'
import { App, transaction, type Context } from '../../../src/index.js'
import { newPost, openBlogDatabase, Post } from '../../support/applications/blog-database.js'
import { captureLog } from '../../../src/testing/index.js'
import { newDatabase } from '../../support/databases.js'
import { itOnce } from '../../support/engine.js'
import { Served } from '../../support/processes/served.js'
import { Site } from '../../support/site.js'

describe('A handler that forgets an await', () => {
  const respond = (ctx: Context) => {
    ctx.status = 201
    ctx.body = 'ok'
  }
  const handlers: Record<string, (ctx: Context) => unknown> = {
    'ctx.save': (ctx) => ctx.save(newPost('forgotten')),
    'ctx.save of a bound record': (ctx) => ctx.save(ctx.bind(new Post())),
    'ctx.destroy': async (ctx) => ctx.destroy(await ctx.findOneBy(Post, { title: 'kept' })),
    'ctx.find': (ctx) => ctx.find(Post, '0193b6a2-7c3e-7000-8000-00000000000a'),
    'ctx.findOneBy': (ctx) => ctx.findOneBy(Post, { title: 'absent' }),
    'ctx.paginate': (ctx) => ctx.paginate(Post),
    'ctx.tx.save': (ctx) => ctx.tx.save(newPost('forgotten')),
  }

  for (const [what, handler] of Object.entries(handlers)) {
    it(`returns 500 with a message that names the missing await: ${what}`, async () => {
      const database = await openBlogDatabase()
      await database.manager.save(newPost('kept'))
      const app = new App({ api: true, logger: captureLog().logger, env: 'development' })
      app.use(transaction(database))
      app.post('/posts', (ctx) => {
        void handler(ctx)
        respond(ctx)
      })
      const site = await Site.open(app)
      try {
        const answered = await site.post('/posts', { json: { title: 'new' }, accept: 'application/json' })
        expect(answered.status).to.equal(500)
        expect(answered.json.detail).to.contain(
          'Await every ctx.authorize, ctx.save, ctx.destroy and query of ctx.tx',
        )
        const rows = await database.manager.find(Post)
        expect(rows.map(({ title }) => title)).to.deep.equal(['kept'])
      } finally {
        await site.close()
      }
    })
  }
})

describe('ctx.respond without await', () => {
  it('is logged if it fails, and the process continues', async () => {
    const log = captureLog()
    const app = new App({ logger: log.logger, env: 'test' })
    app.get('/', (ctx) => void ctx.respond({ html: () => 'only a page' }))
    const site = await Site.open(app)
    const response = await site.get('/', { accept: 'application/json' })
    await site.close()
    expect(response.status).to.equal(500)
    expect(log.text()).to.contain('ctx.respond failed, and was not awaited')
  })
})

describe('A rejection that nobody awaits', () => {
  const main = new URL('../../support/applications/unawaited-main.js', import.meta.url).href

  /** Starts an application. Its specs need no tables. */
  async function start(work: (served: Served) => Promise<void>, options = ''): Promise<void> {
    const served = await Served.start(main, [], { DATABASE_URL: await newDatabase(), NODE_OPTIONS: options })
    try {
      await work(served)
    } finally {
      await served.remove()
    }
  }
  const post = (served: Served, what: string) => fetch(`${served.url}/${what}`, { method: 'POST' })

  it('becomes a 500 if it is that of a query, and the process continues', () =>
    start(async (served) => {
      for (const what of ['query', 'builder']) {
        expect((await post(served, what)).status, what).to.equal(500)
        await served.logged('database work that the request did not await has failed')
        served.log.length = 0
      }
      expect((await fetch(served.url)).status).to.equal(204)
    }))

  itOnce('only warns if Node runs with --unhandled-rejections=warn', () =>
    start(async (served) => {
      expect((await post(served, 'unrelated')).status).to.equal(201)
      await served.warned('unrelated')
      expect((await fetch(served.url)).status).to.equal(204)
    }, '--unhandled-rejections=warn'),
  )

  itOnce("ends the process if it is that of the application's own function", () =>
    start(async (served) => {
      await post(served, 'function').catch(() => undefined)
      expect((await served.ended).status).to.equal(1)
      expect(served.errors).to.contain('transaction of this request has ended')
    }),
  )
})
