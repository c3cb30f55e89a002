import { expect } from 'chai'
import {
  App,
  BaseResource,
  Parent,
  Queryable,
  Resource,
  Route,
  transaction,
  Use,
} from '../../../src/index.js'
import { Job, jobQueue } from '../../../src/jobs/index.js'
import type { Context, Database } from '../../../src/index.js'
import { Article, newArticle, openArticles } from '../../support/applications/articles.js'
import { digestsDatabase, digestsUrl } from '../../support/applications/digests.js'
import { mark } from '../../support/marks.js'
import { Site } from '../../support/site.js'

// Nothing in these classes has a decorator, so the compiler writes no types for them.
class Articles extends BaseResource {
  override async list(ctx: Context) {
    ctx.body = (await ctx.paginate(Article)).records.map(({ title }) => title)
  }
  recent(ctx: Context) {
    ctx.body = 'recent'
  }
}

class Remarks extends BaseResource {
  override list(ctx: Context) {
    ctx.body = ctx.params
  }
}

const greeted: string[] = []

class Greet {
  perform({ name }: { name: string }) {
    greeted.push(name)
  }
}

/** Applies a decorator to a method as the compiler does without `emitDecoratorMetadata`. */
function decorate(target: object, name: string, decorator: Function): void {
  decorator(target, name, Object.getOwnPropertyDescriptor(target, name))
}

describe('Decorators in code that is compiled without emitDecoratorMetadata', () => {
  let database: Database
  let site: Site

  before(async () => {
    decorate(Articles.prototype, 'list', Queryable<Article>({ filter: { title: ['prefix'] } }))
    decorate(Articles.prototype, 'recent', Route('GET', '/recent'))
    decorate(Articles.prototype, 'recent', Use(mark('recent')))
    Use(mark('articles'))(Articles)
    Resource('/articles', { model: Article })(Articles)
    Parent(Articles)(Remarks)
    Resource('/remarks')(Remarks)
    database = await openArticles()
    await database.manager.save([newArticle({ title: 'one' }), newArticle({ title: 'two' })])
    const app = new App({ api: true })
    app.use(transaction(database))
    app.resource(Articles)
    app.resource(Remarks)
    site = await Site.open(app)
  })
  after(async () => {
    await site.close()
    await database.close()
  })

  it('has no types of parameters and methods', () => {
    for (const name of ['list', 'recent'])
      expect(Reflect.getMetadataKeys(Articles.prototype, name).filter(isOfCompiler)).to.deep.equal([])
    expect(Reflect.getMetadataKeys(Greet).filter(isOfCompiler)).to.deep.equal([])
  })

  it('serves a resource with @Resource, @Route, @Use and @Queryable', async () => {
    expect((await site.get('/articles?title.prefix=t')).json).to.deep.equal(['two'])
    expect((await site.get('/articles?body.eq=t')).status).to.equal(400)
    const recent = await site.get('/articles/recent')
    expect(recent.text).to.equal('recent')
    expect(recent.headers.get('x-marks')).to.equal('articles, recent')
  })

  it('nests a resource with @Parent', async () => {
    const id = '0193b6a2-7c3e-7000-8000-00000000000a'
    expect((await site.get(`/articles/${id}/remarks`)).json).to.deep.equal({ article_id: id })
  })

  it('runs a @Job', async () => {
    Job()(Greet)
    const jobsDatabase = digestsDatabase(await digestsUrl())
    const jobs = jobQueue(jobsDatabase, { jobs: [Greet] })
    const app = new App({ api: true })
    app.use(transaction(jobsDatabase))
    app.extend(jobs)
    app.post('/', async (ctx) => {
      await ctx.enqueue(Greet, { name: 'Ada' })
      ctx.status = 204
    })
    const greeting = await Site.open(app)
    expect((await greeting.post('/')).status).to.equal(204)
    expect(await jobs.drain()).to.deep.equal({ finished: 1, failed: [] })
    expect(greeted).to.deep.equal(['Ada'])
    await greeting.close()
    await jobsDatabase.close()
  })
})

function isOfCompiler(key: unknown): boolean {
  return String(key).startsWith('design:')
}
