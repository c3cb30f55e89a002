import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { BaseResource, Queryable, Resource, Route, type Context, type Database } from '../../../src/index.js'
import { Article, articlesApp, newArticle, openArticles } from '../../support/applications/articles.js'
import { describeOnce } from '../../support/engine.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

@Resource('/articles', { model: Article })
class ArticlesResource extends BaseResource {
  @Queryable<Article>({
    filter: {
      state: ['in'],
      title: ['prefix', 'contains'],
      votes: ['gte', 'null'],
      pinned: ['eq'],
      published_at: ['gte', 'lt'],
      writer_id: ['eq'],
    },
    sort: ['-title', 'votes'],
    search: ['title', 'body'],
    include: ['writer'],
    params: ['tab'],
  })
  override async list(ctx: Context) {
    const { records, pagination, query } = await ctx.paginate(Article, { perPage: 2 })
    const writers = [{ value: '01890000-0000-7000-8000-000000000001', label: 'Ada' }]
    return ctx.respond({
      html: () => ctx.render('articles', { articles: records, pagination, query, writers }),
      data: records,
    })
  }
}

const declaration: Queryable<Article> = { filter: { title: ['prefix'], votes: ['gte'] } }

@Resource('/feed', { model: Article })
class FeedResource extends BaseResource {
  @Queryable<Article>({ pages: 'cursor', filter: { title: ['prefix'] }, sort: ['title'] })
  override async list(ctx: Context) {
    const { records, pagination, query } = await ctx.paginate(Article, { perPage: 2 })
    return ctx.respond({ html: () => ctx.render('articles', { articles: records, pagination, query }) })
  }
}

/** Lists of which there is no page. */
@Resource('/exports', { model: Article })
class ExportsResource extends BaseResource {
  @Queryable(declaration)
  @Route('GET', '/data')
  async data(ctx: Context) {
    const { records } = await ctx.paginate(Article)
    return ctx.respond({ data: records })
  }

  @Queryable(declaration)
  @Route('GET', '/body')
  async body(ctx: Context) {
    const { records } = await ctx.paginate(Article)
    ctx.body = records
  }

  @Queryable(declaration)
  @Route('GET', '/xml')
  async xml(ctx: Context) {
    const { records } = await ctx.paginate(Article)
    return ctx.respond({ xml: records })
  }

  @Queryable(declaration)
  @Route('GET', '/file')
  async file(ctx: Context) {
    const { records } = await ctx.paginate(Article)
    ctx.type = 'text/csv'
    ctx.body = ['title', ...records.map(({ title }) => title)].join('\n')
  }
}

const template = `
!= filterForm(query, { choices: { writer_id: writers || [] } })
table
  tr
    th(scope='col' aria-sort=query.ariaSort('title'))!= sortLink(query, 'title')
    th(scope='col' aria-sort=query.ariaSort('votes'))!= sortLink(query, 'votes')
    th(scope='col')!= sortLink(query, 'body')
  each article in articles
    tr: td.title= article.title
if articles.length === 0
  != emptyList(query)
!= paginator(pagination)
`

