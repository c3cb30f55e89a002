import { expect } from 'chai'
import { BaseResource, Queryable, Resource, type Context, type Database } from '../../../src/index.js'
import {
  Article,
  articlesSite,
  EagerRemark,
  newArticle,
  openArticles,
  Remark,
  Writer,
} from '../../support/applications/articles.js'
import type { Site } from '../../support/site.js'

@Resource('/remarks', { model: EagerRemark })
class RemarksResource extends BaseResource {
  @Queryable<EagerRemark>({ filter: { body: ['prefix'] }, sort: ['body'], search: ['body'] })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(EagerRemark, { perPage: 2 })
    return ctx.respond({ data: records })
  }
}

const ofWriters: Queryable<Writer> = { filter: { name: ['eq'] } }

@Resource('/others', { model: Article })
class OthersResource extends BaseResource {
  @Queryable<Article>({ sort: ['title'] })
  override async list(ctx: Context) {
    const options = ctx.get('X-Own') ? { queryable: ofWriters } : {}
    const { records } = await ctx.paginate(Writer, options)
    return ctx.respond({ data: records })
  }
}

@Resource('/plain', { model: Article })
class PlainResource extends BaseResource {
  override async list(ctx: Context) {
    const { records, query } = await ctx.paginate(Article)
    ctx.set('X-Errors', String(query.errors))
    return ctx.respond({ data: records })
  }
}

describe('The model of a list', () => {
  let database: Database
  let site: Site

  before(async () => {
    database = await openArticles()
    site = await articlesSite(database, RemarksResource, OthersResource, PlainResource)
    const article = await database.manager.save(newArticle({ title: 'The article' }))
    for (const body of ['ab', 'aa', 'b', 'ac'])
      await database.manager.save(Object.assign(new Remark(), { body, article_id: article.id }))
    await database.manager.save(Object.assign(new Writer(), { name: 'Ada' }))
  })
  after(() => site.close())

  it('can have relations that TypeORM always loads', async () => {
    const first = await site.get('/remarks?body.prefix=a&sort=body', { accept: 'json' })
    expect(first.headers.get('X-Total-Count')).to.equal('3')
    expect(first.json.map(({ body, article }: EagerRemark) => [body, article?.title])).to.deep.equal([
      ['aa', 'The article'],
      ['ab', 'The article'],
    ])
    const second = await site.get('/remarks?body.prefix=a&sort=body&page=2', { accept: 'json' })
    expect(second.json.map(({ body }: EagerRemark) => body)).to.deep.equal(['ac'])
  })

  it('must be that of the resource, unless the list has its own declaration', async () => {
    const failed = await site.get('/others', { accept: 'json' })
    expect(failed.status).to.equal(500)
    const own = await site.get('/others?name=Ada', { accept: 'json', headers: { 'X-Own': '1' } })
    expect(own.json.map(({ name }: Writer) => name)).to.deep.equal(['Ada'])
  })

  it('has no filters without @Queryable, and ignores the query', async () => {
    const query = 'title=nothing&title.prefix=x&sort=nothing&search=nothing&include=writer&after=x&unknown=1'
    const response = await site.get(`/plain?${query}`, { accept: 'json' })
    expect([response.status, response.headers.get('X-Errors')]).to.deep.equal([200, 'undefined'])
    expect(response.json.map(({ title }: Article) => title)).to.deep.equal(['The article'])
    expect(response.json[0]).not.to.have.property('writer')
  })
})
