import { expect } from 'chai'
import { pino } from 'pino'
import { as, BaseResource, filter, Queryable, Resource, Route, type Context } from '../../../src/index.js'
import { definitionOf } from '../../../src/records/lists/definition/compile.js'
import type { Database, ResourceClass } from '../../../src/index.js'
import { Article, articlesApp, openArticles, Vault, Writer } from '../../support/applications/articles.js'
import { describeOnce } from '../../support/engine.js'
import { Site } from '../../support/site.js'

describeOnce('@Queryable(declaration)', () => {
  let database: Database
  before(async () => {
    database = await openArticles()
  })
  after(() => database.close())

  /** The message of the error that stops the start of an application with a list. */
  async function failureOf(declaration: Queryable, model: new () => object = Article): Promise<string> {
    class ListsResource extends BaseResource {
      override list(_ctx: Context): void {}
    }
    decorate(ListsResource, declaration)
    Resource('/lists', { model })(ListsResource)
    return failureOfStart(ListsResource)
  }

  async function failureOfStart(resource: ResourceClass): Promise<string> {
    try {
      await start(resource)
    } catch (error) {
      expect(error).to.have.property('name', 'DeclarationError')
      return (error as Error).message
    }
    throw new Error('The application has started.')
  }

  async function start(resource: ResourceClass): Promise<void> {
    const app = articlesApp(database, [resource])
    try {
      await app.start()
    } finally {
      await app.close()
    }
  }

  const list = '@Queryable of ListsResource.list'

  it('stops the start if the resource has no model', async () => {
    class PlainResource extends BaseResource {
      override list(_ctx: Context): void {}
    }
    decorate(PlainResource, { sort: ['title'] })
    Resource('/plain')(PlainResource)
    expect(await failureOfStart(PlainResource)).to.equal(
      "PlainResource.list has @Queryable, but its resource has no model. Add it: @Resource('/...', { model: Post }).",
    )
  })

  it('stops the start if no route calls the method', async () => {
    @Resource('/unrouted', { model: Article })
    class UnroutedResource extends BaseResource {
      @Queryable({ sort: ['title'] })
      async archive(_ctx: Context): Promise<void> {}
    }
    expect(await failureOfStart(UnroutedResource)).to.equal(
      'UnroutedResource.archive has @Queryable, but no route calls it. Decorate it with @Route, or remove @Queryable.',
    )
  })

  it('cannot be used twice for a method', () => {
    class TwiceResource extends BaseResource {
      override list(_ctx: Context): void {}
    }
    decorate(TwiceResource, { sort: ['title'] })
    expect(() => decorate(TwiceResource, { sort: ['title'] })).to.throw(
      'TwiceResource.list has @Queryable twice. Merge them into one.',
    )
  })

  for (const name of ['page', 'per_page', 'sort', 'search', 'include', 'after', 'before']) {
    it(`stops the start for a filter named ${name}, which is a parameter of every list`, async () => {
      expect(await failureOf({ filter: { [name]: ['eq'] } })).to.equal(
        `${list} filters by "${name}", which is a parameter of every list. Rename the filter: ${name}_key: as('${name}', ['eq']).`,
      )
    })
  }

  const mistyped: Queryable<Article> = {
    // @ts-expect-error The compiler rejects the attribute, too.
    include: { writer: ['id', 'nam'] },
  }
  const mistakes: [string, Queryable, string][] = [
    [
      'an unknown column',
      { filter: { titel: ['eq'] } },
      'filters by "titel", which isn\'t a column of Article. Did you mean "title"?',
    ],
    [
      'an unknown column to sort by',
      { sort: ['nothing_at_all'] },
      'sorts by "nothing_at_all", which isn\'t a column of Article. Correct the name, or declare it by filter().',
    ],
    [
      'a relation',
      { filter: { writer: ['eq'] } },
      'filters by "writer", which isn\'t a column of Article. Use its key "writer_id".',
    ],
    [
      'an operator that the kind does not have',
      { filter: { pinned: ['gt'] } },
      'has the operator "gt" of "pinned", which has the kind bool. Use some of eq, null.',
    ],
    [
      'an unknown operator',
      { filter: { title: ['like' as 'eq'] } },
      'has the operator "like" of "title", which has the kind string. Use some of eq, not, in, prefix, contains, null.',
    ],
    [
      'a column of JSON',
      { filter: { notes: ['eq'] } },
      'has the operator "eq" of "notes", which has the kind json. Remove it, or declare it by filter().',
    ],
    [
      'no operator',
      { filter: { title: [] } },
      'does not list operators of the filter "title". Use some of eq, not, in, prefix, contains, null.',
    ],
    [
      'a name with a dot',
      { filter: { 'a.b': as('title', ['eq']) } },
      'has the filter "a.b", which cannot be a parameter. Use letters, digits and underscores.',
    ],
    [
      'a minus after the first key',
      { sort: ['title', '-views'] },
      'has a minus before "views", which is not the first key of sort. Remove the minus: clients sort in both directions.',
    ],
    [
      'JSON to sort by',
      { sort: ['notes'] },
      'sorts by "notes", which has the kind json. Remove it: engines cannot sort it.',
    ],
    [
      'a number to search in',
      { search: ['votes'] },
      'searches in "votes", which has the kind int. Remove it: only columns of text can be searched.',
    ],
    [
      'a column to include',
      { include: ['title'] },
      'includes "title", which isn\'t a relation of Article. Declare the relation, or remove it.',
    ],
    [
      'a limit below 1',
      { include: { remarks: { limit: 0 } } },
      'includes "remarks" with the limit 0. Use a whole number from 1 to 1000.',
    ],
    [
      'an attribute to show that the related model does not have',
      mistyped,
      'includes "writer" with "nam", which isn\'t a column of Writer. Did you mean "name"?',
    ],
    [
      'no attributes to show',
      { include: { writer: [] } },
      'includes "writer" without attributes. List some of them, or write writer: true for all.',
    ],
    [
      'an unknown option of a relation',
      { include: { remarks: { only: ['id'] } as object } },
      'includes "remarks" with the unknown option "only". Known: attributes, limit.',
    ],
    [
      'a parameter of every list in params',
      { params: ['page'] },
      'has "page" in params, which is a parameter of every list. Remove it, or rename it.',
    ],
    [
      'an unknown option',
      { filters: {} } as Queryable,
      'has the unknown option "filters". Did you mean "filter"?',
    ],
    [
      'an enum in the order of cursor pages',
      { pages: 'cursor', sort: ['state'] },
      'has cursor pages and sorts by "state", which has the kind enum. Remove it from the order, or use pages: \'numbers\'.',
    ],
    [
      'a long text in the order of cursor pages',
      { pages: 'cursor', sort: ['body'] },
      'has cursor pages and sorts by "body", which has the kind text. Remove it from the order, or use pages: \'numbers\'.',
    ],
    [
      'a parameter that is also a filter',
      { params: ['state'], filter: { state: ['eq'] } },
      'has "state" in params and in filter. Remove it from one of them.',
    ],
    [
      'a nullable column in the order of cursor pages',
      { pages: 'cursor', sort: ['votes'] },
      'has cursor pages and sorts by "votes", which can be null. Remove it from the order, or use pages: \'numbers\'.',
    ],
    [
      'a float in the order of cursor pages',
      { pages: 'cursor', sort: ['score'] },
      'has cursor pages and sorts by "score", which has the kind float. Remove it from the order, or use pages: \'numbers\'.',
    ],
  ]
  for (const [what, declaration, message] of mistakes) {
    it(`stops the start for ${what}`, async () => {
      expect(await failureOf(declaration)).to.equal(`${list} ${message}`)
    })
  }

  const text = ['eq', 'not', 'in', 'prefix', 'contains', 'null']
  const ordered = ['eq', 'not', 'in', 'lt', 'lte', 'gt', 'gte', 'null']
  const words = ['eq', 'not', 'in', 'null']
  const operators: { [Name in keyof Article]?: string[] } = {
    title: text,
    body: text,
    votes: ordered,
    views: ordered,
    score: ordered,
    price: ordered,
    day: ordered,
    hour: ordered,
    published_at: ordered,
    pinned: ['eq', 'null'],
    state: words,
    writer_id: words,
  }
  it('accepts the operators of a kind, and stops the start for all others', async () => {
    for (const [name, accepted] of Object.entries(operators)) {
      for (const operator of new Set([...text, ...ordered])) {
        const check = () =>
          definitionOf(database.getMetadata(Article), { filter: { [name]: [operator as 'eq'] } }, list)
        if (accepted.includes(operator)) check()
        else expect(check, `${name}.${operator}`).to.throw(`has the operator "${operator}" of "${name}"`)
      }
    }
  })

  it('stops a handler whose order has a column that cursors cannot have', async () => {
    @Resource('/feed', { model: Article })
    class FeedResource extends BaseResource {
      @Queryable<Article>({ pages: 'cursor' })
      override async list(ctx: Context) {
        await ctx.paginate(Article, { order: { votes: 'ASC' } })
      }
    }
    const errors: string[] = []
    const logger = pino({}, { write: (line: string) => void errors.push(JSON.parse(line).err?.message) })
    const site = await Site.open(articlesApp(database, [FeedResource], { logger }))
    expect((await site.get('/feed', { accept: 'json' })).status).to.equal(500)
    await site.close()
    expect(errors).to.include(
      'FeedResource.list has cursor pages and sorts by "votes", which can be null. Remove it from the order, or use pages: \'numbers\'.',
    )
  })

  it('logs one line for a list without indexes when the application starts in development', async () => {
    for (const [env, expected] of Object.entries({ development: 1, production: 0 })) {
      class UnindexedResource extends BaseResource {
        override list(_ctx: Context): void {}
      }
      decorate(UnindexedResource, { filter: { votes: ['eq'] }, sort: ['price'] })
      Resource('/unindexed', { model: Article })(UnindexedResource)
      const lines: string[] = []
      const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
      const app = articlesApp(database, [UnindexedResource], { logger, env })
      await app.start()
      await app.close()
      expect(
        lines.filter((line) => line.startsWith('UnindexedResource.list: It filters by articles.votes,')),
      ).to.have.length(expected)
    }
  })

  const hidden = {
    unselected: 'select: false',
    excluded: '@Exclude()',
    written: '@Exclude({ toPlainOnly: true })',
    grouped: '@Expose({ groups })',
    masked: '@Transform',
  }
  for (const [name, reason] of Object.entries(hidden)) {
    it(`stops the start for a column that ${reason} hides, in filter, sort and search`, async () => {
      const advice = `"${name}", which is hidden: in this way, clients could find out its value. Remove it here, or show it in JSON and XML.`
      expect(await failureOf({ filter: { [name]: ['eq'] } })).to.equal(`${list} filters by ${advice}`)
      expect(await failureOf({ filter: { other: as(name, ['eq']) } })).to.equal(
        `${list} filters by ${advice}`,
      )
      expect(await failureOf({ sort: [name] })).to.equal(`${list} sorts by ${advice}`)
      expect(await failureOf({ sort: [`-${name}`] })).to.equal(`${list} sorts by ${advice}`)
      expect(await failureOf({ search: [name] })).to.equal(`${list} searches in ${advice}`)
    })
  }

  it('stops the start for a relation that is excluded', async () => {
    expect(await failureOf({ include: ['reviewer'] })).to.contain('includes "reviewer", which is hidden')
  })

  it('stops the start for a column of a class that @Exclude hides, unless the column is exposed', async () => {
    expect(await failureOf({ filter: { code: ['eq'] } }, Vault)).to.contain(
      'filters by "code", which is hidden',
    )
    class VaultsResource extends BaseResource {
      override list(_ctx: Context): void {}
    }
    decorate(VaultsResource, { filter: { label: ['eq'] } })
    Resource('/vaults', { model: Vault })(VaultsResource)
    await start(VaultsResource)
  })

  it('accepts a declaration of a route and of a method with @Route, typed by the model', async () => {
    @Resource('/typed', { model: Writer })
    class TypedResource extends BaseResource {
      @Queryable<Writer>({
        filter: {
          name: ['prefix', 'null'],
          other: as('name', ['eq']),
          long: filter('bool', () => ({ name: 'x' })),
        },
        sort: ['-name', 'created_at'],
        search: ['name'],
        params: ['tab'],
      })
      @Route('GET', '/archive')
      async archive(_ctx: Context): Promise<void> {}
    }
    await start(TypedResource)
    // @ts-expect-error the model has no such column
    Queryable<Writer>({ sort: ['nme'] })
    // @ts-expect-error a column of dates has no prefix
    Queryable<Writer>({ filter: { created_at: ['prefix'] } })
  })

  it('is inherited by a method of a subclass, which can declare its own', () => {
    class BaseLists extends BaseResource {
      override list(_ctx: Context): void {}
    }
    decorate(BaseLists, { sort: ['title'] })
    Resource('/base', { model: Article })(BaseLists)
    class SubLists extends BaseLists {
      override list(_ctx: Context): void {}
    }
    class OwnLists extends BaseLists {
      override list(_ctx: Context): void {}
    }
    decorate(OwnLists, { sort: ['votes'] })
    const sortOf = (resource: ResourceClass) => {
      const app = articlesApp(database, [])
      app.resource('/any', resource)
      return app.routes[0]?.resource?.queryable?.sort
    }
    expect([SubLists, OwnLists].map(sortOf)).to.deep.equal([['title'], ['votes']])
  })
})

/** Decorates the list of a class that a spec declares. */
function decorate(resource: { prototype: { list(ctx: Context): unknown } }, declaration: Queryable): void {
  const descriptor = Object.getOwnPropertyDescriptor(resource.prototype, 'list')
  Queryable(declaration)(
    resource.prototype,
    'list',
    descriptor as TypedPropertyDescriptor<(ctx: Context) => unknown>,
  )
}