describeOnce('The page of a list with @Queryable', () => {
  let database: Database
  let site: Site
  const folder = temporaryFolder()

  before(async () => {
    writeFileSync(join(folder, 'articles.pug'), template)
    database = await openArticles()
    for (const title of ['aa', 'ab', 'ba', 'bb'])
      await database.manager.save(newArticle({ title, state: title.startsWith('a') ? 'public' : 'draft' }))
    site = await Site.open(
      articlesApp(database, [ArticlesResource, ExportsResource, FeedResource], { templates: folder }),
    )
  })
  after(async () => {
    await site.close()
    rmSync(folder, { recursive: true })
  })

  const titlesIn = (text: string) => [...text.matchAll(/class="title">([^<]*)</g)].map(([, title]) => title)

  it('has a form of fields with labels, which a browser sends with GET', async () => {
    const { status, text } = await site.get('/articles')
    expect(status).to.equal(200)
    expect(text).to.contain('<form class="filters" method="get" role="search" aria-label="Filter">')
    for (const [id, label] of Object.entries({
      filter_search: 'Search',
      filter_title_prefix: 'Title begins with',
      filter_title_contains: 'Title contains',
      filter_votes_gte: 'Votes at least',
      filter_votes_null: 'Votes is empty',
      filter_pinned: 'Pinned',
      filter_published_at_gte: 'Published at from',
      filter_published_at_lt: 'Published at before',
      filter_writer_id: 'Writer',
    })) {
      expect(text).to.contain(`<label for="${id}">${label}</label>`)
      expect(text).to.match(new RegExp(`<(input|select)[^>]* ?id="${id}"`))
    }
    expect(text).to.contain('<legend>State</legend>')
    expect(text).not.to.contain('Clear filters')
  })

  it('shows the sent values in the form, and keeps order, size and parameters of the handler in hidden fields', async () => {
    const { text } = await site.get(
      '/articles?state=public&state=draft&title.prefix=a&search=%22a&votes.null=true&published_at.gte=2026-01-02&sort=votes&per_page=1&tab=x&page=2&utm_source=y',
    )
    expect(text)
      .to.match(/value="public" checked/)
      .and.match(/value="draft" checked/)
    expect(text).to.match(/name="title\.prefix"[^>]*value="a"/)
    expect(text).to.match(/name="search"[^>]*value="&quot;a"/)
    expect(text).to.match(/value="2026-01-02T00:00"/)
    expect(text).to.match(/<option value="true" selected>Yes/)
    const hidden = [...text.matchAll(/type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
      ([, name, value]) => [name, value],
    )
    expect(hidden).to.deep.equal([
      ['sort', 'votes'],
      ['per_page', '1'],
      ['tab', 'x'],
    ])
  })

  it('filters without JavaScript, and clears the filters', async () => {
    // A browser sends empty fields, too.
    const { status, text } = await site.get(
      '/articles?search=&state=public&title.prefix=&votes.gte=&pinned=&sort=title',
    )
    expect(status).to.equal(200)
    expect(titlesIn(text)).to.deep.equal(['aa', 'ab'])
    expect(text).to.contain('<a class="clear" href="?sort=title">Clear filters</a>')
  })

  it('sorts by the declared order, and by links in the headings that keep the filters', async () => {
    const first = (await site.get('/articles?state=public')).text
    expect(titlesIn(first)).to.deep.equal(['ab', 'aa'])
    expect(first).to.contain(
      '<th scope="col" aria-sort="descending"><a href="?state=public&amp;sort=title">Title <span aria-hidden="true">&#9660;</span></a></th>',
    )
    expect(first).to.contain('<th scope="col"><a href="?state=public&amp;sort=votes">Votes</a></th>')
    expect(first).to.contain('<th scope="col">Body</th>')
    const sorted = (await site.get('/articles?state=public&sort=title')).text
    expect(titlesIn(sorted)).to.deep.equal(['aa', 'ab'])
    expect(sorted).to.contain('aria-sort="ascending"><a href="?state=public&amp;sort=-title">')
  })

  it('keeps the query in the paginator', async () => {
    const { text } = await site.get('/articles?sort=title&state=public,draft')
    expect(text).to.contain('href="?sort=title&amp;state=public%2Cdraft&amp;page=2"')
  })

  it('says that nothing matches, and offers to clear the filters', async () => {
    const { status, text } = await site.get('/articles?title.prefix=zz')
    expect(status).to.equal(200)
    expect(text).to.match(
      /<p class="empty">\s*Nothing matches these filters. <a href="\?">Clear filters<\/a>/,
    )
  })

  it('ignores unknown parameters', async () => {
    const { status, text } = await site.get('/articles?utm_source=x&after=x&fbclid=1')
    expect([status, titlesIn(text)]).to.deep.equal([200, ['bb', 'ba']])
  })

  const mistakes: [string, string, string | undefined][] = [
    ['votes.gte=many', 'Votes must be a whole number that is not too large.', 'filter_votes_gte'],
    ['state=nothing', 'State must be one of: draft, public, or archived.', 'filter_state'],
    ['search=%00', 'The search contains characters that are not text.', 'filter_search'],
    [
      'published_at.gte=soon',
      'Published at must be a date and time, for example 2026-05-31T14:30.',
      'filter_published_at_gte',
    ],
    ['title.lt=a', 'Title cannot be filtered by &quot;lt&quot;. Use prefix, contains.', undefined],
    [
      'title=a',
      'Title cannot be filtered by &quot;title&quot;. Use title.prefix, title.contains.',
      undefined,
    ],
    ['include=reviewer', '&quot;reviewer&quot; cannot be included.', undefined],
    ['sort=body', 'The list cannot be sorted by &quot;body&quot;.', undefined],
  ]
  for (const [query, message, id] of mistakes) {
    it(`shows the error of ${query} with status 400, and no records`, async () => {
      const response = await site.get(`/articles?${query}`)
      expect(response.status, response.text).to.equal(400)
      expect(titlesIn(response.text)).to.deep.equal([])
      expect(response.text).to.contain('The list could not be filtered: there is a problem')
      expect(response.text).to.contain(
        id ? `<li><a href="#${id}">${message}</a></li>` : `<li>${message}</li>`,
      )
      if (id)
        expect(response.text).to.match(new RegExp(`id="${id}_error">${message.replaceAll(/[.?]/g, '\\$&')}`))
      expect(response.headers.get('Link')).to.equal(null)
      expect(response.text).to.contain('Clear filters').and.not.contain('sort=body')
    })
  }

  it('has links to the next and the previous cursor page, which keep the query', async () => {
    const linkOf = (text: string, rel: string) =>
      new RegExp(`<a[^>]*rel="${rel}"[^>]*>`)
        .exec(text)?.[0]
        .match(/href="([^"]*)"/)?.[1]
        ?.replaceAll('&amp;', '&')
    const first = (await site.get('/feed?sort=title')).text
    expect(titlesIn(first)).to.deep.equal(['aa', 'ab'])
    expect(linkOf(first, 'prev')).to.equal(undefined)
    const second = (await site.get(`/feed${linkOf(first, 'next')}`)).text
    expect(titlesIn(second)).to.deep.equal(['ba', 'bb'])
    expect(linkOf(second, 'next')).to.equal(undefined)
    expect(titlesIn((await site.get(`/feed${linkOf(second, 'prev')}`)).text)).to.deep.equal(['aa', 'ab'])
  })

  it('shows the error of a cursor that does not belong to the list, and no records', async () => {
    const { status, text } = await site.get('/feed?after=nonsense')
    expect([status, titlesIn(text)]).to.deep.equal([400, []])
    expect(text).to.contain('<li>').and.contain('after')
    expect(text).not.to.contain('rel="next"')
  })

  it('responds in JSON with the same errors', async () => {
    const response = await site.get('/articles?votes.gte=many', { accept: 'json' })
    expect(response.json.errors).to.deep.equal({
      'votes.gte': ['Votes must be a whole number that is not too large.'],
    })
  })

  const all = { headers: { Accept: '*/*' } }
  const unknown = { titel: ['There is no parameter "titel". Did you mean "title"?'] }
  const unreadable = { 'votes.gte': ['Votes must be a whole number that is not too large.'] }

  it('responds with the errors in JSON if the client accepts anything and the handler has no page', async () => {
    for (const path of ['/exports/data', '/exports/body']) {
      const found = await site.get(`${path}?votes.gte=1&title.prefix=zz`, all)
      expect([found.status, found.json], path).to.deep.equal([200, []])
      const response = await site.get(`${path}?titel=x&votes.gte=many`, all)
      expect([response.status, response.json.errors], path).to.deep.equal([
        400,
        { ...unknown, ...unreadable },
      ])
      expect(response.headers.get('Content-Type')).to.equal('application/problem+json')
      expect(response.headers.get('Content-Language')).to.equal('en-US')
      expect((await site.get(`${path}?titel=x`, all)).json.errors, path).to.deep.equal(unknown)
    }
  })

  it('responds with the errors in XML if the handler has only XML', async () => {
    const response = await site.get('/exports/xml?titel=x', all)
    expect(response.status).to.equal(400)
    expect(response.headers.get('Content-Type')).to.contain('application/problem+xml')
    expect(response.text).to.contain('<titel><message>There is no parameter')
  })

  it('responds with an error page to a browser that downloads a file', async () => {
    expect((await site.get('/exports/file?title.prefix=aa')).text).to.equal('title\naa')
    const response = await site.get('/exports/file?titel=x')
    expect(response.status).to.equal(400)
    expect(response.headers.get('Content-Type')).to.contain('text/html')
    expect(response.text).to.contain('There is no parameter &quot;titel&quot;.')
  })

  it('escapes everything that a query can contain', async () => {
    const evil = '<script>"\'&'
    for (const name of [
      'title.prefix',
      'search',
      'tab',
      'state',
      'sort',
      'votes.gte',
      evil,
      `title.${evil}`,
    ]) {
      const { text } = await site.get(`/articles?${encodeURIComponent(name)}=${encodeURIComponent(evil)}`)
      expect(text, name).not.to.contain('<script')
    }
  })
})
