import { expect } from 'chai'
import { pino } from 'pino'
import { App, transaction } from '../../src/index.js'
import { Comment, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { describeOnce } from '../support/engine.js'
import { Site } from '../support/site.js'

describeOnce('A record that is found by undefined', () => {
  for (const env of ['development', 'test']) {
    const advice =
      env === 'development'
        ? [' "id" is undefined.', ' "post_id" is undefined.'].map(
            (text) =>
              `${text} If it is from ctx.params, the route has no parameter of this name; it has post_id.`,
          )
        : ['', '']

    it(`is a 404, which ${env === 'development' ? 'names' : 'does not name'} the value in ${env}`, async () => {
      const app = new App({ env, logger: pino({ level: 'silent' }) })
      app.use(transaction(await openBlogDatabase(), { checksMigrations: false }))
      app.get('/posts/{post_id}', (ctx) => ctx.find(Post, ctx.params['pots_id']))
      app.get('/posts/{post_id}/comments', (ctx) =>
        ctx.findOneBy(Comment, { post_id: ctx.params['pots_id'], body: 'x' }),
      )
      const site = await Site.open(app)
      const found = []
      for (const path of ['/posts/1', '/posts/1/comments']) {
        const { status, json } = await site.get(path, { accept: 'json' })
        found.push([status, json.detail])
      }
      expect(found).to.deep.equal([
        [404, `Post not found.${advice[0]}`],
        [404, `Comment not found.${advice[1]}`],
      ])
    })
  }
})
