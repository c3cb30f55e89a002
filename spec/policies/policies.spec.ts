import { expect } from 'chai'
import { pino } from 'pino'
import { Column, Entity, JoinColumn, JoinTable, ManyToMany, ManyToOne, Not, OneToMany, Table } from 'typeorm'
import type { EntityManager, MigrationInterface, QueryRunner, Relation } from 'typeorm'
import {
  App,
  BaseResource,
  column,
  Database,
  filter,
  Model,
  nothing,
  Parent,
  Policy,
  Present,
  primaryKey,
  Queryable,
  RelationIds,
  Resource,
  Route,
  timestamps,
  transaction,
  type Context,
  type PolicyScope,
} from '../../src/index.js'
import { databaseWithTables } from '../support/databases.js'
import { Site } from '../support/site.js'

interface User {
  id: string
}

@Entity('topics')
class Topic extends Model {
  @Column('varchar') user_id!: string
  @Column('varchar') name!: string
}

@Entity('posts')
class Post extends Model {
  @Column('varchar') user_id!: string
  @Column('varchar') @Present() title!: string
  @Column('uuid', { nullable: true }) topic_id!: string | null

  @ManyToOne(() => Topic)
  @JoinColumn({ name: 'topic_id' })
  topic?: Relation<Topic> | null

  @ManyToMany(() => Topic)
  @JoinTable({
    name: 'post_topics',
    joinColumn: { name: 'post_id' },
    inverseJoinColumn: { name: 'topic_id' },
  })
  topics?: Relation<Topic>[]

  @RelationIds('topics') topic_ids?: string[]

  @OneToMany(() => Comment, (comment) => comment.post)
  comments?: Relation<Comment>[]
}

@Entity('posts')
class Article extends Post {}

@Entity('comments')
class Comment extends Model {
  @Column('uuid') post_id!: string
  @Column('varchar') text!: string

  @ManyToOne(() => Post, (post) => post.comments)
  @JoinColumn({ name: 'post_id' })
  post?: Relation<Post>
}

class CreatePosts1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const tables = {
      topics: [column(runner, 'user_id', 'string'), column(runner, 'name', 'string')],
      posts: [
        column(runner, 'user_id', 'string'),
        column(runner, 'title', 'string'),
        column(runner, 'topic_id', 'uuid', { isNullable: true }),
      ],
      comments: [column(runner, 'post_id', 'uuid'), column(runner, 'text', 'string')],
    }
    for (const [name, columns] of Object.entries(tables)) {
      const all = [primaryKey(runner), ...columns, ...timestamps(runner)]
      await runner.createTable(new Table({ name, columns: all }))
    }
    const links = ['post_id', 'topic_id'].map((name) => column(runner, name, 'uuid', { isPrimary: true }))
    await runner.createTable(new Table({ name: 'post_topics', columns: links }))
  }
  async down(runner: QueryRunner) {
    for (const name of ['post_topics', 'comments', 'posts', 'topics']) await runner.dropTable(name)
  }
}

class OwnPolicy<T extends Model & { user_id: string }> extends Policy<T> {
  scope(user?: User) {
    if (user?.id === 'forgotten') return undefined as unknown as PolicyScope<T>
    if (user?.id === 'empty') return { topic: {} } as unknown as PolicyScope<T>
    if (user?.id === 'null') return { user_id: null } as unknown as PolicyScope<T>
    if (user?.id === 'undefined') return { user_id: undefined } as PolicyScope<T>
    return (user ? { user_id: user.id } : nothing) as PolicyScope<T>
  }
  create(user: User | undefined) {
    return user !== undefined
  }
  update(user: User | undefined, record: T) {
    return record.user_id === user?.id
  }
  destroy(user: User | undefined, record: T) {
    return this.update(user, record)
  }
}
class TopicPolicy extends OwnPolicy<Topic> {}
class PostPolicy extends OwnPolicy<Post> {
  star() {
    return true
  }
  /** A role that another table contains. */
  async review(user: User | undefined, _post: Post | undefined, tx: EntityManager) {
    return user !== undefined && (await tx.existsBy(Topic, { user_id: user.id }))
  }
  async publish(user: User | undefined, post: Post) {
    return this.update(user, post) && post.title !== 'draft'
  }
}

