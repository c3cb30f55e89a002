import { expect } from 'chai'
import { LessThan, MoreThan, Not, SelectQueryBuilder } from 'typeorm'
import {
  as,
  BaseResource,
  filter,
  Queryable,
  Resource,
  type Context,
  type Database,
} from '../../../src/index.js'
import {
  Article,
  articlesSite,
  newArticle,
  openArticles,
  Remark,
  Writer,
} from '../../support/applications/articles.js'
import { engine } from '../../support/engine.js'
import type { Site } from '../../support/site.js'

@Resource('/articles', { model: Article })
class ArticlesResource extends BaseResource {
  @Queryable<Article>({
    filter: {
      title: ['eq', 'not', 'in', 'prefix', 'contains'],
      body: ['contains', 'null', 'not', 'eq'],
      state: ['eq', 'in', 'not'],
      votes: ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte', 'null'],
      views: ['eq', 'gt'],
      price: ['eq', 'lt'],
      pinned: ['eq'],
      day: ['eq', 'gte'],
      hour: ['eq', 'lt'],
      published_at: ['gte', 'lt', 'eq'],
      score: ['gt'],
      writer_id: ['eq', 'in', 'null'],
      sort_key: as('votes', ['eq']),
      popular: filter('int', (votes) => ({ votes: MoreThan(votes) })),
      either: filter('string', (title) => [{ title }, { body: title }]),
      by: filter('string', (name) => ({ writer: { name } })),
      days: filter('int', (days) => ({
        published_at: Not(LessThan(new Date(Date.parse('2026-01-02') - days * 86_400_000))),
      })),
      over: filter('float', (votes) => [{ title: '' }, { votes: MoreThan(votes) }]),
      by_after: filter('int', (days) => ({ writer: { created_at: MoreThan(new Date(days * 86_400_000)) } })),
      age: filter(['new', 'old'], (age) => ({
        published_at: age === 'new' ? MoreThan(new Date('2026-01-01')) : LessThan(new Date('2026-01-01')),
      })),
    },
    sort: ['title', 'votes', 'state', 'price', 'pinned', 'published_at'],
    search: ['title', 'body'],
    include: ['writer', 'remarks'],
    params: ['tab'],
  })
  override async list(ctx: Context) {
    const where = ctx.get('X-Where') ? JSON.parse(ctx.get('X-Where')) : undefined
    const { records, query } = await ctx.paginate(Article, { perPage: 100, ...(where && { where }) })
    ctx.set('X-Filtered', String(query.isFiltered))
    return ctx.respond({ html: () => ctx.render('none'), data: records })
  }
}

@Resource('/bylines', { model: Article })
class BylinesResource extends BaseResource {
  @Queryable<Article>({
    include: { writer: ['id'], remarks: { attributes: ['id', 'body'], limit: 2 } },
  })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Article, { where: { title: 'Hello' } })
    return ctx.respond({ data: records })
  }
}

