import { expect } from 'chai'
import {
  App,
  BaseResource,
  Resource,
  Route,
  Use,
  type Context,
  type ResourceClass,
  type RouteMethod,
  type RouteOptions,
} from '../../src/index.js'
import { mark } from '../support/marks.js'
import { rowsOf } from '../support/route-rows.js'
import { Site } from '../support/site.js'

/** The routes of a resource class that `@Route` declares. */
function decoratedRows(resource: ResourceClass, path?: string): string[] {
  const app = new App()
  if (path === undefined) app.resource(resource)
  else app.resource(path, resource)
  const fixed = /\.(list|create|new|show|update|destroy|edit)$/
  return rowsOf(app).filter((row) => !fixed.test(row))
}

function respond(ctx: Context): void {
  ctx.body = { handler: ctx.route.handlerName, params: ctx.params }
}

@Resource('/posts')
class PostsResource extends BaseResource {
  @Route('GET', '/drafts')
  drafts(ctx: Context) {
    respond(ctx)
  }

  @Route('POST', '/{post_id}/publish')
  @Route('PUT', '/{post_id}/publication', { name: 'publishPostPath', aliases: ['/{post_id}/release'] })
  async publish(ctx: Context) {
    respond(ctx)
  }
}

describe('@Route', () => {
  it('declares a route with the name that app.post derives from the same path', () => {
    expect(decoratedRows(PostsResource)).to.deep.equal([
      'GET /posts/drafts postsDraftsPath PostsResource.drafts',
      'POST /posts/{post_id}/publish postPublishPath PostsResource.publish',
      'PUT /posts/{post_id}/publication publishPostPath PostsResource.publish',
    ])
  })

  it('is matched, also at its aliases, and has path helpers', async () => {
    const app = new App({ api: true })
    app.resource(PostsResource)
    expect(app.pathFor('postPublishPath', { post_id: 1 })).to.equal('/posts/1/publish')
    const site = await Site.open(app)
    try {
      expect((await site.get('/posts/drafts')).json).to.deep.equal({
        handler: 'PostsResource.drafts',
        params: {},
      })
      for (const [method, path] of [
        ['POST', '/posts/1/publish'],
        ['PUT', '/posts/1/publication'],
        ['PUT', '/posts/1/release'],
      ] as const) {
        expect((await site.request(method, path)).json).to.deep.equal({
          handler: 'PostsResource.publish',
          params: { post_id: '1' },
        })
      }
    } finally {
      await site.close()
    }
  })

  it('returns 405 with Allow for another method, also for PATCH at its own PUT', async () => {
    const app = new App({ api: true })
    app.resource(PostsResource)
    const site = await Site.open(app)
    try {
      const deleted = await site.delete('/posts/1/publish')
      expect([deleted.status, deleted.headers.get('allow')]).to.deep.equal([405, 'POST, OPTIONS'])
      const patched = await site.request('PATCH', '/posts/1/publication')
      expect([patched.status, patched.headers.get('allow')]).to.deep.equal([405, 'PUT, OPTIONS'])
    } finally {
      await site.close()
    }
  })

  it('has the resource of its class, with the model', () => {
    class Post {}
    @Resource('/posts', { model: Post })
    class PostsResource extends BaseResource {
      @Route('GET', '/drafts')
      drafts(_ctx: Context) {}
    }
    const app = new App()
    app.resource(PostsResource)
    expect(app.match('GET', '/posts/drafts')?.route.resource).to.deep.include({
      plural: 'posts',
      singular: 'post',
      isSingular: false,
      param: 'post_id',
      parentKeys: [],
      itemPath: '/posts/{post_id}',
      parentPath: '',
      action: 'drafts',
      model: Post,
    })
  })

  describe('with summary, body and responses', () => {
    class Post {}
    class PublishForm {}
    const options: RouteOptions = {
      summary: 'Publishes a post',
      body: PublishForm,
      responses: { 200: Post, 202: [Post], 204: 'empty', 409: 'problem' },
    }

    function resourceWith(options: RouteOptions): ResourceClass {
      @Resource('/posts')
      class PostsResource extends BaseResource {
        @Route('DELETE', '/drafts', options)
        drafts(_ctx: Context) {}
      }
      return PostsResource
    }

    it('has them as its description, as app.post has', () => {
      const app = new App()
      app.resource(resourceWith(options))
      app.post('/publish', respond, options)
      for (const [method, path] of [
        ['DELETE', '/posts/drafts'],
        ['POST', '/publish'],
      ] as const)
        expect(app.match(method, path)?.route.description).to.deep.equal(options)
    })

    it('reads the body that a class describes, also of DELETE', () => {
      for (const [body, expected] of [
        [PublishForm, true],
        [true, true],
        [false, false],
        [undefined, false],
      ] as const) {
        const app = new App()
        app.resource(resourceWith(body === undefined ? {} : { body }))
        const { route } = app.match('DELETE', '/posts/drafts') ?? {}
        expect(route?.readsBody).to.equal(expected)
        expect(route?.description.body).to.equal(body)
      }
    })

    it('is inherited with its route', () => {
      class Base extends BaseResource {
        @Route('GET', '/drafts', { summary: 'Lists drafts' })
        drafts(_ctx: Context) {}
      }
      class PostsResource extends Base {
        override drafts(_ctx: Context) {}
      }
      const app = new App()
      app.resource('/posts', PostsResource)
      expect(app.match('GET', '/posts/drafts')?.route.description.summary).to.equal('Lists drafts')
    })

    const mistakes: Array<[options: object, message: string]> = [
      [
        { summary: '' },
        'The summary of PostsResource.drafts is "". Write one line, for example "Publishes a post".',
      ],
      [
        { summary: 'Two\nlines' },
        'The summary of PostsResource.drafts is "Two\\nlines". Write one line, for example "Publishes a post".',
      ],
      [
        { body: 'form' },
        'The option "body" of PostsResource.drafts is "form". Use true, false, or a class that describes the body.',
      ],
      [
        { responses: { ok: Post } },
        'The response "ok" of PostsResource.drafts isn\'t a valid status. Use a number from 200 to 599.',
      ],
      [
        { responses: { 600: Post } },
        'The response "600" of PostsResource.drafts isn\'t a valid status. Use a number from 200 to 599.',
      ],
      [
        { responses: { 200: 'Post' } },
        'The response "200" of PostsResource.drafts is "Post". Use a class, a list of one class like [Post], "problem", "empty" or a media type like "text/csv".',
      ],
      [
        { responses: { 200: [] } },
        'The response "200" of PostsResource.drafts is []. Use a class, a list of one class like [Post], "problem", "empty" or a media type like "text/csv".',
      ],
      [
        { responses: { 204: Post } },
        'The response "204" of PostsResource.drafts never has a body. Use "empty", or another status.',
      ],
      [
        { responses: { 200: 'problem' } },
        'The response "200" of PostsResource.drafts is a problem document, but reports no error. Use a status from 400.',
      ],
    ]
    for (const [wrong, message] of mistakes) {
      it(`stops the start if they are wrong: ${JSON.stringify(wrong)}`, () => {
        // Plain JavaScript could pass these options.
        expect(() => new App().resource(resourceWith(wrong as RouteOptions))).to.throw(message)
      })
    }

    it('does not compile with a status that is not a number, or with another kind of response', () => {
      // @ts-expect-error: not a status
      const status: RouteOptions = { responses: { ok: Post } }
      // @ts-expect-error: not a class
      const kind: RouteOptions = { responses: { 200: 'post' } }
      expect([status, kind]).to.have.length(2)
    })
  })

  describe('path', () => {
    function resourceWith(method: RouteMethod, path: string, param?: string): ResourceClass {
      @Resource('/posts', param === undefined ? {} : { param })
      class PostsResource extends BaseResource {
        @Route(method, path)
        extra(_ctx: Context) {}
      }
      return PostsResource
    }

    const paths: Array<[relative: string, full: string]> = [
      ['/drafts', 'GET /posts/drafts postsDraftsPath'],
      ['/drafts/', 'GET /posts/drafts postsDraftsPath'],
      ['/by/{author_id}', 'GET /posts/by/{author_id} postsByPath'],
      ['/files/{*file}', 'GET /posts/files/{*file} postsFilePath'],
      ['/v{version}', 'GET /posts/v{version}'],
      ['/{post_id}/history', 'GET /posts/{post_id}/history postHistoryPath'],
      ['/:post_id/history', 'GET /posts/{post_id}/history postHistoryPath'],
      ['/{id}/history', 'GET /posts/{post_id}/history postHistoryPath'],
      ['/{id}/versions/{version}', 'GET /posts/{post_id}/versions/{version} postVersionPath'],
      ['/{id}/files/{*file}', 'GET /posts/{post_id}/files/{*file} postFilePath'],
      ['/{id}.pdf', 'GET /posts/{post_id}.pdf'],
    ]
    for (const [relative, full] of paths) {
      it(`${relative} is ${full}`, () => {
        const [row = ''] = decoratedRows(resourceWith('GET', relative))
        expect(row.slice(0, full.length + 1)).to.equal(`${full} `)
      })
    }

    it('begins with a slash', () => {
      expect(() => decoratedRows(resourceWith('GET', 'drafts'))).to.throw(
        'The path "drafts" does not begin with a slash. Write "/drafts".',
      )
    })

    it('begins with {id} for the item of each place where the class is mounted', () => {
      const resource = resourceWith('POST', '/{id}/publish')
      expect(decoratedRows(resource, '/articles')).to.deep.equal([
        'POST /articles/{article_id}/publish articlePublishPath PostsResource.extra',
      ])
      expect(decoratedRows(resourceWith('POST', '/{id}/publish', 'slug'))).to.deep.equal([
        'POST /posts/{slug}/publish postPublishPath PostsResource.extra',
      ])
    })

    it('does not begin with the parameter of another place, which the message names', () => {
      expect(() => decoratedRows(resourceWith('POST', '/{post_id}/publish'), '/articles')).to.throw(
        'The path "/{post_id}/publish" of PostsResource.extra begins with the parameter "post_id", but the parameter of its item is ' +
          '"article_id". Write "/{article_id}/publish", or "/{id}/publish" if the class is mounted in several places.',
      )
      expect(() => decoratedRows(resourceWith('GET', '/{*rest}'))).to.throw(
        'begins with the parameter "rest", but the parameter of its item is "post_id".',
      )
    })
  })

  describe('inheritance', () => {
    class Publishable extends BaseResource {
      @Use(mark('base'))
      @Route('POST', '/{id}/publish')
      publish(ctx: Context) {
        respond(ctx)
      }
    }

    it('includes a method that a subclass overrides without decorators, with its middleware', () => {
      class PostsResource extends Publishable {
        override publish(ctx: Context) {
          respond(ctx)
        }
      }
      const app = new App()
      app.resource('/posts', PostsResource)
      const route = app.match('POST', '/posts/1/publish')?.route
      expect(route?.handlerName).to.equal('PostsResource.publish')
      expect(route?.declared).to.equal(PostsResource.prototype.publish)
      expect(route?.middleware).to.have.length(1)
    })

    it('replaces a route if a subclass uses @Route again, and keeps the middleware', () => {
      class PostsResource extends Publishable {
        @Route('PUT', '/{id}/publication')
        override publish(ctx: Context) {
          respond(ctx)
        }
      }
      const app = new App()
      app.resource('/posts', PostsResource)
      expect(app.match('POST', '/posts/1/publish')).to.equal(undefined)
      expect(app.match('PUT', '/posts/1/publication')?.route.middleware).to.have.length(1)
      expect(decoratedRows(Publishable, '/posts')).to.deep.equal([
        'POST /posts/{post_id}/publish postPublishPath Publishable.publish',
      ])
    })
  })

  describe('stops the start with a clear message if', () => {
    const wrong: Record<string, [declare: () => unknown, message: string]> = {
      'it is on one of the seven handlers': [
        () => {
          class PostsResource extends BaseResource {
            @Route('GET', '/all')
            override list(_ctx: Context) {}
          }
          return PostsResource
        },
        'PostsResource.list is one of the seven handlers, whose routes are fixed. Remove @Route, or rename the method.',
      ],
      'it is on a static method': [
        () => {
          class PostsResource extends BaseResource {
            @Route('GET', '/drafts')
            static drafts(_ctx: Context) {}
          }
          return PostsResource
        },
        'PostsResource.drafts is static, but @Route requires a method of the instances. Remove "static".',
      ],
      'it is on a getter': [
        () => {
          class PostsResource extends BaseResource {
            @Route('GET', '/drafts')
            get drafts() {
              return respond
            }
          }
          return PostsResource
        },
        'PostsResource.drafts is not a method, but @Route requires one. Write it as "drafts(ctx: Context) { ... }".',
      ],
      'its name is fixed, and its class is mounted in two places': [
        () => {
          class Publishable extends BaseResource {
            @Route('POST', '/{id}/publish', { name: 'publishPath' })
            publish(_ctx: Context) {}
          }
          class PostsResource extends Publishable {}
          class PagesResource extends Publishable {
            override publish(_ctx: Context) {}
          }
          const app = new App()
          app.resource('/posts', PostsResource)
          return app.resource('/pages', PagesResource)
        },
        'Two routes are named "publishPath": /posts/{post_id}/publish (PostsResource.publish) and ' +
          '/pages/{page_id}/publish (PagesResource.publish). Remove the option "name" of @Route. ' +
          'Each place where the class is mounted then derives a name from its path.',
      ],
      'it is on a getter of a value': [
        () => {
          class PostsResource extends BaseResource {
            // @ts-expect-error: not a handler
            @Route('GET', '/drafts')
            get drafts() {
              return 'drafts'
            }
          }
          return PostsResource
        },
        'PostsResource.drafts is not a method, but @Route requires one. Write it as "drafts(ctx: Context) { ... }".',
      ],
      'it is on a property': [
        () => {
          class PostsResource extends BaseResource {
            // @ts-expect-error: not a method
            @Route('GET', '/drafts')
            drafts = respond
          }
          return PostsResource
        },
        'PostsResource.drafts is not a method, but @Route requires one. Write it as "drafts(ctx: Context) { ... }".',
      ],
      'its method is not one of HTTP in upper case': [
        () => {
          class PostsResource extends BaseResource {
            // @ts-expect-error: upper case
            @Route('get', '/drafts')
            drafts(_ctx: Context) {}
          }
          return PostsResource
        },
        '@Route of PostsResource.drafts received the method "get". Use one of GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS.',
      ],
      'it has the method and path of one of the seven': [
        () => {
          class PostsResource extends BaseResource {
            @Route('GET', '/{id}')
            display(_ctx: Context) {}
          }
          return new App().resource('/posts', PostsResource)
        },
        'PostsResource.show and PostsResource.display both handle GET /posts/{post_id}. Change the method or the path of @Route.',
      ],
      'it has the method and path of another one': [
        () => {
          class PostsResource extends BaseResource {
            @Route('GET', '/drafts')
            drafts(_ctx: Context) {}
            @Route('GET', '/unpublished', { aliases: ['/drafts'] })
            unpublished(_ctx: Context) {}
          }
          return new App().resource('/posts', PostsResource)
        },
        'PostsResource.drafts and PostsResource.unpublished both handle GET /posts/drafts. Change the method or the path of @Route.',
      ],
    }
    for (const [what, [declare, message]] of Object.entries(wrong)) {
      it(what, () => {
        expect(declare).to.throw().that.includes({ name: 'DeclarationError', message })
      })
    }
  })

  it('does not compile on a method that is not a handler', () => {
    class PostsResource extends BaseResource {
      // @ts-expect-error: its parameter is not a context
      @Route('GET', '/drafts')
      drafts(_count: number) {}
    }
    expect(PostsResource.name).to.equal('PostsResource')
  })
})
