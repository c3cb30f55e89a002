import { expect } from 'chai'
import {
  App,
  BaseResource,
  Parent,
  Resource,
  Route,
  Use,
  type Context,
  type Middleware,
} from '../../src/index.js'
import { mark, text } from '../support/marks.js'
import { Site } from '../support/site.js'

/** The marks of each request: the names of all middleware that it ran. */
async function marksOf(app: App, requests: readonly string[]): Promise<Record<string, string | null>> {
  const site = await Site.open(app)
  try {
    const marks: Record<string, string | null> = {}
    for (const request of requests) {
      const [method = '', path = ''] = request.split(' ')
      marks[request] = (await site.request(method, path)).headers.get('x-marks')
    }
    return marks
  } finally {
    await site.close()
  }
}

async function expectMarks(app: App, expected: Record<string, string | null>): Promise<void> {
  expect(await marksOf(app, Object.keys(expected))).to.deep.equal(expected)
}

function apiApp(): App {
  const app = new App({ api: true })
  app.use(mark('app'))
  return app
}

class Responding extends BaseResource {
  override list(ctx: Context) {
    ctx.body = 'list'
  }
  override create(ctx: Context) {
    ctx.body = 'create'
  }
  override show(ctx: Context) {
    ctx.body = 'show'
  }
  override update(ctx: Context) {
    ctx.body = 'update'
  }
  override destroy(ctx: Context) {
    ctx.body = 'destroy'
  }
}

