import { fileURLToPath } from 'node:url'
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import { pino } from 'pino'
import {
  App,
  BaseResource,
  forceSSL,
  Parent,
  Resource,
  securityHeaders,
  Use,
  type Context,
  type Middleware,
} from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { mark, text } from '../support/marks.js'
import { Site } from '../support/site.js'

const echo = (ctx: Context) => {
  ctx.body = ctx.params
}

@Resource('/posts')
class PostsResource extends BaseResource {
  override list(ctx: Context) {
    ctx.body = 'posts'
  }
  override show(ctx: Context) {
    ctx.body = `post ${ctx.params['post_id']}`
  }
}

@Resource('/comments')
@Parent(PostsResource)
class CommentsResource extends BaseResource {
  override list(ctx: Context) {
    ctx.body = `comments of ${ctx.params['post_id']}`
  }
}

describe('App', () => {
  let site: Site | undefined

  afterEach(async () => {
    await site?.close()
    site = undefined
  })

  async function visit(app: App): Promise<Site> {
    site = await Site.open(app)
    return site
  }

  async function marks(path: string): Promise<string | null> {
    return (await site?.get(path))?.headers.get('x-marks') ?? null
  }

  describe('middleware', () => {
    it('applies to later declarations, and not to earlier ones', async () => {
      const app = new App()
      app.get('/before', text('before'))
      app.use(mark('a'))
      app.get('/between', text('between'))
      app.resource(PostsResource)
      app.use(mark('b'))
      app.get('/after', text('after'))
      await visit(app)
      expect(await marks('/before')).to.equal(null)
      expect(await marks('/between')).to.equal('a')
      expect(await marks('/posts')).to.equal('a')
      expect(await marks('/after')).to.equal('a, b')
    })

    it('of a group applies to the group only, and middleware that is added later to the app never to the group', async () => {
      const app = new App()
      app.use(mark('app'))
      const admin = app.group('/admin')
      admin.use(mark('admin'))
      app.use(mark('late'))
      admin.get('/stats', text('stats'))
      app.get('/home', text('home'))
      await visit(app)
      expect(await marks('/admin/stats')).to.equal('app, admin')
      expect(await marks('/home')).to.equal('app, late')
    })

    it('of a resource applies to that resource, and to later declarations on its registration', async () => {
      @Resource('/notes')
      @Use(mark('own'))
      class NotesResource extends BaseResource {
        override show(ctx: Context) {
          ctx.body = 'note'
        }
      }
      const app = new App()
      const notes = app.resource(NotesResource)
      notes.get('/first', text('first'))
      notes.use(mark('member'))
      notes.get('/second', text('second'))
      await visit(app)
      expect(await marks('/notes/1')).to.equal('own')
      expect(await marks('/notes/1/first')).to.equal('own')
      expect(await marks('/notes/1/second')).to.equal('own, member')
    })

    it('applies to a resource with @Parent that is declared after it', async () => {
      const app = new App()
      app.use(mark('a'))
      app.resource(PostsResource)
      app.use(mark('b'))
      app.resource(CommentsResource)
      await visit(app)
      expect(await marks('/posts')).to.equal('a')
      expect(await marks('/posts/1/comments')).to.equal('a, b')
    })

    it('does not run for an unknown path or a static file', async () => {
      const app = new App()
      app.use(mark('a'))
      app.get('/', text('home'))
      await visit(app)
      expect(await marks('/nope')).to.equal(null)
      expect(await marks('/kit.css')).to.equal(null)
    })

    it("is rejected if it isn't a function", () => {
      // @ts-expect-error: the compiler reports this mistake
      expect(() => new App().use('csrf')).to.throw(
        'app.use expects middleware functions or classes, not csrf.',
      )
    })
  })

  describe('routes', () => {
    it('respond to each method that they are registered for', async () => {
      const app = new App({ api: true })
      for (const method of ['get', 'post', 'put', 'patch', 'delete', 'options'] as const) {
        app[method]('/thing', text(method))
      }
      const { request } = await visit(app).then((it) => ({ request: it.request.bind(it) }))
      for (const method of ['get', 'post', 'put', 'patch', 'delete', 'options']) {
        expect((await request(method.toUpperCase(), '/thing')).text).to.equal(method)
      }
    })

    it('match in the order of declaration', async () => {
      const app = new App()
      app.get('/a/{x}', text('first'))
      app.get('/a/b', text('second'))
      app.get('/c/b', text('third'))
      app.get('/c/{x}', text('fourth'))
      const { get } = await visit(app).then((it) => ({ get: it.get.bind(it) }))
      expect((await get('/a/b')).text).to.equal('first')
      expect((await get('/c/b')).text).to.equal('third')
      expect((await get('/c/z')).text).to.equal('fourth')
    })

    it('may have parameters in a part of a segment and over several segments', async () => {
      const app = new App({ api: true })
      app.get('/files/{name}.{type}', echo)
      app.get('/tree/{*path}', echo)
      await visit(app)
      expect((await site?.get('/files/a%20b.txt'))?.json).to.deep.equal({ name: 'a b', type: 'txt' })
      expect((await site?.get('/tree/a/b/c'))?.json).to.deep.equal({ path: 'a/b/c' })
    })

    it('may have aliases', async () => {
      const app = new App()
      app.get('/login', text('login'), { aliases: ['/sign-in'] })
      await visit(app)
      expect((await site?.get('/sign-in'))?.text).to.equal('login')
      expect(app.pathFor('loginPath')).to.equal('/login')
    })

    it('belong to a virtual host, whose labels may be parameters', async () => {
      const app = new App({ api: true })
      app.host('{tenant}.example.com', (host) => host.get('/', echo))
      app.get('/', text('main'))
      await visit(app)
      const request = (host: string) =>
        site?.raw(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      expect(await request('acme.example.com')).to.contain('{"tenant":"acme"}')
      expect(await request('.example.com')).to.match(/main$/)
      expect(await request('example.com')).to.contain('main')
    })

    it('redirect, with their parameters and the query', async () => {
      const app = new App()
      app.redirect('/articles/{id}', '/posts/{id}', 308)
      app.redirect('/f/{*file}', '/g/{*file}')
      app.redirect('/away/{id}', 'https://example.com/{id}', 302)
      app.redirect('/sorted', '/posts?sort=title#top')
      app.redirect('/search/{term}/{*file}', '/search?q={term}&in={*file}#{term}')
      await visit(app)
      for (const [from, status, to] of [
        ['/articles/a%2Fb?page=2', 308, '/posts/a%2Fb?page=2'],
        ['/f/a/b', 301, '/g/a/b'],
        ['/away/1', 302, 'https://example.com/1'],
        ['/sorted', 301, '/posts?sort=title#top'],
        ['/search/a%26b%20c/d/e?page=2', 301, '/search?q=a%26b%20c&in=d%2Fe&page=2#a%26b%20c'],
        ['/sorted?page=2', 301, '/posts?sort=title&page=2#top'],
      ] as const) {
        const response = await site?.get(from)
        expect([response?.status, response?.headers.get('location')]).to.deep.equal([status, to])
      }
    })

    describe('with paths from a visitor', () => {
      const ofThisSite = [
        '/posts',
        '/posts?page=2',
        '?page=2',
        'posts',
        '/go?to=https://evil.example',
        '/./posts',
      ]
      const elsewhere = [
        '//evil.example',
        '/\\evil.example',
        '\\\\evil.example',
        '///evil.example',
        '/\t/evil.example',
        '\n//evil.example',
        ' //evil.example',
        '\u0000//evil.example',
        'ht\ntps://evil.example',
        'https://evil.example',
        'http:evil.example',
        'http:/evil.example',
        'http:\\evil.example',
        'HTTP:evil.example',
        'h\tttp:evil.example',
        'https:evil.example',
        'https:/evil.example',
        'https:\\evil.example',
        'http:posts',
        'http://this-site.invalid/',
        'javascript:alert(1)',
        'data:text/html,hello',
        'blob:http://evil.example/1',
        'http://[',
      ]

      it('are followed by ctx.seeOther if they lead to this site, and otherwise rejected with 400', async () => {
        const app = new App({ api: true })
        app.get('/go', (ctx) => ctx.seeOther(String(ctx.query['to'])))
        await visit(app)
        for (const to of ofThisSite) {
          const response = await site?.get(`/go?to=${encodeURIComponent(to)}`)
          expect(response?.headers.get('location')).to.equal(to)
        }
        for (const to of elsewhere) {
          const response = await site?.get(`/go?to=${encodeURIComponent(to)}`)
          expect(response?.status, JSON.stringify(to)).to.equal(400)
        }
      })
    })

    it('are used by ctx.back if the previous page is of this site', async () => {
      const app = new App({ api: true })
      app.get('/go', (ctx) => ctx.back(ctx.query['to']?.toString()))
      await visit(app)
      const backFrom = async (referer: string, path: string): Promise<string | number | undefined> => {
        const response = await site?.get(path, { headers: { referer } })
        return response?.status === 302 ? response.location : response?.status
      }
      const ours = `${site?.url}/posts?page=2`
      expect(await backFrom(ours, '/go?to=/fallback')).to.equal(ours)
      for (const referer of [
        '',
        'http://[',
        'no url',
        '/posts',
        'http:evil.example',
        '//evil.example',
        'https://evil.example/',
        'javascript:alert(1)',
      ]) {
        expect(await backFrom(referer, '/go?to=/fallback'), referer).to.equal('/fallback')
      }
      expect(await backFrom('', '/go')).to.equal('/')
      expect(await backFrom('', '/go?to=http:evil.example')).to.equal(400)
    })

    it("use no headers of an error that isn't meant as a response", async () => {
      const app = new App({ api: true })
      const headers = { 'set-cookie': 'upstream=1', 'content-encoding': 'gzip' }
      app.get('/', () => {
        throw Object.assign(new Error('upstream'), { status: 404, headers })
      })
      await visit(app)
      const response = await site?.get('/')
      expect(response?.status).to.equal(500)
      expect(response?.headers.get('set-cookie')).to.equal(null)
    })

    it('reject a redirect with another status', () => {
      expect(() => new App().redirect('/a', '/b', 200)).to.throw(
        '/a redirects with the status 200. Use 301, 302, 303, 307 or 308.',
      )
    })

    it('reject a redirect to an unknown parameter', () => {
      expect(() => new App().redirect('/a/{id}', '/b/{nope}')).to.throw(
        '/a/{id} redirects to /b/{nope}, but has no parameter "nope".',
      )
      expect(() => new App().redirect('/a/{id}', '/b?id={id}#{nope}')).to.throw('has no parameter "nope".')
    })

    it('reject a parameter that occurs in the host and in the path', () => {
      expect(() => new App().host('{t}.example.com').get('/h/{t}', text(''))).to.throw(
        'both have the parameter "t"',
      )
    })

    it('accept the absolute form of a target, as proxies send it', async () => {
      const app = new App()
      app.get('/here', text('here'))
      await visit(app)
      for (const [target, status] of [
        ['http://evil.example/here', 200],
        ['http://', 404],
        ['http://[bad/p', 404],
        ['ftp://[x/', 404],
      ] as const) {
        const response = await site?.raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
        expect(response, target)
          .to.match(new RegExp(`^HTTP/1.1 ${status} `))
          .and.to.match(/X-Request-Id: /i)
      }
    })

    it('handle an Error that a handler returns like one that it throws', async () => {
      const app = new App({ api: true })
      app.get('/returned', () => Object.assign(new Error('gone'), { status: 410, expose: true }))
      await visit(app)
      const response = await site?.get('/returned', { accept: 'application/json' })
      expect([response?.status, response?.json.detail]).to.deep.equal([410, 'gone'])
    })

    it('return 500 if a handler ends without a response', async () => {
      const lines: string[] = []
      const app = new App({ api: true, logger: pino({}, { write: (line: string) => lines.push(line) }) })
      app.get('/nothing', function forgetful() {})
      await visit(app)
      const response = await site?.get('/nothing', { accept: 'application/json' })
      expect([response?.status, response?.json.detail]).to.deep.equal([500, undefined])
      expect(lines.join()).to.contain(
        'forgetful ended without a response. Call ctx.respond or ctx.seeOther, or set ctx.body.',
      )
    })
  })

  describe('app.resource(path, resource)', () => {
    it('adds the routes of the explicit path', () => {
      const app = new App()
      app.group('/admin').resource('/planes', PostsResource)
      expect(app.routes.map((route) => `${route.method} ${route.path} ${route.name}`)).to.deep.equal([
        'GET /admin/planes adminPlanesPath',
        'POST /admin/planes adminPlanesPath',
        'GET /admin/planes/{plane_id} adminPlanePath',
        'PUT /admin/planes/{plane_id} adminPlanePath',
        'DELETE /admin/planes/{plane_id} adminPlanePath',
      ])
    })

    it('nests in the same way with @Parent and with the registration of the parent', () => {
      const [decorated, explicit] = [new App(), new App()]
      decorated.resource(PostsResource)
      decorated.resource(CommentsResource)
      explicit.resource(PostsResource).resource('/comments', CommentsResource)
      const paths = (app: App) => app.routes.map((route) => `${route.method} ${route.path} ${route.name}`)
      expect(paths(explicit)).to.deep.equal(paths(decorated))
      expect(paths(decorated)).to.include('GET /posts/{post_id}/comments postCommentsPath')
    })

    it('nests to any depth', () => {
      const app = new App()
      const likes = app.resource(PostsResource).resource(CommentsResource).resource('/likes', PostsResource)
      likes.get('/undo', text('undone'))
      expect(app.pathFor('postCommentLikePath', { post_id: 1, comment_id: 2, like_id: 3 })).to.equal(
        '/posts/1/comments/2/likes/3',
      )
      expect(app.pathFor('postCommentLikeUndoPath', 1, 2, 3)).to.equal('/posts/1/comments/2/likes/3/undo')
    })

    it('renames the parameter', async () => {
      @Resource('/pages', { param: 'slug' })
      class PagesResource extends BaseResource {
        override show(ctx: Context) {
          ctx.body = ctx.params
        }
      }
      const app = new App({ api: true })
      app.resource(PagesResource)
      await visit(app)
      expect((await site?.get('/pages/about'))?.json).to.deep.equal({ slug: 'about' })
    })

    it('accepts a class that has the five handlers without extending BaseResource', async () => {
      class Plain {
        list = undefined
      }
      // @ts-expect-error: it lacks handlers
      expect(() => new App().resource('/plain', Plain)).to.throw(
        'Plain does not have the required handler list, create, show, update, destroy. Write it as a method, or extend BaseResource, which returns 404.',
      )
      class Complete {
        list(ctx: Context) {
          ctx.body = 'listed'
        }
        create(ctx: Context) {
          ctx.body = 'created'
        }
        show(ctx: Context) {
          ctx.body = 'shown'
        }
        update(ctx: Context) {
          ctx.body = 'updated'
        }
        destroy(ctx: Context) {
          ctx.body = 'destroyed'
        }
      }
      const app = new App({ api: true })
      app.resource('/things', Complete)
      await visit(app)
      expect((await site?.get('/things'))?.text).to.equal('listed')
      expect((await site?.request('DELETE', '/things/1'))?.text).to.equal('destroyed')
      expect(app.routes).to.have.length(5)
    })

    it('counts a handler of a shared base class as implemented', () => {
      class Shared extends BaseResource {
        override new(ctx: Context) {
          ctx.body = 'form'
        }
      }
      @Resource('/shared')
      class SharedResource extends Shared {}
      const app = new App()
      app.resource(SharedResource)
      expect(app.routes.map((route) => route.handlerName)).to.include('SharedResource.new')
      expect(app.routes.map((route) => route.handlerName)).not.to.include('SharedResource.edit')
    })

    it('rejects a parent that is not declared yet', () => {
      expect(() => new App().resource(CommentsResource)).to.throw(
        'The parent of CommentsResource, PostsResource, is not declared yet. Declare resource(PostsResource) above it, in the same group or host.',
      )
    })

    it('nests in the same group or host, or in that of the given parent', () => {
      const app = new App()
      const posts = app.resource(PostsResource)
      app.host('admin.example.com', (admin) => {
        expect(() => admin.resource(CommentsResource)).to.throw('PostsResource, is declared elsewhere.')
      })
      app.group('/admin', (admin) => {
        expect(() => admin.resource(CommentsResource)).to.throw('PostsResource, is declared elsewhere.')
        admin.resource('/articles', PostsResource)
        admin.resource(CommentsResource)
      })
      expect(() => app.resource(CommentsResource)).to.throw('PostsResource, is declared more than once.')
      posts.group('/x', (group) => group.resource(CommentsResource))
      const lists = app.routes.filter((route) => route.handlerName === 'CommentsResource.list')
      expect(lists.map((route) => route.path)).to.deep.equal([
        '/admin/articles/{article_id}/comments',
        '/posts/{post_id}/x/comments',
      ])
    })

    it("rejects a value that isn't a class", () => {
      // @ts-expect-error: the compiler reports this mistake
      expect(() => new App().resource(undefined)).to.throw(
        'resource() expects a resource class, not undefined.',
      )
      // @ts-expect-error: the value of an import in a circle
      expect(() => Parent(undefined)).to.throw('@Parent received undefined instead of a class.')
    })

    it('rejects a class without a path', () => {
      class Pathless extends BaseResource {}
      expect(() => new App().resource(Pathless)).to.throw(
        "Pathless has no path. Decorate it with @Resource('/...'), or pass the path to resource().",
      )
    })

    it('rejects a path without a name', () => {
      expect(() => new App().resource('/', PostsResource)).to.throw(
        'does not end in a word that can name its routes',
      )
      expect(() => new App().resource('/posts/{id}', PostsResource)).to.throw('does not end in a word')
    })

    it('rejects two paths with the same name', () => {
      const app = new App()
      app.resource(PostsResource)
      expect(() => app.group('/{tenant}').resource('/posts', PostsResource)).to.throw(
        'Two routes are named "postsPath": /posts (PostsResource.list) and /{tenant}/posts (PostsResource.list).',
      )
    })
  })

  describe('app.listen()', () => {
    it('warns about routes that an earlier declaration shadows', async () => {
      const lines: string[] = []
      const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line).msg) })
      const app = new App({ logger })
      app.resource(PostsResource)
      app.get('/posts/archive', text('never'))
      app.post('/posts/archive', text('reached'))
      app.get('/archive', text('reached'), { aliases: ['/posts/old'] })
      app.get('/up', text('never'))
      app.static('/', 'public')
      app.get('/late', text('never'))
      await app.listen(0)
      await app.close()
      expect(lines).to.deep.equal([
        'GET /posts/archive (text) is never reached: GET /posts/{post_id} (PostsResource.show) is declared before it and matches the same requests.',
        'GET /posts/old (text) is never reached: GET /posts/{post_id} (PostsResource.show) is declared before it and matches the same requests.',
        'GET /up (text) is never reached: the framework uses this path for its health check.',
        'GET /late (text) is never reached: the static files at / are declared before it. Declare them last.',
      ])
    })

    it('warns about methods that differ by one letter from a handler that the resource lacks', async () => {
      const lines: string[] = []
      const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(JSON.parse(line).msg) })
      class BooksResource extends BaseResource {
        override show() {}
        /** Not a misspelling of `show`, which the class also has. */
        shown() {}
        lsit() {}
        update2() {}
        find() {}
      }
      class OldBooksResource extends BooksResource {
        destory() {}
      }
      const app = new App({ logger })
      app.resource('/books', BooksResource)
      app.resource('/old_books', OldBooksResource)
      await app.start()
      await app.close()
      const warning = (resource: string, method: string, handler: string) =>
        `${resource} has a method "${method}", but no handler "${handler}". ` +
        `If "${method}" is a misspelling, rename it, because no route calls it.`
      expect(lines).to.deep.equal([
        warning('BooksResource', 'lsit', 'list'),
        warning('BooksResource', 'update2', 'update'),
        warning('OldBooksResource', 'lsit', 'list'),
        warning('OldBooksResource', 'update2', 'update'),
        warning('OldBooksResource', 'destory', 'destroy'),
      ])
    })

    it('logs its address, and rejects a port that is in use', async () => {
      const [app, other] = [new App(), new App()]
      const address = await app.listen(0)
      expect(address).to.match(/^http:\/\/127\.0\.0\.1:\d+$/)
      const failure = await other.listen(Number(new URL(address).port)).catch((error: unknown) => error)
      expect(failure)
        .to.be.an('error')
        .with.property('message')
        .that.matches(/^Port \d+ is in use by another process\./)
      await app.close()
    })

    it('rejects an invalid PORT', async () => {
      const before = process.env['PORT']
      process.env['PORT'] = 'abc'
      const failure = await new App().listen().catch((error: unknown) => error)
      expect(failure).to.have.property(
        'message',
        `PORT is "abc", which isn't a valid port. Set it to a number from 0 to 65535.`,
      )
      if (before === undefined) delete process.env['PORT']
      else process.env['PORT'] = before
    })

    it('reads the time after the stop signal from DRAIN_DELAY', async () => {
      process.env['DRAIN_DELAY'] = 'soon'
      expect(() => new App()).to.throw(
        'DRAIN_DELAY is "soon". Set it to a number of milliseconds, for example 3000.',
      )
      process.env['DRAIN_DELAY'] = '300'
      const lines: string[] = []
      const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
      const app = new App({ logger })
      delete process.env['DRAIN_DELAY']
      app.get('/', (ctx) => void (ctx.body = 'home'))
      const address = await app.listen(0)
      const closing = app.close()
      expect((await fetch(`${address}/up`)).status).to.equal(503)
      expect((await fetch(address)).status).to.equal(200)
      await closing
      // A load balancer may ask each second.
      expect(lines).to.deep.equal([])
    })

    it('closes although a connection without a request is open', async () => {
      const app = new App({ drainTimeout: 60_000 })
      const { port } = new URL(await app.listen(0))
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      await Promise.all([app.close(), once(socket, 'close')])
    })

    it('starts, checks and stops the extensions of middleware', async () => {
      const calls: string[] = []
      const middleware: Middleware = Object.assign(mark('held'), {
        extension: {
          start: async () => void calls.push('start'),
          check: async () => void calls.push('check'),
          stop: async () => void calls.push('stop'),
        },
      })
      const app = new App()
      app.group('/deep', (group) => group.use(middleware).get('/', text('deep')))
      const address = await app.listen(0)
      expect((await fetch(`${address}/up`)).status).to.equal(200)
      await app.close()
      expect(calls).to.deep.equal(['start', 'check', 'stop'])
    })

    it('returns 503 for /up if a check fails', async () => {
      const app = new App()
      const extension = { check: () => Promise.reject(new Error('no database')) }
      app.use(Object.assign(mark('sick'), { extension }))
      const { get } = await visit(app).then((it) => ({ get: it.get.bind(it) }))
      expect((await get('/up')).status).to.equal(503)
    })

    it('logs no error of a check that fails because the application closes', async () => {
      const { logger, lines } = captureLog()
      const app = new App({ logger, drainDelay: 0 })
      let fail = (_error: Error): void => {}
      let began = (): void => {}
      const isChecking = new Promise<void>((resolve) => (began = resolve))
      const check = () =>
        new Promise<void>((_resolve, reject) => {
          fail = reject
          began()
        })
      app.use(Object.assign(mark('closed'), { extension: { check } }))
      const response = fetch(`${await app.listen(0)}/up`)
      await isChecking
      const closed = app.close()
      fail(new Error('the database is closed'))
      expect((await response).status).to.equal(503)
      await closed
      expect(lines.filter(({ level }) => Number(level) >= 40)).to.deep.equal([])
    })

    it('completes the requests in flight when it closes', async () => {
      const app = new App()
      let finish = () => {}
      let started = () => {}
      const isUnderWay = new Promise<void>((resolve) => (started = resolve))
      app.get('/slow', async (ctx) => {
        started()
        await new Promise<void>((resolve) => (finish = resolve))
        ctx.body = 'finished'
      })
      const address = await app.listen(0)
      const response = fetch(`${address}/slow`)
      await isUnderWay
      const closed = app.close()
      const meanwhile = await fetch(address)
      expect([meanwhile.status, meanwhile.headers.get('connection')]).to.deep.equal([404, 'close'])
      expect(await fetch(address).catch((error: unknown) => error)).to.be.an('error')
      finish()
      expect(await (await response).text()).to.equal('finished')
      await closed
    })
  })

  describe('app.static(path, folder)', () => {
    it("serves files for GET and HEAD below its path, and isn't a route", async () => {
      const app = new App()
      app.get('/home', text('home'))
      app.static('/assets', fileURLToPath(new URL('../../../public', import.meta.url)))
      await visit(app)
      expect((await site?.get('/assets/kit.css'))?.headers.get('content-type')).to.contain('text/css')
      expect((await site?.request('HEAD', '/assets/kit.css'))?.status).to.equal(200)
      expect((await site?.post('/assets/kit.css'))?.status).to.equal(404)
      expect((await site?.get('/assets/nope.css'))?.status).to.equal(404)
    })

    it('serves the files of a virtual host on that host only', async () => {
      const app = new App()
      const folder = fileURLToPath(new URL('../../../public', import.meta.url))
      app.host('a.example.com', (host) => host.static('/files', folder))
      await visit(app)
      const get = (host: string) =>
        site?.raw(`GET /files/kit.css HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      expect(await get('a.example.com')).to.contain('200 OK')
      expect(await get('b.example.com')).to.contain('404 Not Found')
    })

    it('handles every path of GET before later declarations', async () => {
      const app = new App()
      app.static('/', fileURLToPath(new URL('../../../public', import.meta.url)))
      app.get('/late', text('late'))
      app.post('/late', text('posted'))
      await visit(app)
      expect((await site?.get('/late'))?.status).to.equal(404)
      expect((await site?.post('/late'))?.text).to.equal('posted')
    })
  })

  describe('The request id', () => {
    it('is generated, or read from the request', async () => {
      const app = new App()
      await visit(app)
      expect((await site?.get('/nope'))?.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
      const given = await site?.get('/nope', {
        headers: { 'X-Request-Id': 'trace_1.2-3' },
        accept: 'application/json',
      })
      expect(given?.headers.get('x-request-id')).to.equal('trace_1.2-3')
      expect(given?.json.request_id).to.equal('trace_1.2-3')
      for (const bad of ['a b', 'x'.repeat(129), '<script>']) {
        const response = await site?.get('/nope', { headers: { 'X-Request-Id': bad } })
        expect(response?.headers.get('x-request-id')).not.to.equal(bad)
      }
    })
  })

  describe('sessions', () => {
    it('require a secret in production', () => {
      const before = process.env['SESSION_SECRET']
      delete process.env['SESSION_SECRET']
      expect(() => new App({ env: 'production' }).callback()).to.throw(
        'Set SESSION_SECRET to a long random text. `kit generate secret` prints one.',
      )
      expect(() => new App({ env: 'production', api: true }).callback()).not.to.throw()
      if (before !== undefined) process.env['SESSION_SECRET'] = before
    })
  })

  it('returns "no transaction found" if a handler needs a transaction and has none', async () => {
    const app = new App({ api: true, env: 'production' })
    app.get('/', (ctx) => ctx.tx)
    await visit(app)
    const response = await site?.get('/', { accept: 'application/json' })
    expect([response?.status, response?.json.detail]).to.deep.equal([500, 'no transaction found'])
  })

  it('hides the details of an unexpected error in production, and shows them in development', async () => {
    const handler = () => {
      throw new Error('password is hunter2')
    }
    for (const [env, isShown] of [
      ['production', false],
      ['development', true],
    ] as const) {
      const app = new App({ env, api: true, logger: pino({ level: 'silent' }) })
      app.get('/', handler)
      await visit(app)
      for (const accept of ['application/json', 'application/xml', 'text/html']) {
        const response = await site?.get('/', { accept })
        expect(response?.status).to.equal(500)
        expect(response?.text.includes('hunter2'), `${env} ${accept}`).to.equal(isShown)
        expect(response?.text).to.contain(response?.headers.get('x-request-id'))
      }
      await site?.close()
    }
    site = undefined
  })

  describe('env', () => {
    const seen: string[] = []

    function appOf(env: string, own?: string): App {
      const app = new App({ env, api: true, proxy: 0, logger: pino({ level: 'silent' }) })
      const options = own === undefined ? {} : { env: own }
      const witness: Middleware = Object.assign((_: Context, next: () => Promise<void>) => next(), {
        extension: { start: async (_: unknown, started: string) => void seen.push(started) },
      })
      app.use(witness)
      app.use(forceSSL(options))
      app.use(securityHeaders(options))
      app.get('/', (ctx) => (ctx.body = ctx.env))
      return app
    }

    async function answersOf(app: App): Promise<unknown[]> {
      await visit(app)
      const response = await site?.get('/')
      const policy = response?.headers.get('content-security-policy') ?? ''
      await site?.close()
      site = undefined
      return [response?.status, policy.includes('upgrade-insecure-requests')]
    }

    it('decides for the middleware of the application, whatever GO_ENV is', async () => {
      expect(await answersOf(appOf('production'))).to.deep.equal([301, true])
      expect(await answersOf(appOf('staging'))).to.deep.equal([200, false])
      expect(seen).to.deep.equal(['production', 'staging'])
    })

    it('yields to the option env of a middleware', async () => {
      expect(await answersOf(appOf('production', 'staging'))).to.deep.equal([200, false])
      expect((await answersOf(appOf('staging', 'production')))[0]).to.equal(301)
    })
  })
})
