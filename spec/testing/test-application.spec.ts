import { expect } from 'chai'
import { pino } from 'pino'
import { App, BaseResource, Database, Resource, transaction, type Context } from '../../src/index.js'
import { dropDatabase } from '../../src/database/engines/create-drop.js'
import { testApplication } from '../../src/testing/index.js'
import {
  Comment,
  CreateBlog1700000000000,
  edited,
  newPost,
  Post,
} from '../support/applications/blog-database.js'
import { newDatabase } from '../support/databases.js'
import { describeOnce, engine } from '../support/engine.js'
import { failure } from '../support/failure.js'

@Resource('/posts')
class PostsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Post)
    return ctx.respond({ json: records })
  }

  override async create(ctx: Context) {
    const post = ctx.bind(new Post())
    const errors = await ctx.save(post)
    if (errors) throw errors
    return ctx.respond(201, { json: post })
  }
}

const database = new Database(
  { test: { url: 'sqlite::memory:' }, models: [Post, Comment], migrations: [CreateBlog1700000000000] },
  'test',
)
const app = new App({ api: true })
app.use(transaction(database))
app.resource(PostsResource)
app.get('/visits', (ctx) => {
  const visits = Number(ctx.cookies.get('visits') ?? 0) + 1
  ctx.cookies.set('visits', String(visits))
  ctx.body = String(visits)
})
const { client, factory, isolate, hooks } = testApplication(app, database)

describeOnce('testApplication(app, database)', () => {
  before(() => hooks.beforeAll())
  after(() => hooks.afterAll())

  const titles = async (): Promise<string[]> =>
    (await client.get('/posts')).json.map((post: Post) => post.title)

  const visits = async (): Promise<string> => (await client.get('/visits')).text

  describe('isolate()', () => {
    isolate()

    before(() => factory.make(Post, { title: 'of all tests' }))

    it('keeps the records created before all tests, and those of the test itself', async () => {
      await client.post('/posts', { json: { title: 'of this test' } })
      expect(await titles()).to.deep.equal(['of this test', 'of all tests'])
    })

    it('undoes the changes of another test', async () => {
      expect(await titles()).to.deep.equal(['of all tests'])
    })

    it('rolls a rejected request back as usual', async () => {
      const rejected = await client.post('/posts', { json: { title: 'of all tests' } })
      expect(rejected.status).to.equal(409)
      expect(rejected.json.errors).to.deep.equal({ title: ['Title has already been taken.'] })
      expect(await titles()).to.deep.equal(['of all tests'])
    })
  })

  describe('the client of isolated tests', () => {
    before(async () => {
      await visits()
      client.bearer = 'of others'
    })
    isolate()
    before(async () => {
      expect(client.bearer).to.equal(undefined)
      await visits()
      client.token = 'of all tests'
    })

    for (const test of ['one test', 'another test'])
      it(`keeps the cookies and tokens from before all tests, and not those of another test: ${test}`, async () => {
        expect([client.token, client.bearer]).to.deep.equal(['of all tests', undefined])
        expect([await visits(), await visits()]).to.deep.equal(['2', '3'])
        Object.assign(client, { token: test, bearer: test })
      })

    it('forgets cookies in one test only', async () => {
      client.forget()
      expect(await visits()).to.equal('1')
    })

    it('has the cookies again after a test that forgets them', async () => {
      expect(await visits()).to.equal('2')
    })
  })

  describe('the next describe', () => {
    it('finds an empty database', async () => {
      expect(await titles()).to.deep.equal([])
    })
  })
})

describe('The test database', () => {
  class CreateBlogAgain1700000000001 extends CreateBlog1700000000000 {}

  /** Runs the specs of an application with these migrations, and returns the posts that they found. */
  async function titlesAfter(url: string, migrations: Function[], env: string): Promise<string[]> {
    const settings = { [env]: { url }, models: [Post, Comment], migrations }
    const database = new Database(settings, env)
    const { hooks } = testApplication(
      new App({ api: true, env, logger: pino({ level: 'silent' }) }),
      database,
    )
    try {
      await hooks.beforeAll()
      const posts = await database.manager.find(Post)
      if (posts.length === 0) await database.manager.save(newPost('of a run'))
      return posts.map(({ title }) => title)
    } finally {
      await hooks.afterAll()
    }
  }

  it('is kept between runs, and re-created if the file of a migration is missing', async () => {
    const url = await newDatabase()
    expect(await titlesAfter(url, [CreateBlog1700000000000], 'test')).to.deep.equal([])
    expect(await titlesAfter(url, [CreateBlog1700000000000], 'test')).to.deep.equal(['of a run'])
    expect(await titlesAfter(url, [CreateBlogAgain1700000000001], 'test')).to.deep.equal([])
  })

  it('is re-created if a migration has been edited', async () => {
    const url = await newDatabase()
    expect(await titlesAfter(url, [CreateBlog1700000000000], 'test')).to.deep.equal([])
    expect(await titlesAfter(url, [edited(CreateBlog1700000000000)], 'test')).to.deep.equal([])
    expect(await titlesAfter(url, [edited(CreateBlog1700000000000)], 'test')).to.deep.equal(['of a run'])
  })

  if (engine !== 'sqlite') {
    it('is created if the server has none of this name', async () => {
      const url = `${await newDatabase()}_test`
      expect(await titlesAfter(url, [CreateBlog1700000000000], 'test')).to.deep.equal([])
      expect(await dropDatabase(new Database({ test: { url } }, 'test'))).to.equal(true)
    })
  }

  it('is never deleted if it belongs to another environment', async () => {
    const url = await newDatabase()
    await titlesAfter(url, [CreateBlog1700000000000], 'development')
    const error = await failure(titlesAfter(url, [CreateBlogAgain1700000000001], 'development'))
    expect(String(error)).to.contain('already exists')
    expect(await titlesAfter(url, [CreateBlog1700000000000], 'development')).to.deep.equal(['of a run'])
  })
})
