import { expect } from 'chai'
import { BaseResource, Queryable, Resource, type Context, type Database } from '../../../src/index.js'
import {
  Article,
  articlesSite,
  newArticle,
  openArticles,
  Remark,
} from '../../support/applications/articles.js'
import { engine } from '../../support/engine.js'
import type { ClientResponse } from '../../../src/testing/index.js'
import type { Site } from '../../support/site.js'

@Resource('/articles', { model: Article })
class ArticlesResource extends BaseResource {
  @Queryable<Article>({
    pages: 'cursor',
    filter: { title: ['prefix', 'in'], pinned: ['eq'], votes: ['gte'] },
    sort: ['title', 'views', 'price', 'pinned', 'created_at'],
    search: ['title'],
  })
  override async list(ctx: Context) {
    const where = ctx.get('X-Where') ? JSON.parse(ctx.get('X-Where')) : undefined
    const { records, pagination } = await ctx.paginate(Article, { perPage: 3, ...(where && { where }) })
    ctx.set('X-Paginator', String(pagination.next))
    return ctx.respond({ data: records })
  }
}

@Resource('/remarks', { model: Remark })
class RemarksResource extends BaseResource {
  @Queryable<Remark>({ pages: 'cursor', sort: ['body'] })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Remark, { perPage: 3 })
    return ctx.respond({ data: records })
  }
}

