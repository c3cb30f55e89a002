import { expect } from 'chai'
import { pino } from 'pino'
import { column, BaseResource, Queryable, Resource, type Context, type Database } from '../../../src/index.js'
import { declaredLists, findListWarnings, logListWarnings } from '../../../src/records/lists/list-warnings.js'
import { Article, articlesApp, newArticle, openArticles } from '../../support/applications/articles.js'
import { engine } from '../../support/engine.js'
import { setGeneratedColumns } from '../../../src/models/model.js'
import { type ListRequest, paginateRequest } from '../../support/records.js'

const declaration: Queryable<Article> = {
  filter: { title: ['prefix', 'eq'], views: ['eq'], votes: ['eq'], body: ['prefix'], state: ['in'] },
  sort: ['title', 'views', 'price', 'created_at'],
}
const cursors: Queryable<Article> = { ...declaration, pages: 'cursor' }

describe('The indexes of a list', () => {
  let database: Database

  before(async () => {
    database = await openArticles()
    const rows = Array.from({ length: 3000 }, (_, number) => {
      const article = newArticle({ title: `title ${number}`, views: String(number % 100) })
      setGeneratedColumns(article)
      return article as object
    })
    for (let start = 0; start < rows.length; start += 100)
      await database.manager.insert(Article, rows.slice(start, start + 100))
    await database.query(engine === 'mariadb' ? 'ANALYZE TABLE articles' : 'ANALYZE')
  })
  after(() => database.close())

  /** Runs a query, and returns the engine's plan of the statement that reads the page. */
  async function planOf(queryable: Queryable<Article>, query: string): Promise<string> {
    const statements: [string, unknown[]][] = []
    const runner = database.createQueryRunner()
    const send = runner.query.bind(runner)
    runner.query = (sql: string, parameters: unknown[] = []) => {
      statements.push([sql, parameters])
      return send(sql, parameters)
    }
    // MariaDB sorts all rows of such a small table rather than looking up many of them by an index.
    const request: ListRequest = {
      query: { per_page: '1' },
      querystring: query,
      params: {},
      translate: () => undefined,
      prefersHtml: () => false,
    }
    await paginateRequest(runner.manager, Article, { queryable, total: false }, request)
    const [sql = '', parameters] = statements.at(-1) ?? []
    const explain = engine === 'sqlite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN'
    const rows = await send(`${explain} ${sql}`, parameters)
    await runner.release()
    return JSON.stringify(rows)
  }

  /** Expects a plan that reads rows by an index, and sorts nothing. */
  function expectIndex(plan: string, index: RegExp): void {
    expect(plan).to.match(index)
    expect(plan).not.to.match(/SCAN Article(?! USING)|USE TEMP B-TREE|Seq Scan|"Sort |filesort|"type":"ALL"/i)
  }

  async function afterOf(sort: string): Promise<string> {
    const request: ListRequest = {
      query: { per_page: '50' },
      querystring: `sort=${sort}`,
      params: {},
      translate: () => undefined,
      prefersHtml: () => false,
    }
    const page = await paginateRequest(database.manager, Article, { queryable: cursors }, request)
    return (page.pagination as unknown as { cursors: { next: string } }).cursors.next
  }

  it('serve eq', async () => {
    const plan = await planOf(declaration, 'title.eq=title+77')
    expect(plan).to.match(/articles_title/)
    expect(plan).not.to.match(/SCAN Article|Seq Scan|"type":"ALL"/i)
  })

  it('serve prefix', async () => {
    const plan = await planOf(declaration, 'title.prefix=title+77')
    expect(plan).to.match(/articles_title/)
    expect(plan).not.to.match(/SCAN Article|Seq Scan|"type":"ALL"/i)
  })

  for (const sort of ['title', '-title']) {
    it(`serve sort=${sort}`, async () => {
      expectIndex(await planOf(declaration, `sort=${sort}`), /articles_title/)
    })
  }

  for (const sort of ['', 'title', '-views', 'views']) {
    it(`serve a cursor of the order ${sort || 'of the id'} with one range scan`, async () => {
      const plan = await planOf(cursors, `sort=${sort}&after=${await afterOf(sort)}`)
      expect(plan).to.match(
        sort === '' ? /sqlite_autoindex_articles_1|PRIMARY|PK_|pkey|Index Scan/i : /articles_(title|views)/,
      )
      expect(plan).not.to.match(/SCAN Article(?! USING)|Seq Scan|"Sort |filesort|"type":"(ALL|index)"/i)
      if (engine === 'sqlite') expect(plan).to.match(/SEARCH .*[<>]/)
    })
  }

  it('are listed if they are missing, and a log in development has one line for each list', async () => {
    @Resource('/articles', { model: Article })
    class ArticlesResource extends BaseResource {
      @Queryable(declaration)
      override list(_ctx: Context): void {}
    }
    const app = articlesApp(database, [ArticlesResource])
    const lists = declaredLists(database, app.routes)
    const advice = (names: string) =>
      `which has no index for that. Add one in a migration: await runner.createIndex('articles', new TableIndex({ columnNames: [${names}] })).`
    const [shortage, ...others] = await findListWarnings(database, lists)
    expect(others).to.deep.equal([])
    expect(shortage).to.deep.equal({
      list: 'ArticlesResource.list',
      problems: [
        `It filters by articles.votes, ${advice("'votes'")}`,
        "It finds the beginning of articles.body, which has no index for that. Add one in a migration: await prefixIndex(runner, 'articles', 'body').",
        `It sorts by articles.price, ${advice("'price', 'id'")}`,
        `It sorts by articles.created_at, ${advice("'created_at', 'id'")}`,
      ],
    })
    const lines: string[] = []
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
    await logListWarnings(database, lists, logger)
    expect(lines).to.deep.equal([
      `ArticlesResource.list: It filters by articles.votes, ${advice("'votes'")} (and 3 more) \`kit db check\` lists all.`,
    ])
  })

  it('of columns without milliseconds are reported for cursor pages', async () => {
    if (engine === 'sqlite') return
    const runner = database.createQueryRunner()
    const { type } = column(runner, 'published_at', 'datetime')
    const change = engine === 'postgres' ? 'ALTER COLUMN created_at TYPE' : 'MODIFY created_at'
    await runner.query(
      `ALTER TABLE articles ${change} ${type === 'timestamp' ? 'timestamp' : type}(6)`.replace(
        'timestamp with time zone(6)',
        'timestamp(6) with time zone',
      ),
    )
    await runner.release()
    const metadata = database.getMetadata(Article)
    const route = {
      handlerName: 'ArticlesResource.list',
      resource: {
        model: Article,
        queryable: { pages: 'cursor', sort: ['created_at'] } as Queryable,
        parentKeys: ['created_at'],
      },
    }
    const [shortage] = await findListWarnings(database, declaredLists(metadata.dataSource, [route]))
    expect(shortage?.problems.at(-1)).to.equal(
      'Its cursors have milliseconds, but articles.created_at has 6 digits after the seconds. Change the precision of the column to 3.',
    )
  })
})