@Resource('/posts', { model: Post, policy: PostPolicy })
class PostsResource extends BaseResource {
  @Queryable<Post>({
    filter: {
      title: ['eq', 'in'],
      either: filter(['all', 'any'], (value) =>
        value === 'all' ? [{ title: 'first' }, { title: 'second' }] : [{ title: Not('') }, { title: '' }],
      ),
      topic_name: filter('string', (value) => ({ topics: { name: value } })),
    },
    include: { topic: true, topics: { limit: 1 }, comments: true },
    sort: ['title'],
    params: ['load'],
  })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Post)
    if (ctx.query['load']) await ctx.load(records, 'topic', 'topics', 'comments')
    return ctx.respond({ html: () => page(ctx, records), data: records })
  }
  override async show(ctx: Context) {
    const post = await this.find(ctx)
    return ctx.respond({ html: () => page(ctx, [post]), data: post })
  }
  override async create(ctx: Context) {
    const post = ctx.bind(Object.assign(new Post(), { user_id: Reflect.get(ctx, 'user')?.id ?? 'nobody' }), [
      'title',
      'topic_id',
      'topic_ids',
    ])
    if (!ctx.query['forget']) await ctx.authorize(post)
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors, { html: () => page(ctx, []) })
    return ctx.respond(201, { html: () => ctx.seeOther('/posts'), data: post })
  }
  override async update(ctx: Context) {
    const post = await this.find(ctx)
    const another = ctx.query['other'] ? await ctx.find(Post, String(ctx.query['other'])) : post
    if (ctx.query['late']) ctx.bind(post, ['title'])
    if (ctx.query['unawaited']) void ctx.authorize(post)
    else if (!ctx.query['forget']) await ctx.authorize(another)
    ctx.bind(post, ['title', 'topic_id', 'topic_ids'])
    if (ctx.query['give']) post.user_id = String(ctx.query['give'])
    if (ctx.query['as']) post.id = String(ctx.query['as'])
    if (ctx.query['sql']) await ctx.tx.update(Post, post.id, { title: 'by SQL' })
    const errors = ctx.query['sql'] ? undefined : await ctx.save(post)
    if (errors) return ctx.respond(errors, { html: () => page(ctx, []) })
    return ctx.respond({ html: () => ctx.seeOther('/posts'), data: post })
  }
  override async destroy(ctx: Context) {
    const post = await this.find(ctx)
    if (!ctx.query['forget']) await ctx.authorize(post)
    await ctx.destroy(post)
    return ctx.respond({ html: () => ctx.seeOther('/posts'), data: post })
  }
  @Route('POST', '/{post_id}/publish')
  async publish(ctx: Context) {
    const post = await this.find(ctx)
    if (!ctx.query['forget']) await ctx.authorize(post)
    return ctx.respond({ html: () => page(ctx, [post]), data: post })
  }
  @Route('POST', '/{post_id}/archive')
  async archive(ctx: Context) {
    return ctx.respond({ data: await ctx.authorize(await this.find(ctx)) })
  }
  private find(ctx: Context) {
    return ctx.find(Post, ctx.params['post_id'])
  }
}

@Resource('/feed', { model: Post, policy: PostPolicy })
class FeedResource extends BaseResource {
  @Queryable<Post>({ pages: 'cursor' })
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Post)
    return ctx.respond({ html: () => page(ctx, records), data: records })
  }
}

@Resource('/comments', { model: Comment })
@Parent(PostsResource)
class CommentsResource extends BaseResource {
  override async list(ctx: Context) {
    const post = await this.findPost(ctx)
    const { records } = await ctx.paginate(Comment, { where: { post_id: post.id } })
    return ctx.respond({ html: () => page(ctx, records), data: records })
  }
  override async create(ctx: Context) {
    const post = await this.findPost(ctx)
    if (!ctx.query['forget']) await ctx.authorize(post)
    const comment = ctx.bind(Object.assign(new Comment(), { post_id: post.id }), ['text'])
    const errors = await ctx.save(comment)
    if (errors) return ctx.respond(errors, { html: () => page(ctx, []) })
    return ctx.respond(201, { html: () => ctx.seeOther(`/posts/${post.id}/comments`), data: comment })
  }
  private findPost(ctx: Context) {
    return ctx.find(Post, ctx.params['post_id'])
  }
}