describe('A list with cursor pages', () => {
  let database: Database
  let site: Site
  const all: Article[] = []

  before(async () => {
    database = await openArticles()
    site = await articlesSite(database, ArticlesResource, RemarksResource)
    for (let number = 0; number < 20; number++) {
      const article = newArticle({
        title: `title ${Math.floor(number / 5)}`,
        views: String(number % 3),
        price: `${number % 4}.50`,
        pinned: number % 2 === 0,
        created_at: new Date(1_790_000_000_000 + (number % 7)),
      })
      all.push(await database.manager.save(article))
    }
    for (let number = 0; number < 5; number++)
      await database.manager.save(
        Object.assign(new Remark(), { body: `title ${number}`, article_id: all[0]?.id }),
      )
  })
  after(() => site.close())

  const get = (path: string, headers: Record<string, string> = {}) =>
    site.get(path, { accept: 'json', headers })

  function linkOf(response: ClientResponse, rel: string): string | undefined {
    return new RegExp(`<([^>]*)>; rel="${rel}"`).exec(response.headers.get('Link') ?? '')?.[1]
  }

  /** The ids of all pages, from a path on. */
  async function walk(path: string, rel: string): Promise<string[][]> {
    const pages: string[][] = []
    for (let next: string | undefined = path; next !== undefined;) {
      const response = await get(next)
      expect(response.status, response.text).to.equal(200)
      pages.push(response.json.map(({ id }: Article) => id))
      next = linkOf(response, rel)
    }
    return pages
  }

  for (const sort of [
    '',
    'title',
    '-title',
    'views,-price',
    '-pinned,title,-views',
    'created_at',
    '-price,pinned',
  ]) {
    it(`gives each record once, forwards and backwards, sorted by ${sort || 'id'}`, async () => {
      const forwards = await walk(`/articles?sort=${sort}`, 'next')
      expect(forwards.flat()).to.have.length(20)
      expect(new Set(forwards.flat()).size).to.equal(20)
      const last = await get(`/articles?sort=${sort}&per_page=19`)
      const end = await get(linkOf(last, 'next') ?? '')
      const backwards = await walk(linkOf(end, 'prev') ?? '', 'prev')
      expect([...backwards.toReversed().flat(), ...end.json.map(({ id }: Article) => id)]).to.deep.equal(
        forwards.flat(),
      )
    })
  }

  it('has Link with next, prev and first, and no count', async () => {
    const first = await get('/articles?sort=title')
    expect(first.headers.get('X-Total-Count')).to.equal(null)
    expect(linkOf(first, 'first')).to.equal('/articles?sort=title')
    expect([linkOf(first, 'prev'), linkOf(first, 'last')]).to.deep.equal([undefined, undefined])
    const second = await get(linkOf(first, 'next') ?? '')
    expect(linkOf(second, 'first')).to.equal('/articles?sort=title')
    expect((await get(linkOf(second, 'prev') ?? '')).json).to.deep.equal(first.json)
  })

  it('keeps its position if per_page changes', async () => {
    const next = linkOf(await get('/articles?per_page=4'), 'next') ?? ''
    const { json } = await get(next.replace('per_page=4', 'per_page=7'))
    expect(json.map(({ id }: Article) => id)).to.deep.equal(
      all
        .map(({ id }) => id)
        .toReversed()
        .slice(4, 11),
    )
  })

  it('keeps its position if its record is deleted', async () => {
    const first = await get('/articles?sort=title&per_page=4')
    const next = linkOf(first, 'next') ?? ''
    const [expected, { id }] = [(await get(next)).json, first.json.at(-1)]
    await database.manager.delete(Article, id)
    expect((await get(next)).json).to.deep.equal(expected)
    await database.manager.save(all.find((article) => article.id === id))
  })

  it('applies the conditions of the handler to every page', async () => {
    const headers = { 'X-Where': JSON.stringify({ pinned: true }) }
    const path = linkOf(await get('/articles'), 'next') ?? ''
    for (const article of (await get(path, headers)).json) expect(article.pinned).to.equal(true)
  })

  it('rejects a cursor of another list, order, filter or search, and one that is not readable', async () => {
    const cursor =
      /after=([^&>]*)/.exec(
        linkOf(await get('/articles?sort=title&title.prefix=title'), 'next') ?? '',
      )?.[1] ?? ''
    const own = (query: string) => `/articles?${query}&after=${cursor}`
    expect((await get(own('sort=title&title.prefix=title'))).status).to.equal(200)
    expect((await get(own('title.prefix=title&sort=title&per_page=9'))).status).to.equal(200)
    const parts = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const written = (change: (values: unknown[]) => void): string => {
      const values = [...parts]
      change(values)
      return Buffer.from(JSON.stringify(values)).toString('base64url')
    }
    const same = 'sort=title&title.prefix=title'
    for (const path of [
      own('sort=-title&title.prefix=title'),
      own('sort=title'),
      own('sort=title&title.prefix=other'),
      own('sort=title&title.prefix=title&search=x'),
      `/remarks?sort=body&after=${cursor}`,
      `/articles?${same}&after=nonsense`,
      `/articles?${same}&after=${cursor}&before=${cursor}`,
      `/articles?${same}&after=${written((values) => values.pop())}`,
      `/articles?${same}&after=${written((values) => values.push(1))}`,
      `/articles?${same}&after=${written((values) => (values[1] = null))}`,
      `/articles?${same}&after=${written((values) => (values[1] = { a: 1 }))}`,
      `/articles?${same}&after=${written((values) => (values[1] = '\0'))}`,
      `/articles?${same}&after=${written((values) => (values[2] = 'no id'))}`,
    ]) {
      const response = await get(path)
      expect(response.status, path).to.equal(400)
      expect(Object.keys(response.json.errors), path).to.deep.equal(['after'])
    }
  })

  it('rejects page, and after on a list with numbered pages', async () => {
    expect((await get('/articles?page=2')).json.errors).to.deep.equal({
      page: ['There is no parameter "page".'],
    })
  })

  it(`finds rows by ${engine === 'mariadb' ? 'columns' : 'rows'}, beyond the values of a cursor that a client has written`, async () => {
    const cursor = /after=([^&>]*)/.exec(linkOf(await get('/articles?sort=title'), 'next') ?? '')?.[1] ?? ''
    const [binding, , id] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    const own = Buffer.from(JSON.stringify([binding, 'title 2', id])).toString('base64url')
    const { json } = await get(`/articles?sort=title&after=${own}&per_page=20`)
    expect(json.map(({ title }: Article) => title)).to.deep.equal([
      ...Array.from({ length: 5 }, () => 'title 2'),
      ...Array.from({ length: 5 }, () => 'title 3'),
    ])
  })
})