describe('A list with @Queryable', () => {
  let database: Database
  let site: Site
  let ada: Writer

  before(async () => {
    database = await openArticles()
    site = await articlesSite(database, ArticlesResource, BylinesResource)
    ada = await database.manager.save(Object.assign(new Writer(), { name: 'Ada', secret: 'x' }))
    const articles: Partial<Article>[] = [
      {
        title: 'Hello',
        body: 'The WORLD, äÄ',
        state: 'public',
        votes: 5,
        price: '9.50',
        pinned: true,
        writer_id: ada.id,
        day: '2026-02-28',
        hour: '10:30:00',
        score: 1.5,
      },
      {
        title: 'hello',
        body: null,
        votes: null,
        views: '9007199254740993',
        published_at: new Date('2026-01-01T10:00:00.123Z'),
      },
      {
        title: 'Help',
        body: 'world',
        state: 'archived',
        votes: 1,
        price: '10.25',
        published_at: new Date('2025-12-31T23:59:59.999Z'),
      },
      { title: '100%_[*]\\,!', body: 'a|b', votes: -3, price: '0.10' },
    ]
    for (const values of articles) await database.manager.save(newArticle(values))
    const [first] = await database.manager.find(Article, { order: { id: 'ASC' } })
    for (let number = 1; number <= 60; number++)
      await database.manager.save(Object.assign(new Remark(), { body: `${number}`, article_id: first?.id }))
  })
  after(() => site.close())

  const get = (query: string, where?: object) =>
    site.get(`/articles?${query}`, {
      accept: 'json',
      headers: where ? { 'X-Where': JSON.stringify(where) } : {},
    })

  /** The titles of a query's records. */
  async function titles(query: string, where?: object): Promise<string[]> {
    const response = await get(query, where)
    expect(response.status, `${query}: ${response.text}`).to.equal(200)
    return response.json.map(({ title }: Article) => title)
  }

  const odd = '100%_[*]\\,!'
  const encoded = encodeURIComponent(odd)
  const found: [string, string[]][] = [
    ['', [odd, 'Help', 'hello', 'Hello']],
    ['title.eq=Hello', ['Hello']],
    ['title.not=Hello', [odd, 'Help', 'hello']],
    ['title.not=Hello,Help', [odd, 'Help', 'hello', 'Hello']],
    ['title=Hello,Help', ['Help', 'Hello']],
    ['title.in=Hello&title.in=Help', ['Help', 'Hello']],
    ['title.in=,Hello,,', ['Hello']],
    [`title.eq=${encoded}`, [odd]],
    ['title.prefix=Hel', ['Help', 'Hello']],
    ['title.prefix=hel', ['hello']],
    ['title.prefix=Hel%25', []],
    ['title.prefix=H_l', []],
    ['title.prefix=100%25', [odd]],
    [`title.prefix=${encoded}`, [odd]],
    ['title.prefix=%F4%8F%BF%BF', []],
    ['title.contains=EL', ['Help', 'hello', 'Hello']],
    ['title.contains=%25_', [odd]],
    ['title.contains=[*]', [odd]],
    ['title.contains=\\', [odd]],
    ['title.contains=!', [odd]],
    ['title.contains=.*', []],
    ['body.contains=world', ['Help', 'Hello']],
    ['body.not=world', [odd, 'hello', 'Hello']],
    ['body.null=true', ['hello']],
    ['body.null=0', [odd, 'Help', 'Hello']],
    ['body=a|b', [odd]],
    ['state=public,archived', ['Help', 'Hello']],
    ['state=public&state=archived', ['Help', 'Hello']],
    ['state.eq=public', ['Hello']],
    ['state.not=draft', ['Help', 'Hello']],
    ['votes=5', ['Hello']],
    ['votes=5,1', ['Help', 'Hello']],
    ['votes.not=5', [odd, 'Help', 'hello']],
    ['votes.lt=1', [odd]],
    ['votes.lte=1', [odd, 'Help']],
    ['votes.gt=1', ['Hello']],
    ['votes.gte=1', ['Help', 'Hello']],
    ['votes.gte=0&votes.lt=5', ['Help']],
    ['votes.null=true', ['hello']],
    ['views=9007199254740993', ['hello']],
    ['views.gt=9007199254740992', ['hello']],
    ['price=9.5', ['Hello']],
    ['price.lt=10', [odd, 'hello', 'Hello']],
    ['pinned=on', ['Hello']],
    ['pinned=false', [odd, 'Help', 'hello']],
    ['day=2026-02-28', ['Hello']],
    ['day.gte=2026-03-01', []],
    ['hour=10:30', ['Hello']],
    ['hour.lt=10:31', ['Hello']],
    ['published_at.gte=2026-01-01', ['hello']],
    ['published_at.lt=2026-01-01T00:00:00Z', ['Help']],
    ['published_at.eq=2026-01-01T11:00:00.123%2B01:00', ['hello']],
    ['score.gt=1.4', ['Hello']],
    ['writer_id.null=false', ['Hello']],
    ['sort_key=5', ['Hello']],
    ['popular=0', ['Help', 'Hello']],
    ['popular=0&votes.lt=5', ['Help']],
    ['either=world', ['Help']],
    ['either=Hello&votes.gt=5', []],
    ['by=Ada', ['Hello']],
    ['by=Bob', []],
    ['days=1', ['hello']],
    ['days=300000', ['Help', 'hello']],
    ['over=4', ['Hello']],
    ['age=old', ['Help']],
    ['search=WORLD', ['Help', 'Hello']],
    ['search=hel+world', ['Help', 'Hello']],
    ['search=%25', [odd]],
    ['search=nothing+hel', []],
    ['sort=title&title.prefix=Hel', ['Hello', 'Help']],
    ['sort=-title&title.prefix=Hel', ['Help', 'Hello']],
    ['sort=state', ['hello', odd, 'Hello', 'Help']],
    ['sort=-state', ['Help', 'Hello', odd, 'hello']],
    ['sort=price', ['hello', odd, 'Hello', 'Help']],
    ['sort=pinned,-price', ['Help', odd, 'hello', 'Hello']],
    ['votes.null=false&sort=votes', [odd, 'Help', 'Hello']],
    ['sort=pinned&sort=-price', ['Help', odd, 'hello', 'Hello']],
    ['tab=anything', [odd, 'Help', 'hello', 'Hello']],
    ['page=x&per_page=2abc', [odd, 'Help', 'hello', 'Hello']],
    ['title.eq=&votes.gt=&search=&sort=&include=&unknown=', [odd, 'Help', 'hello', 'Hello']],
    ['title.eq=Hello&title.eq=Help', ['Help']],
  ]
  for (const [query, expected] of found) {
    it(`finds ${expected.length} records for ${JSON.stringify(query)}`, async () => {
      expect(await titles(query)).to.deep.equal(expected)
      // From the cache of statements.
      expect(await titles(query)).to.deep.equal(expected)
    })
  }

  it('finds a record by a UUID in any case', async () => {
    expect(await titles(`writer_id.eq=${ada.id.toUpperCase()}`)).to.deep.equal(['Hello'])
  })

  it('treats a comma as part of the value if only eq is listed', async () => {
    const response = await get('sort_key=1,5')
    expect(response.json.errors).to.have.keys('sort_key')
  })

  it('ignores case of all letters in contains and search, on SQLite of ASCII letters', async () => {
    const expected = engine === 'sqlite' ? [] : ['Hello']
    expect(await titles('body.contains=ÄÄ')).to.deep.equal(expected)
    expect(await titles('search=ää')).to.deep.equal(expected)
    expect(await titles('body.contains=äÄ')).to.deep.equal(['Hello'])
    expect(await titles('body.contains=aA')).to.deep.equal([])
  })

  if (engine !== 'sqlite') {
    it('compares the beginning of a text by case, even if its column ignores case', async function () {
      const change =
        engine === 'mariadb'
          ? (collation: string) => `MODIFY title varchar(255) COLLATE ${collation} NOT NULL`
          : (type: string) => `ALTER COLUMN title TYPE ${type}`
      const [without, exact] =
        engine === 'mariadb' ? ['utf8mb4_general_ci', 'utf8mb4_nopad_bin'] : ['citext', 'varchar']
      if (engine === 'postgres') {
        const available = await database.query(
          "SELECT name FROM pg_available_extensions WHERE name = 'citext'",
        )
        if (available.length === 0) return this.skip()
        await database.query('CREATE EXTENSION citext')
      }
      await database.query(`ALTER TABLE articles ${change(without)}`)
      expect(await titles('title.eq=HELLO')).to.deep.equal(['hello', 'Hello'])
      expect(await titles('title.prefix=hel')).to.deep.equal(['hello'])
      await database.query(`ALTER TABLE articles ${change(exact)}`)
    })
  }

  it('says whether the client filters, by any operator', async () => {
    for (const [query, isFiltered] of [
      ['state.eq=draft', 'true'],
      ['state.in=draft', 'true'],
      ['search=x', 'true'],
      ['sort=title&page=1', 'false'],
    ] as const)
      expect((await get(query)).headers.get('X-Filtered'), query).to.equal(isFiltered)
  })

  it('adds filters to the conditions of the handler, also for the same column', async () => {
    expect(await titles('title=Hello,Help', { title: 'Help' })).to.deep.equal(['Help'])
    expect(await titles('title.eq=Hello', { title: 'Help' })).to.deep.equal([])
    expect(await titles('votes.gt=0', { pinned: true })).to.deep.equal(['Hello'])
    expect(await titles('either=hello', { title: 'Help' })).to.deep.equal([])
    expect(await titles('', { writer: { name: 'Ada' } })).to.deep.equal(['Hello'])
    expect(await titles('votes.lt=0', { writer: { name: 'Ada' } })).to.deep.equal([])
  })

  it('adds filters to each alternative of the handler', async () => {
    const where = [{ title: 'Help' }, { pinned: true }]
    expect(await titles('', where)).to.deep.equal(['Help', 'Hello'])
    expect(await titles('votes.gt=1', where)).to.deep.equal(['Hello'])
    expect(await titles('title.prefix=h', where)).to.deep.equal([])
    expect(await titles('either=hello', where)).to.deep.equal([])
  })

  it('finds nothing if no record can meet the conditions of the handler', async () => {
    const response = await get('votes.gt=0', { title: null })
    expect([response.json, response.headers.get('X-Total-Count')]).to.deep.equal([[], '0'])
  })

  it('counts the records that it finds, and keeps the query in Link', async () => {
    const response = await get('title.contains=hel&per_page=2&sort=title')
    expect(response.json).to.have.length(2)
    expect(response.headers.get('X-Total-Count')).to.equal('3')
    expect(response.headers.get('Link')).to.contain(
      '/articles?title.contains=hel&per_page=2&sort=title&page=2>; rel="next"',
    )
  })

  it('includes relations only if they are requested, without hidden columns', async () => {
    const [plain] = (await get('title.eq=Hello')).json
    expect(plain).not.to.have.any.keys('writer', 'remarks')
    const [article] = (await get('title.eq=Hello&include=writer,remarks')).json
    expect((await get('title.eq=Hello&include=writer&include=remarks')).json).to.deep.equal([article])
    expect(article.writer).to.include({ name: 'Ada' }).and.not.have.property('secret')
    expect(article.remarks.map(({ body }: Remark) => body)).to.deep.equal(
      Array.from({ length: 50 }, (_, index) => `${60 - index}`),
    )
    const [other] = (await get('title.eq=Help&include=writer,remarks')).json
    expect(other).to.deep.include({ writer: null, remarks: [] })
  })

  it('includes only the attributes that the declaration lists', async () => {
    const [article] = (await site.get('/bylines?include=writer,remarks', { accept: 'json' })).json
    expect(article.writer).to.deep.equal({ id: article.writer_id })
    expect(article.remarks.map(Object.keys)).to.deep.equal([
      ['id', 'body'],
      ['id', 'body'],
    ])
    const { text } = await site.get('/bylines?include=writer,remarks', { accept: 'xml' })
    expect(text).to.contain(`<writer><id>${article.writer_id}</id></writer>`)
    expect(text).to.match(/<remark><id>[^<]+<\/id><body>60<\/body><\/remark>/)
    const [whole] = (await get('title.eq=Hello&include=writer')).json
    expect(whole.writer).to.include({ initial: 'A', name: 'Ada' })
  })

  const long = 'x'.repeat(201)
  const rejected: [string, Record<string, string[]>][] = [
    ['titel=x', { titel: ['There is no parameter "titel". Did you mean "title"?'] }],
    ['zzzzzzzzzz=x', { zzzzzzzzzz: ['There is no parameter "zzzzzzzzzz".'] }],
    ['excluded=x', { excluded: ['There is no parameter "excluded".'] }],
    ['after=x', { after: ['There is no parameter "after".'] }],
    ['title.lt=x', { 'title.lt': ['Title cannot be filtered by "lt". Use eq, not, in, prefix, contains.'] }],
    ['title.=x', { 'title.': ['Title cannot be filtered by "". Use eq, not, in, prefix, contains.'] }],
    ['price.in=1', { 'price.in': ['Price cannot be filtered by "in". Use eq, lt.'] }],
    [
      'published_at=2026-99-01',
      { published_at: ['Published at must be a date and time, for example 2026-05-31T14:30.'] },
    ],
    ['score=1', { score: ['Score cannot be filtered by "score". Use score.gt.'] }],
    ['popular.eq=1', { 'popular.eq': ['Popular cannot be filtered by "eq".'] }],
    ['votes=five', { votes: ['Votes must be a whole number that is not too large.'] }],
    ['votes=99999999999', { votes: ['Votes must be a whole number that is not too large.'] }],
    ['state=secret', { state: ['State must be one of: draft, public, or archived.'] }],
    ['days=900000', { days: ['Days is out of range.'] }],
    ['days=-2000000000', { days: ['Days is out of range.'] }],
    ['over=1e20', { over: ['Over is out of range.'] }],
    ['by_after=9000000', { by_after: ['By after is out of range.'] }],
    ['age=none', { age: ['Age must be one of: new or old.'] }],
    ['writer_id.eq=1', { 'writer_id.eq': ['Writer must be a UUID.'] }],
    ['body.null=maybe', { 'body.null': ['Body must be true or false.'] }],
    ['title.eq=%00', { 'title.eq': ['Title must be text.'] }],
    [`title.eq=${long}`, { 'title.eq': ['Title must have 200 characters or fewer.'] }],
    [`search=${long}`, { search: ['Each word of the search must have 200 characters or fewer.'] }],
    ['search=1+2+3+4+5+6+7+8+9', { search: ['The search can have at most 8 words.'] }],
    ['sort=titel', { sort: ['The list cannot be sorted by "titel". Did you mean "title"?'] }],
    ['sort=excluded', { sort: ['The list cannot be sorted by "excluded".'] }],
    ['sort=title,-title', { sort: ['The list cannot be sorted by "title" twice.'] }],
    [
      'sort=title,votes,state,price,pinned,published_at',
      { sort: ['The list can be sorted by at most 5 names.'] },
    ],
    ['include=writr', { include: ['"writr" cannot be included. Did you mean "writer"?'] }],
    ['include=a,b,c,d', { include: ['At most 3 names can be included.'] }],
    [
      `votes=${Array.from({ length: 101 }, (_, i) => i).join(',')}`,
      { votes: ['Votes must have 100 entries or fewer.'] },
    ],
  ]
  for (const [query, errors] of rejected) {
    it(`rejects ${query.slice(0, 40)}`, async () => {
      const response = await get(query)
      expect(response.status, response.text).to.equal(400)
      expect(response.headers.get('Content-Type')).to.contain('application/problem+json')
      expect(response.json).to.include({ title: 'Bad Request', detail: 'The query is not valid.' })
      expect(response.json.errors).to.deep.equal(errors)
    })
  }

  it('rejects all mistakes at once', async () => {
    const { json } = await get('titel=1&votes=x&sort=no&include=no&search=%00')
    expect(Object.keys(json.errors)).to.have.members(['titel', 'votes', 'sort', 'include', 'search'])
    expect(json.codes.votes).to.deep.equal(['type.int'])
  })

  it('names at most 20 parameters, cut to 100 characters', async () => {
    const many = Array.from({ length: 500 }, (_, index) => `${index}${'e'.repeat(150)}=x`)
    const { errors } = (await get(many.slice(0, 60).join('&'))).json
    expect(Object.keys(errors)).to.have.length(20)
    for (const name of Object.keys(errors)) expect(name.length).to.equal(100)
  })

  it('allows 20 conditions, of which a list is one', async () => {
    const conditions = [
      'title.eq=a',
      'title.not=a',
      'title=a,b',
      'title.prefix=a',
      'title.contains=a',
      'body.contains=a',
      'body.null=1',
      'body.not=a',
      'body=a',
      'state.eq=draft',
      'state=draft',
      'state.not=draft',
      'votes.eq=1',
      'votes.not=1',
      'votes=1',
      'votes.lt=1',
      'votes.lte=1',
      'votes.gt=1',
      'votes.gte=1',
      'votes.null=1',
      'views=1',
    ]
    expect(await titles(conditions.slice(0, 20).join('&'))).to.deep.equal([])
    const { status, json } = await get(conditions.join('&'))
    expect([status, json.errors]).to.deep.equal([400, { base: ['A query can have at most 20 filters.'] }])
  })

  it('allows as many values, characters, sort keys, relations and words as the bounds', async () => {
    const most = 'x'.repeat(200)
    for (const query of [
      `title.eq=${most}`,
      `title.eq=${'😀'.repeat(200)}`,
      `search=${most}+b+c+d+e+f+g+h`,
      `votes=${Array.from({ length: 100 }, (_, number) => number + 10).join(',')}`,
      'title.eq=none&sort=title,-votes,state,-price,pinned',
      'title.eq=none&include=writer,remarks,writer',
    ])
      expect(await titles(query), query.slice(0, 30)).to.deep.equal([])
  })

  it('lets TypeORM build the statements of a shape once', async () => {
    const { prototype } = SelectQueryBuilder
    const build = prototype.getQueryAndParameters
    let built = 0
    prototype.getQueryAndParameters = function (this: typeof prototype) {
      built += 1
      return build.call(this)
    }
    try {
      for (const title of ['a', 'b', 'c'])
        await get(`title.prefix=${title}&price.lt=1&state=draft,public&sort=votes,-title`)
      // The count, and the records.
      expect(built).to.equal(2)
    } finally {
      prototype.getQueryAndParameters = build
    }
  })

  it('rejects a filter after nine hundred parameters, too', async () => {
    const many = Array.from({ length: 900 }, () => 'a').join('&')
    expect((await get(`${many}&votes=x`)).json.errors).to.have.property('votes')
  })

  it('rejects a hidden column word for word like a name that does not exist', async () => {
    const [hidden, unknown] = [
      await get('masked.prefix=1&sort=masked&include=masked'),
      await get('nosuch.prefix=1&sort=nosuch&include=nosuch'),
    ]
    const told = (text: string) => text.replaceAll(/masked|nosuch/g, '?').replace(/"request_id":"[^"]+"/, '')
    expect(told(hidden.text)).to.equal(told(unknown.text))
  })

  it('rejects a query in XML, too', async () => {
    const response = await site.get('/articles?votes=x', { accept: 'xml' })
    expect(response.status).to.equal(400)
    expect(response.text).to.contain('<votes><message>Votes must be a whole number')
  })

  it('leaves Link out if the query is too long for a header, and never shortens it', async () => {
    const query = `title=${Array.from({ length: 100 }, (_, index) => 'y'.repeat(20) + index).join(',')}`
    const response = await get(query)
    expect([response.status, response.headers.get('Link')]).to.deep.equal([200, null])
  })
})
