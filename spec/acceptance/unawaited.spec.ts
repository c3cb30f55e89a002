import { expect } from 'chai'
import { App, transaction, type Context } from '../../src/index.js'
import { newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { captureLog } from '../../src/testing/index.js'
import { Site } from '../support/site.js'

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
