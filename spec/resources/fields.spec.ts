import { expect } from 'chai'
import { Column, Entity } from 'typeorm'
import { App, BaseResource, Model, Parent, Resource, Route, type Context } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { Site } from '../support/site.js'

@Entity('fielded_posts')
class Post extends Model {
  @Column('varchar') title = ''
  @Column('bool') pinned = false
  @Column('uuid', { nullable: true }) author_id: string | null = null
}

@Entity('fielded_articles')
class Article extends Post {}

@Entity('fielded_notes')
class Note extends Model {
  @Column('varchar') text = ''
}

let bound: object = {}

function keep(ctx: Context, record: object): void {
  bound = { ...record }
  ctx.status = 204
}

@Resource('/posts', { model: Post, fields: ['title', 'author_id'] })
class PostsResource extends BaseResource {
  override create(ctx: Context) {
    keep(ctx, ctx.bind(new Post()))
  }

  override update(ctx: Context) {
    const post = new Post()
    keep(ctx, post)
    ctx.bind(post, ['title', 'pinned'])
  }

  @Route('POST', '/short')
  short(ctx: Context) {
    keep(ctx, ctx.bind(new Post(), ['title']))
  }

  @Route('POST', '/article')
  article(ctx: Context) {
    keep(ctx, ctx.bind(new Article()))
  }

  @Route('POST', '/note')
  note(ctx: Context) {
    keep(ctx, ctx.bind(new Note(), ['text']))
  }
}

class InheritingResource extends PostsResource {}

@Resource('/closed', { model: Post, fields: [] })
class ClosedResource extends PostsResource {}

@Resource('/open', { model: Post })
class OpenResource extends PostsResource {}

describe('The fields option of @Resource', () => {
  let site: Site
  const log = captureLog()
  const json = { title: 'Hello', pinned: true, author_id: '0193b6a2-7c3e-7000-8000-000000000001', text: 'a' }

  before(async () => {
    const app = new App({ api: true, logger: log.logger })
    app.resource(PostsResource)
    app.resource('/inheriting', InheritingResource)
    app.resource(ClosedResource)
    app.resource(OpenResource)
    app.group('/authors/{author_id}', (author) => void author.resource(PostsResource))
    site = await Site.open(app)
  })

  after(() => site.close())

  async function bind(path: string): Promise<object> {
    const response = await site.post(path, { json })
    expect(response.status, response.text).to.equal(204)
    return bound
  }

  it('lists the attributes that ctx.bind(record) copies', async () => {
    expect(await bind('/posts')).to.deep.equal({ title: 'Hello', pinned: false, author_id: json.author_id })
  })

  it('is a maximum: ctx.bind(record, list) copies fewer', async () => {
    expect(await bind('/posts/short')).to.deep.equal({ title: 'Hello', pinned: false, author_id: null })
  })

  it('rejects a list with another attribute, and copies nothing', async () => {
    const response = await site.put('/posts/1', { json, accept: 'json' })
    expect(response.status).to.equal(500)
    expect(log.text()).to.include(
      'PostsResource.update binds \\"pinned\\". Add it to the \\"fields\\" option of @Resource.',
    )
    expect(bound).to.deep.equal({ title: '', pinned: false, author_id: null })
  })

  it('leaves out keys of the path', async () => {
    expect(await bind('/authors/1/posts')).to.deep.equal({ title: 'Hello', pinned: false, author_id: null })
  })

  for (const [title, path] of [
    ['a parent whose parameter has another name', '/posts'],
    ['the parent in a tree, which has the name of its own parameter', '/authors'],
  ] as const)
    it(`leaves out the key of ${title}`, async () => {
      @Resource('/authors', { param: 'slug' })
      class AuthorsResource extends BaseResource {}

      @Resource(path, { model: Post, fields: ['title', 'author_id'] })
      @Parent(AuthorsResource)
      class NestedResource extends BaseResource {
        override create(ctx: Context) {
          keep(ctx, ctx.bind(new Post()))
        }

        override update(ctx: Context) {
          keep(ctx, ctx.bind(new Post(), ['title', 'author_id']))
        }
      }

      const app = new App({ api: true })
      app.resource(AuthorsResource)
      app.resource(NestedResource)
      const nested = await Site.open(app)
      for (const [method, nestedPath] of [
        ['POST', `/authors/ada${path}`],
        ['PUT', `/authors/ada${path}/1`],
      ] as const) {
        bound = {}
        const response = await nested.request(method, nestedPath, { json })
        expect(response.status, response.text).to.equal(204)
        expect(bound, method).to.deep.equal({ title: 'Hello', pinned: false, author_id: null })
      }
      await nested.close()
    })

  it('applies to records of a subclass of the model, and not to those of other classes', async () => {
    expect(await bind('/posts/article')).to.deep.equal({
      title: 'Hello',
      pinned: false,
      author_id: json.author_id,
    })
    expect(await bind('/posts/note')).to.deep.equal({ text: 'a' })
  })

  it('is inherited, unless the subclass has its own @Resource', async () => {
    const { pinned } = (await bind('/inheriting')) as Post
    expect(pinned).to.equal(false)
    expect(await bind('/closed')).to.deep.equal({ title: '', pinned: false, author_id: null })
    expect(await bind('/open')).to.deep.equal({
      title: 'Hello',
      pinned: true,
      author_id: json.author_id,
    })
  })

  it('needs a model', () => {
    // @ts-expect-error -- without a model, there are no attributes
    @Resource('/a', { fields: ['title'] })
    class WithoutModel extends BaseResource {}
    expect(() => new App({ api: true }).resource(WithoutModel)).to.throw(
      "WithoutModel has fields, but no model. Add it: @Resource('/...', { model: Post }).",
    )
  })

  it('names attributes of the model, as the start and the compiler check', async () => {
    // @ts-expect-error -- the attribute is misspelled
    @Resource('/a', { model: Post, fields: ['title', 'pined'] })
    class Misspelled extends BaseResource {}
    const app = new App({ api: true })
    app.resource(Misspelled)
    let message = ''
    await app.start().catch((error: unknown) => (message = String(error)))
    expect(message).to.equal(
      'DeclarationError: Misspelled has the field "pined", but Post has no attribute "pined" that a request may set. It has title, pinned, author_id.',
    )
  })
})