describe('@Use', () => {
  describe('on classes and methods, over three levels of inheritance', () => {
    @Use(mark('A1'), mark('A2'))
    @Use(mark('A3'))
    class A extends Responding {
      @Use(mark('a1'))
      @Use(mark('a2'), mark('a3'))
      @Route('POST', '/{id}/publish')
      publish(ctx: Context) {
        ctx.body = 'publish'
      }

      @Use(mark('show'))
      override show(ctx: Context) {
        ctx.body = 'show'
      }
    }

    @Use(mark('B'), { except: ['list'] })
    class B extends A {
      override publish(ctx: Context) {
        ctx.body = 'publish of B'
      }

      override show(ctx: Context) {
        ctx.body = 'show of B'
      }
    }

    @Resource('/posts')
    @Use(mark('C1'), { only: ['publish'] })
    @Use(mark('C2'))
    class C extends B {
      @Use(mark('c'))
      override publish(ctx: Context) {
        ctx.body = 'publish of C'
      }

      @Use(mark('destroy'))
      override destroy(ctx: Context) {
        ctx.body = 'destroy'
      }
    }

    it('runs the base class first, each class from top to bottom, and then the method from top to bottom', async () => {
      const app = apiApp()
      app.resource(C)
      await expectMarks(app, {
        'GET /posts': 'app, A1, A2, A3, C2',
        'POST /posts': 'app, A1, A2, A3, B, C2',
        'GET /posts/1': 'app, A1, A2, A3, B, C2, show',
        'PUT /posts/1': 'app, A1, A2, A3, B, C2',
        'PATCH /posts/1': 'app, A1, A2, A3, B, C2',
        'DELETE /posts/1': 'app, A1, A2, A3, B, C2, destroy',
        'POST /posts/1/publish': 'app, A1, A2, A3, B, C1, C2, a1, a2, a3, c',
      })
    })

    it('leaves the base classes as they are', async () => {
      const app = apiApp()
      app.resource('/a', A)
      app.resource('/b', B)
      await expectMarks(app, {
        'GET /a': 'app, A1, A2, A3',
        'GET /b': 'app, A1, A2, A3',
        'POST /a/1/publish': 'app, A1, A2, A3, a1, a2, a3',
        'POST /b/1/publish': 'app, A1, A2, A3, B, a1, a2, a3',
        'GET /b/1': 'app, A1, A2, A3, B, show',
      })
    })

    it('runs for a class that does not extend BaseResource', async () => {
      @Resource('/notes')
      @Use(mark('class'), { except: ['show'] })
      class Notes {
        list(ctx: Context) {
          ctx.body = 'list'
        }
        create(ctx: Context) {
          ctx.body = 'create'
        }
        show(ctx: Context) {
          ctx.body = 'show'
        }
        update(ctx: Context) {
          ctx.body = 'update'
        }
        @Use(mark('method'))
        destroy(ctx: Context) {
          ctx.body = 'destroy'
        }
      }
      const app = apiApp()
      app.resource(Notes)
      await expectMarks(app, {
        'POST /notes': 'app, class',
        'GET /notes/1': 'app',
        'DELETE /notes/1': 'app, class, method',
      })
    })
  })

  describe('on a resource with nested resources', () => {
    @Resource('/posts')
    @Use(mark('all'))
    @Use(mark('except'), { except: ['list', 'show'] })
    @Use(mark('only'), { only: ['show'] })
    class Posts extends Responding {
      @Use(mark('method'))
      override update(ctx: Context) {
        ctx.body = 'update'
      }
    }

    @Resource('/comments')
    @Parent(Posts)
    @Use(mark('comments'))
    class Comments extends Responding {}

    @Resource('/likes')
    @Use(mark('likes'))
    class Likes extends Responding {}

    it('runs for them and for routes on its scope, unless it has "only" or is on a method', async () => {
      const app = apiApp()
      const posts = app.resource(Posts)
      app.resource(Comments).resource(Likes)
      posts.get('/first', text('first'))
      posts.use(mark('scope'))
      posts.get('/second', text('second'))
      await expectMarks(app, {
        'GET /posts': 'app, all',
        'POST /posts': 'app, all, except',
        'GET /posts/1': 'app, all, only',
        'PUT /posts/1': 'app, all, except, method',
        'GET /posts/1/comments': 'app, all, except, comments',
        'GET /posts/1/comments/2': 'app, all, except, comments',
        'GET /posts/1/comments/2/likes': 'app, all, except, comments, likes',
        'GET /posts/1/first': 'app, all, except',
        'GET /posts/1/second': 'app, all, except, scope',
      })
    })

    it('runs in each place where the class is mounted', async () => {
      const app = apiApp()
      app.resource(Posts)
      app.group('/admin', (admin) => {
        admin.use(mark('admin'))
        admin.resource(Posts)
      })
      app.resource('/articles', Posts)
      await expectMarks(app, {
        'GET /posts/1': 'app, all, only',
        'GET /admin/posts/1': 'app, admin, all, only',
        'GET /articles/1': 'app, all, only',
      })
    })

    it('runs on a virtual host', async () => {
      const app = new App({ api: true })
      const host = app.host('blog.example.com')
      host.use(mark('host'))
      host.resource(Posts)
      const site = await Site.open(app)
      try {
        const raw = (name: string) =>
          site.raw(`GET /posts/1 HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)
        const marks = [...(await raw('blog.example.com')).matchAll(/^X-Marks: (\w+)/gim)]
        expect(marks.map(([, name]) => name)).to.deep.equal(['host', 'all', 'only'])
        expect(await raw('example.com')).to.match(/^HTTP\/1.1 404 /)
      } finally {
        await site.close()
      }
    })
  })

  it('registers start, stop, check and begin once, as app.use does', async () => {
    const calls: string[] = []
    const counting = (name: string): Middleware =>
      Object.assign(mark(name), {
        extension: {
          start: async () => void calls.push(`${name} starts`),
          stop: async () => void calls.push(`${name} stops`),
          check: async () => void calls.push(`${name} is checked`),
          begin: () => void calls.push(`${name} begins`),
        },
      })
    const shared = counting('shared')

    @Resource('/posts')
    @Use(shared)
    class Posts extends Responding {
      @Use(counting('method'))
      override show(ctx: Context) {
        ctx.body = 'show'
      }

      @Use(shared)
      @Route('GET', '/drafts')
      drafts(ctx: Context) {
        ctx.body = 'drafts'
      }
    }

    const app = new App({ api: true })
    app.resource(Posts)
    app.resource('/articles', Posts)
    const site = await Site.open(app)
    await site.get('/up')
    await site.get('/nope')
    await site.close()
    expect(calls).to.deep.equal([
      'shared starts',
      'method starts',
      'shared is checked',
      'method is checked',
      'shared begins',
      'method begins',
      'method stops',
      'shared stops',
    ])
  })

  describe('stops the start with a clear message if', () => {
    const csrf: Middleware = mark('csrf')
    const wrong: Record<string, [declare: () => unknown, message: string]> = {
      'it has no middleware': [
        // @ts-expect-error: the first argument is required
        () => Use(),
        '@Use requires at least one middleware.',
      ],
      'it receives something else than a function': [
        // @ts-expect-error: not a function
        () => Use(csrf, 'csrf'),
        '@Use expects middleware functions or classes, not csrf.',
      ],
      'it receives undefined, because two files import each other': [
        // @ts-expect-error: not a function
        () => Use(undefined),
        '@Use expects middleware functions or classes, not undefined.',
      ],
      'it names a handler that does not exist': [
        () => {
          // @ts-expect-error: the class has no handler of this name
          @Use(csrf, { except: ['lsit'] })
          class PostsResource extends BaseResource {}
          return PostsResource
        },
        '@Use of PostsResource names "lsit", which is neither one of the seven handlers nor a method with @Route. Did you mean "list"?',
      ],
      'it names a method without a route': [
        () => {
          @Use(csrf, { only: ['helper'] })
          class PostsResource extends BaseResource {
            helper(_ctx: Context) {}
          }
          return PostsResource
        },
        '@Use of PostsResource names "helper", which is neither one of the seven handlers nor a method with @Route.',
      ],
      'it has both "only" and "except"': [
        () => {
          // @ts-expect-error: one of the two
          @Use(csrf, { only: ['list'], except: ['show'] })
          class PostsResource extends BaseResource {}
          return PostsResource
        },
        '@Use of PostsResource has both "only" and "except". Keep one of them.',
      ],
      'it is on a method and has "only" or "except"': [
        () => {
          class PostsResource extends BaseResource {
            // @ts-expect-error: an option of classes
            @Use(csrf, { only: ['list'] })
            override list(_ctx: Context) {}
          }
          return PostsResource
        },
        '@Use of PostsResource.list has "only" or "except", which a class can have, but not a method. Remove the option.',
      ],
      'it is on a static method': [
        () => {
          class PostsResource extends BaseResource {
            @Use(csrf)
            static drafts(_ctx: Context) {}
          }
          return PostsResource
        },
        'PostsResource.drafts is static, but @Use requires a method of the instances. Remove "static".',
      ],
      'it is on a property': [
        () => {
          class PostsResource extends BaseResource {
            // @ts-expect-error: not a method
            @Use(csrf)
            drafts = text('drafts')
          }
          return PostsResource
        },
        'PostsResource.drafts is not a method, but @Use requires one. Write it as "drafts(ctx: Context) { ... }".',
      ],
      'it is on a method that no route calls': [
        () => {
          class PostsResource extends BaseResource {
            @Use(csrf)
            helper(_ctx: Context) {}
          }
          return new App().resource('/posts', PostsResource)
        },
        'PostsResource.helper has @Use, but no route calls it. Decorate it with @Route, or remove @Use.',
      ],
    }
    for (const [what, [declare, message]] of Object.entries(wrong)) {
      it(what, () => {
        expect(declare).to.throw().that.includes({ name: 'DeclarationError', message })
      })
    }
  })

  it('infers the types of inline middleware', async () => {
    @Resource('/posts')
    @Use(
      async (ctx, next) => {
        ctx.append('X-Marks', 'inline')
        await next()
      },
      { only: ['show'] },
    )
    class Posts extends Responding {
      @Use((ctx, next) => {
        ctx.append('X-Marks', 'method')
        return next()
      })
      override show(ctx: Context) {
        ctx.body = 'show'
      }
    }
    const app = apiApp()
    app.resource(Posts)
    await expectMarks(app, { 'GET /posts/1': 'app, inline, method', 'GET /posts': 'app' })
  })
})