@Resource('/topics', { model: Topic, policy: TopicPolicy })
class TopicsResource extends BaseResource {
  override async list(ctx: Context) {
    return ctx.respond({ data: await ctx.findAll(Topic, { order: { name: 'ASC' } }) })
  }
}

function page(ctx: Context, records: readonly Model[]) {
  ctx.type = 'html'
  ctx.body = records.map(({ id }) => id).join(' ')
}

function open(url: string): Promise<Database> {
  const models = [Topic, Post, Article, Comment]
  return new Database({ test: { url }, models, migrations: [CreatePosts1700000000000] }, 'test').open()
}

async function migrate(url: string): Promise<void> {
  const database = await open(url)
  await database.migrate()
  await database.close()
}

describe('Policies', () => {
  let database: Database
  let site: Site
  const as = (user: string, more: object = {}) => ({
    accept: 'json',
    headers: { ...(user && { 'X-User': user }) },
    ...more,
  })
  let [adas, bobs] = [new Post(), new Post()]
  let topics: Topic[] = []

  beforeEach(async () => {
    database = await open(await databaseWithTables('policies', migrate))
    const { manager } = database
    topics = [
      await manager.save(manager.create(Topic, { user_id: 'ada', name: "Ada's" })),
      await manager.save(manager.create(Topic, { user_id: 'bob', name: "Bob's" })),
    ]
    adas = await manager.save(
      manager.create(Post, { user_id: 'ada', title: 'first', topic_id: topics[1]!.id, topics }),
    )
    bobs = await manager.save(manager.create(Post, { user_id: 'bob', title: 'second', topics }))
    await manager.save(manager.create(Comment, { post_id: adas.id, text: 'fine' }))
    const app = new App({ logger: pino({ level: 'silent' }) })
    app.use(transaction(database))
    app.use(async function authenticate(ctx, next) {
      const id = ctx.get('X-User')
      if (id) Object.assign(ctx, { user: { id } })
      await next()
    })
    declareOwn(app)
    for (const resource of [PostsResource, FeedResource, CommentsResource, TopicsResource])
      app.resource(resource)
    site = await Site.open(app)
  })

  afterEach(() => site.close())

  async function linked({ id }: Post): Promise<string[]> {
    const rows =
      await database.manager.query<{ post_id: string; topic_id: string }[]>('SELECT * FROM post_topics')
    return rows.filter(({ post_id }) => post_id === id).map(({ topic_id }) => topic_id)
  }

  /** Routes besides the resources, whose handlers try to get around the policies. */
  function declareOwn(app: App): void {
    app.put('/posts/{id}/unawaited', async (ctx) => {
      const post = await ctx.unscoped.find(Post, ctx.params['id'])
      void ctx.authorize(post, 'update')
      post.title = 'unawaited'
      await ctx.save(post)
      ctx.body = 'saved'
    })
    app.get('/posts/{id}/unawaited', async (ctx) => {
      const post = await ctx.unscoped.find(Post, ctx.params['id'])
      void ctx.authorize(post, 'update')
      ctx.body = 'shown'
    })
    app.put('/posts/{id}/star', async (ctx) => {
      const post = await ctx.unscoped.find(Post, ctx.params['id'])
      await ctx.authorize(post, 'star')
      ctx.bind(post, ['user_id'])
      await ctx.authorize(post, 'update')
      await ctx.save(post)
      ctx.body = 'saved'
    })
    app.put('/posts/{id}/all', async (ctx) => {
      const posts = await ctx.unscoped.findAll(Post, { where: { id: ctx.params['id']! } })
      const pending = posts.map((post) => ctx.authorize(post, 'update'))
      await Promise.all(pending)
      ctx.body = 'authorized'
    })
    app.put('/chosen/{id}', async (ctx) => {
      const values = { id: ctx.params['id']!, user_id: 'ada', title: 'chosen' }
      const post = await ctx.authorize(Object.assign(new Post(), values), 'create')
      const errors = await ctx.save(post)
      return errors ? ctx.respond(errors) : ctx.respond(201, { data: post })
    })
    app.get('/all', async (ctx) => void (ctx.body = (await ctx.unscoped.findAll(Post)).length))
    app.get('/choices', async (ctx) => void (ctx.body = (await ctx.choices(Topic)).records.length))
    app.get('/by/{id}', async (ctx) => {
      const where = [{ id: ctx.params['id']!, user_id: 'ada' }, { title: 'second' }]
      ctx.body = (await ctx.paginate(Post, { where })).records.map(({ title }) => title)
    })
    app.get('/by-topic/{name}', async (ctx) => {
      const where = { topics: { name: ctx.params['name'] } }
      ctx.body = (await ctx.findAll(Post, { where })).map(({ title }) => title)
    })
    app.get('/missing', async (ctx) => {
      const wrong = [{ topic: {} }, { topic: [] }, { title: undefined }, { title: null }, [{ topics: {} }]]
      const counts = []
      for (const where of wrong) {
        counts.push((await ctx.unscoped.findAll(Post, { where })).length)
        counts.push((await ctx.findAll(Post, { where })).length)
        counts.push((await ctx.paginate(Post, { where })).records.length)
      }
      ctx.body = counts
    })
    app.get('/extended', async (ctx) => {
      const posts = await ctx.findAll(Article, { where: { id: adas.id } })
      ctx.body = posts.map(({ title }) => title)
    })
    app.get('/joined', async (ctx) => {
      await ctx.paginate(Post, { relations: { topic: true } })
    })
    app.get('/nested', async (ctx) => {
      await ctx.paginate(Comment, { relations: { post: { topic: true } } })
    })
    app.post('/seize', async (ctx) => {
      const post = await ctx.unscoped.find(Post, bobs.id)
      post.title = 'seized'
      await ctx.save(post)
      ctx.body = 'seized'
    })
    app.post('/rename', async (ctx) => {
      const post = await ctx.unscoped.find(Post, bobs.id)
      post.title = 'renamed'
      await ctx.unscoped.save(post)
      ctx.body = 'renamed'
    })
    app.get('/abilities', async (ctx) => {
      const post = await ctx.unscoped.find(Post, adas.id)
      const names = ctx.query['name'] ? [String(ctx.query['name'])] : NAMES
      const pairs = names.map(async (name) => [name, await ctx.can(name, post)] as const)
      const now = names.filter((name) => name !== 'review').map((name) => ctx.canNow(name, post))
      const create = await ctx.can('create', Post)
      ctx.body = { create, ...Object.fromEntries(await Promise.all(pairs)), now }
    })
    app.get('/template', (ctx) => {
      ctx.body = String(ctx.canNow('review', adas))
    })
  }

  const NAMES = ['update', 'destroy', 'review']

  describe('of every route', () => {
    const formats = ['html', 'json', 'xml']
    const requests: [string, string, (id: string) => string, number, number][] = [
      // method, name, path, status for the owner as HTML, and as JSON and XML
      ['GET', 'show', (id) => `/posts/${id}`, 200, 200],
      ['PUT', 'update', (id) => `/posts/${id}`, 303, 200],
      ['POST', 'publish', (id) => `/posts/${id}/publish`, 200, 200],
      ['GET', 'nested list', (id) => `/posts/${id}/comments`, 200, 200],
      ['POST', 'nested create', (id) => `/posts/${id}/comments`, 303, 201],
      ['DELETE', 'destroy', (id) => `/posts/${id}`, 303, 200],
    ]
    for (const [method, name, path, html, other] of requests) {
      it(`returns 404 to nobody and to others, and lets the owner: ${name}`, async () => {
        const statuses: number[] = []
        for (const user of ['', 'bob', 'ada']) {
          for (const accept of formats) {
            const body =
              method === 'GET' || method === 'DELETE' ? {} : { json: { title: 'new', text: 'new' } }
            if (name === 'destroy' && user === 'ada')
              await database.manager.delete(Comment, { post_id: adas.id })
            if (name === 'destroy' && user === 'ada')
              await database.manager.save(database.manager.create(Post, { ...adas, topics: undefined }))
            statuses.push((await site.request(method, path(adas.id), as(user, { accept, ...body }))).status)
          }
        }
        expect(statuses).to.deep.equal([404, 404, 404, 404, 404, 404, html, other, other])
      })
    }

    it('walks lists, filters, includes and cursors as nobody, as another user and as the owner', async () => {
      for (let number = 1; number <= 3; number += 1) {
        await database.manager.save(
          database.manager.create(Post, { user_id: 'ada', title: `Post ${number}` }),
        )
      }
      const all = await database.manager.find(Post)
      const idsOf = (user: string) => all.filter(({ user_id }) => user_id === user).map(({ id }) => id)
      for (const path of [
        '/posts',
        '/posts?either=any',
        '/posts?sort=title',
        '/posts?include=topics',
        '/feed',
      ]) {
        for (const accept of formats) {
          for (const user of ['', 'bob', 'ada']) {
            const { status, text } = await site.get(path, as(user, { accept }))
            const shown = all.filter(({ id }) => text.includes(id)).map(({ id }) => id)
            expect([status, shown], `${path} ${accept} ${user}`).to.deep.equal([200, idsOf(user)])
          }
        }
      }
      // The cursor of another user is a position, and gives no access to the records there.
      const page = await site.get('/feed?per_page=2', as('ada'))
      const next = /<([^>]+)>; rel="next"/.exec(page.headers.get('Link') ?? '')?.[1] ?? ''
      expect((await site.get(next, as('ada'))).json).to.have.length(2)
      expect((await site.get(next, as('bob'))).text).to.not.match(new RegExp(idsOf('ada').join('|')))
      expect((await site.get(next, as(''))).json).to.deep.equal([])
    })

    it('lists the records of the user only, and counts only these', async () => {
      const found: unknown[] = []
      for (const user of ['', 'ada', 'bob']) {
        const response = await site.get('/posts', as(user))
        found.push([
          response.json.map(({ title }: Post) => title),
          response.headers.get('X-Total-Count'),
          (await site.get('/posts', as(user, { accept: 'xml' }))).text.match(/<title>/g)?.length ?? 0,
        ])
      }
      expect(found).to.deep.equal([
        [[], '0', 0],
        [['first'], '1', 1],
        [['second'], '1', 1],
      ])
    })
  })

  it('limit conditions with alternatives, and conditions on the same column', async () => {
    const titles = async (user: string, id: string) => (await site.get(`/by/${id}`, as(user))).json
    expect(await titles('ada', adas.id)).to.deep.equal(['first'])
    expect(await titles('bob', adas.id)).to.deep.equal(['second'])
    expect(await titles('', adas.id)).to.deep.equal([])
    expect(await titles('ada', 'no id')).to.deep.equal([])
  })

  it('limit loaded relations, and reject joined ones', async () => {
    const [post] = (await site.get('/posts?load=1', as('ada'))).json
    expect(post.topic).to.equal(null)
    expect(post.topics.map(({ name }: Topic) => name)).to.deep.equal(["Ada's"])
    expect(post.comments).to.have.length(1)
    expect((await site.get('/joined', as('ada'))).status).to.equal(500)
    expect((await site.get('/nested', as('ada'))).status).to.equal(500)
  })

  it('limit a list that clients filter, sort and extend', async () => {
    const titles = async (query: string) =>
      (await site.get(`/posts?${query}`, as('ada'))).json.map(({ title }: Post) => title)
    for (const query of ['either=all', 'title.in=first&title.in=second', 'sort=-title', 'per_page=1'])
      expect(await titles(query), query).to.deep.equal(['first'])
    expect(await titles('title=second')).to.deep.equal([])
    const [post] = (await site.get('/posts?include=topic,topics,comments', as('ada'))).json
    expect(post.topic).to.equal(null)
    expect(post.topics.map(({ name }: Topic) => name)).to.deep.equal(["Ada's"])
  })

  it('do not let a record refer to a record outside of the scope', async () => {
    const send = (topic_id: string | undefined) =>
      site.post('/posts', as('ada', { json: { title: 'new', topic_id } }))
    expect((await send(topics[0]?.id)).status).to.equal(201)
    const refused = await send(topics[1]?.id)
    expect(refused.status).to.equal(422)
    expect(refused.json.errors).to.deep.equal({ topic_id: ['Topic does not exist.'] })
    // A reference that the request does not change is kept.
    expect((await site.put(`/posts/${adas.id}`, as('ada', { json: { title: 'kept' } }))).status).to.equal(200)
  })

  it('let a request send a reference to a record outside of the scope back unchanged', async () => {
    const path = `/posts/${adas.id}`
    const topic_id = topics[1]?.id
    expect((await site.put(path, as('ada', { json: { title: 'kept', topic_id } }))).status).to.equal(200)
    const form = { title: 'kept again', topic_id: String(topic_id) }
    expect((await site.put(path, as('ada', { accept: 'json', form }))).status).to.be.lessThan(400)
    expect(await database.manager.findOneBy(Post, { id: adas.id })).to.include({
      title: 'kept again',
      topic_id,
    })
    // It was left, so it cannot be set again.
    expect((await site.put(path, as('ada', { json: { topic_id: null } }))).status).to.equal(200)
    expect((await site.put(path, as('ada', { json: { topic_id } }))).status).to.equal(422)
  })

  it('show only the links within the scope, and keep the others', async () => {
    const path = `/posts/${adas.id}`
    const own = [topics[0]?.id]
    expect((await site.get(path, as('ada'))).json.topic_ids).to.deep.equal(own)
    for (const query of ['', '?title=first', '?include=topics'])
      expect((await site.get(`/posts${query}`, as('ada'))).json[0].topic_ids, query).to.deep.equal(own)
    const unlinked = await site.put(path, as('ada', { json: { topic_ids: [] } }))
    expect(unlinked.json.topic_ids).to.deep.equal([])
    expect(await linked(adas)).to.deep.equal([topics[1]?.id])
    expect((await site.put(path, as('ada', { json: { topic_ids: own } }))).status).to.equal(200)
    expect(await linked(adas)).to.have.members(topics.map(({ id }) => id))
  })

  it('return the same errors for links to records that others have, and that nobody has', async () => {
    const nobodys = '00000000-0000-7000-8000-000000000000'
    const others = await database.manager.save(
      database.manager.create(Topic, { user_id: 'bob', name: 'Another' }),
    )
    for (const [id, linkedId] of [
      [others.id, topics[1]?.id],
      [nobodys, nobodys],
    ]) {
      for (const json of [{ topic_ids: [topics[0]?.id, linkedId] }, { topic_id: id }]) {
        const [name = ''] = Object.keys(json)
        const refused = await site.put(`/posts/${adas.id}`, as('ada', { json }))
        expect([refused.status, refused.json.errors], name).to.deep.equal([
          422,
          {
            [name]: [
              name === 'topic_id' ? 'Topic does not exist.' : 'Topics contains a record that does not exist.',
            ],
          },
        ])
      }
    }
    expect(await linked(adas)).to.have.members(topics.map(({ id }) => id))
  })

  it('include the newest records within the scope up to the limit', async () => {
    const newest = await database.manager.save(
      [1, 2].map((number) => database.manager.create(Topic, { user_id: 'ada', name: `Topic ${number}` })),
    )
    await database.manager.save(Object.assign(adas, { topics: [...topics, ...newest] }))
    const [post] = (await site.get('/posts?include=topics', as('ada'))).json
    expect(post.topics.map(({ name }: Topic) => name)).to.deep.equal(['Topic 2'])
    expect((await site.get('/posts?load=1&include=topics', as('ada'))).json[0].topics).to.have.length(3)
  })

  it('let findAll and choices find the choices of a form', async () => {
    const names = async (user: string) =>
      (await site.get('/topics', as(user))).json.map(({ name }: Topic) => name)
    expect(await names('ada')).to.deep.equal(["Ada's"])
    expect(await names('')).to.deep.equal([])
    expect((await site.get('/choices', as('ada'))).text).to.equal('1')
    expect((await site.get('/choices', as(''))).text).to.equal('0')
  })

  it('return 403 without a method for the ability, and if the method returns false', async () => {
    expect((await site.post(`/posts/${adas.id}/archive`, as('ada'))).status).to.equal(403)
    await database.manager.update(Post, adas.id, { title: 'draft' })
    expect((await site.post(`/posts/${adas.id}/publish`, as('ada'))).status).to.equal(403)
    expect((await site.post('/posts', as('', { json: { title: 'x' } }))).status).to.equal(403)
  })

  it('roll a request back that has not asked', async () => {
    const forgotten = [
      await site.post('/posts?forget=1', as('ada', { json: { title: 'forgotten' } })),
      await site.put(`/posts/${adas.id}?forget=1`, as('ada', { json: { title: 'forgotten' } })),
      await site.put(`/posts/${adas.id}?forget=1&sql=1`, as('ada', { json: { title: 'forgotten' } })),
      await site.post(`/posts/${adas.id}/publish?forget=1`, as('ada')),
      await site.post(`/posts/${adas.id}/comments?forget=1`, as('ada', { json: { text: 'forgotten' } })),
      await site.delete(`/posts/${bobs.id}?forget=1`, as('bob')),
      await site.post('/seize', as('ada')),
    ]
    expect(forgotten.map(({ status }) => status)).to.deep.equal(forgotten.map(() => 500))
    const posts = await database.manager.find(Post, { order: { title: 'ASC' } })
    expect(posts.map(({ title }) => title)).to.deep.equal(['first', 'second'])
    expect(await database.manager.count(Comment)).to.equal(1)
    // A response that fails by itself says why.
    expect((await site.post('/posts?forget=1', as('ada', { json: {} }))).status).to.equal(422)
  })

  it('do not let a request for one record cover another', async () => {
    const { id } = await database.manager.save(
      database.manager.create(Post, { user_id: 'ada', title: 'another' }),
    )
    const response = await site.put(
      `/posts/${adas.id}?other=${id}`,
      as('ada', { json: { title: 'changed' } }),
    )
    expect(response.status).to.equal(500)
    expect(await database.manager.countBy(Post, { title: 'changed' })).to.equal(0)
  })

  it('decide by a record as it was before the request changed it', async () => {
    const response = await site.put(`/posts/${adas.id}?late=1`, as('ada', { json: { title: 'changed' } }))
    expect(response.status).to.equal(500)
    expect(await database.manager.countBy(Post, { title: 'changed' })).to.equal(0)
  })

  it('decide on the values of the database for each ability', async () => {
    const { status } = await site.put(`/posts/${adas.id}/star`, as('bob', { json: { user_id: 'bob' } }))
    expect(status).to.equal(500)
    expect(await database.manager.countBy(Post, { user_id: 'ada' })).to.equal(1)
  })

  it('reject an authorization that is not awaited, whether it is allowed or not', async () => {
    const statuses = []
    for (const user of ['ada', 'bob']) {
      for (const path of [`/posts/${adas.id}/unawaited`, `/posts/${bobs.id}/unawaited`]) {
        statuses.push((await site.put(path, as(user))).status)
        statuses.push((await site.get(path, as(user))).status)
      }
    }
    const own = await site.put(`/posts/${adas.id}?unawaited=1`, as('ada', { json: { title: 'unawaited' } }))
    expect([...statuses, own.status]).to.deep.equal(Array.from({ length: 9 }, () => 500))
    expect(await database.manager.countBy(Post, { title: 'unawaited' })).to.equal(0)
    expect((await site.put(`/posts/${adas.id}/all`, as('ada'))).status).to.equal(200)
    expect((await site.put(`/posts/${adas.id}/all`, as('bob'))).status).to.equal(403)
  })

  it('do not let an authorized record write another row', async () => {
    const response = await site.put(
      `/posts/${adas.id}?as=${bobs.id}`,
      as('ada', { json: { title: 'seized' } }),
    )
    expect(response.status).to.equal(500)
    expect(await database.manager.countBy(Post, { title: 'seized' })).to.equal(0)
  })

  it('insert a new record whose id the application has chosen, and never overwrite another', async () => {
    const taken = await site.put(`/chosen/${bobs.id}`, as('ada'))
    expect([taken.status, taken.json.errors]).to.deep.equal([409, { id: ['ID has already been taken.'] }])
    const free = '00000000-0000-7000-8000-000000000001'
    expect((await site.put(`/chosen/${free}`, as('ada'))).status).to.equal(201)
    expect((await site.put(`/chosen/${free}`, as('ada'))).status).to.equal(409)
    const posts = await database.manager.find(Post, { order: { title: 'ASC' } })
    expect(posts.map(({ id, title }) => [id, title])).to.deep.equal([
      [free, 'chosen'],
      [adas.id, 'first'],
      [bobs.id, 'second'],
    ])
  })

  it('are asked again when the owner of a record changes', async () => {
    const give = (to: string) => site.put(`/posts/${adas.id}?give=${to}`, as('ada', { json: { title: 'x' } }))
    expect((await give('bob')).status).to.equal(403)
    expect(await database.manager.countBy(Post, { user_id: 'ada', title: 'first' })).to.equal(1)
    expect((await give('ada')).status).to.equal(200)
  })

  it('are an error if their scope is undefined or has an undefined value, and never show every record', async () => {
    for (const user of ['forgotten', 'undefined', 'empty', 'null']) {
      const paths = ['/posts', `/posts/${adas.id}`, '/feed', `/posts/${adas.id}/comments`, '/choices']
      for (const path of paths) {
        const { status, text } = await site.get(path, as(user))
        expect([status, text.includes('first')], path).to.deep.equal([500, false])
      }
    }
  })

  it('find nothing by a condition without a value, in every method', async () => {
    const { status, json } = await site.get('/missing', as('ada'))
    expect([status, json]).to.deep.equal([200, Array.from({ length: 15 }, () => 0)])
  })

  it('limit the related records on which a list has conditions', async () => {
    const titles = async (name: string) =>
      (await site.get(`/posts?topic_name=${encodeURIComponent(name)}`, as('ada'))).json.map(
        ({ title }: Post) => title,
      )
    expect(await titles("Ada's")).to.deep.equal(['first'])
    expect(await titles("Bob's")).to.deep.equal([])
    const joined = async (name: string) =>
      (await site.get(`/by-topic/${encodeURIComponent(name)}`, as('ada'))).json
    expect(await joined("Ada's")).to.deep.equal(['first'])
    expect(await joined("Bob's")).to.deep.equal([])
  })

  it('apply to models that extend the model', async () => {
    expect((await site.get('/extended', as('bob'))).json).to.deep.equal([])
    expect((await site.get('/extended', as('ada'))).json).to.deep.equal(['first'])
  })

  it('do not apply to ctx.unscoped', async () => {
    expect((await site.get('/all', as(''))).text).to.equal('2')
    expect((await site.post('/rename', as('ada'))).status).to.equal(200)
    expect(await database.manager.countBy(Post, { title: 'renamed' })).to.equal(1)
  })

  it('tell handlers and templates what the user can do', async () => {
    const abilities = async (user: string) => (await site.get('/abilities', as(user))).json
    const all = { create: true, update: true, destroy: true, review: true, now: [true, true] }
    const none = { create: false, update: false, destroy: false, review: false, now: [false, false] }
    expect(await abilities('ada')).to.deep.equal(all)
    expect(await abilities('bob')).to.deep.equal({ ...none, create: true, review: true })
    expect(await abilities('')).to.deep.equal(none)
    // A template cannot await the query of an ability.
    expect((await site.get('/template', as('ada'))).status).to.equal(500)
  })

  it('report an ability that no method decides, except in production', async () => {
    for (const env of ['development', 'test', 'production']) {
      const other = new App({
        env,
        logger: pino({ level: 'silent' }),
        secret: 'a secret of at least thirty-two letters',
      })
      other.use(transaction(database))
      other.resource(PostsResource)
      other.get('/can/{name}', async (ctx) => {
        const post = await ctx.unscoped.find(Post, adas.id)
        ctx.body = String(await ctx.can(ctx.params['name']!, post))
      })
      other.put('/authorize/{name}', async (ctx) => {
        const post = await ctx.unscoped.find(Post, adas.id)
        await ctx.authorize(post, ctx.params['name'])
      })
      const own = await Site.open(other)
      const statuses = []
      for (const name of ['updte', 'scope', 'constructor', 'toString'])
        statuses.push((await own.get(`/can/${name}`, { accept: 'json' })).status)
      expect(statuses, env).to.deep.equal(statuses.map(() => (env === 'production' ? 200 : 500)))
      const refused = await own.put('/authorize/close', { accept: 'json' })
      expect([refused.status, refused.json.detail], env).to.deep.equal([
        403,
        env === 'development' ? 'PostPolicy has no method "close".' : 'You are not allowed to do this.',
      ])
    }
  })
})
