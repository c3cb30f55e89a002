import { expect } from 'chai'
import type { Next } from 'koa'
import { container, inject, injectable, Lifecycle, registry, scoped, singleton } from 'tsyringe'
import {
  App,
  BaseResource,
  Resource,
  Route,
  Use,
  type Context,
  type Middleware,
  type MiddlewareClass,
} from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { text } from '../support/marks.js'
import { Site } from '../support/site.js'

let site: Site | undefined

async function visit(app: App): Promise<Site> {
  site = await Site.open(app)
  return site
}

afterEach(async () => {
  await site?.close()
  site = undefined
})

@injectable()
class Clock {
  now() {
    return 'now'
  }
}

/** A middleware class whose instances count themselves in a header. */
function counting(): new (clock: Clock) => MiddlewareClass {
  let instances = 0
  @injectable()
  class Counting implements MiddlewareClass {
    readonly number = ++instances
    constructor(private readonly clock: Clock) {}

    async handle(ctx: Context, next: Next) {
      await next()
      ctx.append('X-Marks', `${this.clock.now()} ${this.number}`)
    }
  }
  return Counting
}

describe('Injection', () => {
  describe('of resources', () => {
    it('injects the dependencies of a resource, and creates one instance for each request', async () => {
      let instances = 0
      @Resource('/times')
      class TimesResource extends BaseResource {
        readonly number = ++instances
        constructor(private readonly clock: Clock) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = `${this.clock.now()} ${this.number}`
        }
      }
      const app = new App({ api: true })
      app.resource(TimesResource)
      await visit(app)
      expect((await site?.get('/times'))?.text).to.equal('now 1')
      expect((await site?.get('/times'))?.text).to.equal('now 2')
    })

    it('shares scoped dependencies within a request, and disposes of them after it', async () => {
      const disposed: number[] = []
      let made = 0
      @scoped(Lifecycle.ContainerScoped)
      class Basket {
        readonly number = ++made
        dispose() {
          disposed.push(this.number)
        }
      }
      @injectable()
      class Prices {
        constructor(readonly basket: Basket) {}
      }
      @Resource('/baskets')
      class BasketsResource extends BaseResource {
        constructor(
          private readonly basket: Basket,
          private readonly prices: Prices,
        ) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = { same: this.basket === this.prices.basket, number: this.basket.number }
        }
      }
      const app = new App({ api: true })
      app.resource(BasketsResource)
      await visit(app)
      expect((await site?.get('/baskets'))?.json).to.deep.equal({ same: true, number: 1 })
      expect((await site?.get('/baskets'))?.json).to.deep.equal({ same: true, number: 2 })
      expect(disposed).to.deep.equal([1, 2])
    })

    it('rejects a singleton that depends on something scoped, also indirectly', () => {
      @scoped(Lifecycle.ContainerScoped)
      class CurrentUser {}
      @injectable()
      class Policy {
        constructor(readonly user: CurrentUser) {}
      }
      @singleton()
      class Cache {
        constructor(readonly policy: Policy) {}
      }
      @Resource('/cached')
      class CachedResource extends BaseResource {
        constructor(readonly cache: Cache) {
          super()
        }
      }
      expect(() => new App().resource(CachedResource)).to.throw(
        'The singleton Cache depends on CurrentUser, which is created for each request (CachedResource -> Cache -> Policy -> CurrentUser)',
      )
    })

    it("rejects a dependency that isn't a class", () => {
      @Resource('/numbers')
      class NumbersResource extends BaseResource {
        constructor(readonly number: number) {
          super()
        }
      }
      expect(() => new App().resource(NumbersResource)).to.throw(
        "Parameter 1 of the constructor of NumbersResource isn't a class, so its dependency is unknown.",
      )
    })

    it('resolves dependencies of tokens', () => {
      @scoped(Lifecycle.ContainerScoped)
      class Visitor {}
      @registry([{ token: 'visitor', useToken: Visitor }])
      @singleton()
      class Counter {
        constructor(@inject('visitor') readonly visitor: unknown) {}
      }
      @Resource('/counted')
      class CountedResource extends BaseResource {
        constructor(readonly counter: Counter) {
          super()
        }
      }
      expect(() => new App().resource(CountedResource)).to.throw('The singleton Counter depends on Visitor')
    })
    it('reaches a subclass that has no decorator', async () => {
      @injectable()
      class Prices {
        constructor(readonly clock: Clock) {}
      }
      class SpecialPrices extends Prices {}
      @Resource('/prices')
      class PricesResource extends BaseResource {
        constructor(private readonly prices: SpecialPrices) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = this.prices.clock.now()
        }
      }
      const app = new App({ api: true })
      app.resource(PricesResource)
      await visit(app)
      expect((await site?.get('/prices'))?.text).to.equal('now')
    })

    it('does not dispose of a singleton after the request that has created it', async () => {
      let isDisposed = false
      @singleton()
      class Pool {
        dispose() {
          isDisposed = true
        }
      }
      @injectable()
      class Queries {
        constructor(readonly pool: Pool) {}
      }
      @Resource('/queries')
      class QueriesResource extends BaseResource {
        constructor(readonly queries: Queries) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = 'list'
        }
      }
      const app = new App({ api: true })
      app.resource(QueriesResource)
      await visit(app)
      await site?.get('/queries')
      expect(isDisposed).to.equal(false)
    })

    it('accepts a class with unknown parameters that is registered as a value or a factory', async () => {
      class Mailer {
        constructor(readonly url: string) {}
      }
      const services = container.createChildContainer()
      services.register(Mailer, { useValue: new Mailer('smtp://one') })
      services.register('mailer', { useFactory: () => new Mailer('smtp://two') })
      @Resource('/mails')
      class MailsResource extends BaseResource {
        constructor(
          private readonly mailer: Mailer,
          @inject('mailer') private readonly other: Mailer,
        ) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = `${this.mailer.url} ${this.other.url}`
        }
      }
      const app = new App({ api: true, container: services })
      app.resource(MailsResource)
      await visit(app)
      expect((await site?.get('/mails'))?.text).to.equal('smtp://one smtp://two')
    })

    it('rejects a dependency whose own parameters are unknown', () => {
      class Mailer {
        constructor(readonly clock: Clock) {}
      }
      @Resource('/mails')
      class MailsResource extends BaseResource {
        constructor(readonly mailer: Mailer) {
          super()
        }
      }
      expect(() => new App().resource(MailsResource)).to.throw(
        'The constructor of Mailer has parameters of unknown types. Decorate the class with @Resource if it is a resource, otherwise with @injectable(), and enable "emitDecoratorMetadata" in tsconfig.json.',
      )
    })

    it('rejects a resource that is a singleton', () => {
      @Resource('/counters')
      @singleton()
      class CountersResource extends BaseResource {}
      expect(() => new App().resource(CountersResource)).to.throw(
        'CountersResource is registered as a singleton, but each request needs its own instance. Replace @singleton() with @injectable(), and keep shared data in another class.',
      )
    })

    it('checks a dependency that many others share only once', () => {
      // Between the first and the last layer, there are 4 to the power of 20 paths.
      let layer: Function[] = []
      for (let depth = 0; depth < 20; depth += 1) {
        layer = Array.from({ length: 4 }, () => {
          class Service {}
          Reflect.defineMetadata('design:paramtypes', layer, Service)
          return Service
        })
      }
      class ServicesResource extends BaseResource {}
      Reflect.defineMetadata('design:paramtypes', layer, ServicesResource)
      const app = new App({ api: true })
      app.resource('/services', ServicesResource)
      expect(app.routes).to.have.length(5)
    })

    it('rejects a token that is not registered, unless it is optional', () => {
      @Resource('/mails')
      class MailsResource extends BaseResource {
        constructor(
          readonly clock: Clock,
          @inject('missing', { isOptional: true }) readonly optional: unknown,
          @inject('absent') readonly mailer: unknown,
        ) {
          super()
        }
      }
      expect(() => new App().resource(MailsResource)).to.throw(
        'Parameter 3 of the constructor of MailsResource injects "absent", which isn\'t registered. Register it before the class is used, for example at the top of src/app.ts.',
      )
    })
  })

  describe('of middleware classes', () => {
    it('creates an instance for each request, for the routes that are declared below', async () => {
      const app = new App({ api: true })
      app.get('/before', text('before'))
      app.use(counting())
      app.get('/after', text('after'))
      await visit(app)
      expect((await site?.get('/before'))?.headers.get('x-marks')).to.equal(null)
      expect((await site?.get('/after'))?.headers.get('x-marks')).to.equal('now 1')
      expect((await site?.get('/after'))?.headers.get('x-marks')).to.equal('now 2')
    })

    it('reaches classes in a group, on a virtual host, and next to functions', async () => {
      const before: Middleware = (ctx, next) => {
        ctx.append('X-Marks', 'function')
        return next()
      }
      const app = new App({ api: true })
      app.group('/admin', (admin) => admin.use(before, counting()).get('/', text('admin')))
      app.get('/public', text('public'))
      await visit(app)
      expect((await site?.get('/admin'))?.headers.get('x-marks')).to.equal('function, now 1')
      expect((await site?.get('/public'))?.headers.get('x-marks')).to.equal(null)
    })

    it('reaches classes of @Use, on a class and on a method', async () => {
      const OfClass = counting()
      const OfMethod = counting()
      @Resource('/posts')
      @Use(OfClass, { except: ['list'] })
      class PostsResource extends BaseResource {
        override list(ctx: Context) {
          ctx.body = 'list'
        }
        override show(ctx: Context) {
          ctx.body = 'show'
        }
        @Use(OfMethod)
        @Route('GET', '/drafts')
        drafts(ctx: Context) {
          ctx.body = 'drafts'
        }
      }
      const app = new App({ api: true })
      app.resource(PostsResource).get('/first', text('first'))
      await visit(app)
      expect((await site?.get('/posts'))?.headers.get('x-marks')).to.equal(null)
      expect((await site?.get('/posts/1'))?.headers.get('x-marks')).to.equal('now 1')
      expect((await site?.get('/posts/drafts'))?.headers.get('x-marks')).to.equal('now 1, now 2')
      expect((await site?.get('/posts/1/first'))?.headers.get('x-marks')).to.equal('now 3')
    })

    it('runs once for a nested resource whose parent is below the same middleware', async () => {
      const Counting = counting()
      const app = new App({ api: true })
      app.use(Counting)
      const posts = app.resource('/posts', BaseResource)
      posts.get('/first', text('first'))
      await visit(app)
      expect((await site?.get('/posts/1/first'))?.headers.get('x-marks')).to.equal('now 1')
    })

    it('shares scoped dependencies with the resource of the same request, and disposes of them after the request', async () => {
      const disposed: string[] = []
      @scoped(Lifecycle.ContainerScoped)
      class CurrentUser {
        name = 'nobody'
        dispose() {
          disposed.push(this.name)
        }
      }
      @injectable()
      class Authenticate implements MiddlewareClass {
        constructor(private readonly user: CurrentUser) {}
        async handle(ctx: Context, next: Next) {
          this.user.name = ctx.get('X-User')
          await next()
          ctx.set('X-Disposed', String(disposed.length))
        }
      }
      @Resource('/profiles')
      class ProfilesResource extends BaseResource {
        constructor(private readonly user: CurrentUser) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = this.user.name
        }
      }
      const app = new App({ api: true })
      app.use(Authenticate)
      app.resource(ProfilesResource)
      const opened = await visit(app)
      const [ada, bob] = await Promise.all(
        ['ada', 'bob'].map((name) => opened.get('/profiles', { headers: { 'X-User': name } })),
      )
      expect([ada?.text, bob?.text]).to.deep.equal(['ada', 'bob'])
      expect(ada?.headers.get('x-disposed')).to.equal('0')
      expect(disposed.toSorted()).to.deep.equal(['ada', 'bob'])
    })

    it('creates what is scoped again for a retried request, unless a class above the retry has created it', async () => {
      let made = 0
      @scoped(Lifecycle.ContainerScoped)
      class Basket {
        readonly number = ++made
      }
      @injectable()
      class Above implements MiddlewareClass {
        constructor(readonly basket: Basket) {}
        handle(_ctx: Context, next: Next) {
          return next()
        }
      }
      @Resource('/baskets')
      class BasketsResource extends BaseResource {
        constructor(private readonly basket: Basket) {
          super()
        }
        override list(ctx: Context) {
          ctx.append('X-Marks', String(this.basket.number))
          ctx.body = 'list'
        }
      }
      const twice: Middleware = async (_ctx, next) => {
        await next()
        await next()
      }
      twice.callsAgain = true
      const app = new App({ api: true })
      app.group('/alone', (alone) => alone.use(twice).resource(BasketsResource))
      app.group('/below', (below) => below.use(Above, twice).resource(BasketsResource))
      await visit(app)
      expect((await site?.get('/alone/baskets'))?.headers.get('x-marks')).to.equal('1, 2')
      expect((await site?.get('/below/baskets'))?.headers.get('x-marks')).to.equal('3, 3')
    })

    it('disposes after a request that fails', async () => {
      let disposed = 0
      @injectable()
      class Failing implements MiddlewareClass {
        constructor(readonly clock: Clock) {}
        handle() {
          throw new Error('It fails.')
        }
        dispose() {
          disposed += 1
        }
      }
      const app = new App({ api: true, logger: captureLog().logger })
      app.use(Failing)
      app.get('/', text('never'))
      await visit(app)
      expect((await site?.get('/'))?.status).to.equal(500)
      expect(disposed).to.equal(1)
    })

    it('needs no decorator without dependencies', async () => {
      class Plain implements MiddlewareClass {
        handle(ctx: Context, next: Next) {
          ctx.set('X-Marks', 'plain')
          return next()
        }
      }
      const app = new App({ api: true })
      app.use(Plain)
      app.get('/', text('home'))
      await visit(app)
      expect((await site?.get('/'))?.headers.get('x-marks')).to.equal('plain')
    })

    it('checks the dependencies at the start', () => {
      @injectable()
      class Audit implements MiddlewareClass {
        constructor(readonly limit: number) {}
        handle(_ctx: Context, next: Next) {
          return next()
        }
      }
      expect(() => new App().use(Audit)).to.throw(
        "Parameter 1 of the constructor of Audit isn't a class, so its dependency is unknown. Use a class, or @inject with a token.",
      )
    })

    class NotMiddleware {
      run() {}
    }
    class Plain implements MiddlewareClass {
      handle(_ctx: Context, next: Next) {
        return next()
      }
    }
    it('does not compile for a class without the method "handle"', () => {
      // @ts-expect-error: it has no method of this name
      expect(() => new App().use(NotMiddleware)).to.throw('app.use received the class NotMiddleware')
      // @ts-expect-error: the same
      expect(() => Use(NotMiddleware)).to.throw('@Use received the class NotMiddleware')
    })

    const rejected: Record<string, [value: unknown, message: string]> = {
      'a class without the method "handle"': [
        NotMiddleware,
        'received the class NotMiddleware, which isn\'t middleware, because it has no method "handle". Pass a function or a class with the method "handle(ctx: Context, next: Next)".',
      ],
      'a resource': [
        BaseResource,
        'received the class BaseResource, which isn\'t middleware, because it has no method "handle". Pass a function or a class with the method "handle(ctx: Context, next: Next)".',
      ],
      'an instance of a middleware class': [
        new Plain(),
        'expects middleware functions or classes, not an instance of Plain. Pass the class itself, so that each request has an instance.',
      ],
      'a list': [[Plain], 'expects middleware functions or classes, not an object.'],
      'a text': ['audit', 'expects middleware functions or classes, not audit.'],
      undefined: [undefined, 'expects middleware functions or classes, not undefined.'],
    }
    for (const [what, [value, message]] of Object.entries(rejected)) {
      it(`rejects ${what}`, () => {
        expect(() => new App().use(value as Middleware)).to.throw(`app.use ${message}`)
        expect(() => Use(value as Middleware)).to.throw(`@Use ${message}`)
      })
    }
  })

  describe('new App({ container })', () => {
    @injectable()
    class Greeting {
      constructor(@inject('greeting') readonly text: string) {}
    }
    @Resource('/greetings')
    class GreetingsResource extends BaseResource {
      constructor(private readonly greeting: Greeting) {
        super()
      }
      override list(ctx: Context) {
        ctx.body = this.greeting.text
      }
    }

    function appSaying(greeting: string): App {
      const services = container.createChildContainer()
      services.register('greeting', { useValue: greeting })
      const app = new App({ api: true, container: services })
      app.resource(GreetingsResource)
      return app
    }

    it('keeps the registrations of two applications apart', async () => {
      const one = await Site.open(appSaying('one'))
      const two = await Site.open(appSaying('two'))
      const texts = [(await one.get('/greetings')).text, (await two.get('/greetings')).text]
      await one.close()
      await two.close()
      expect(texts).to.deep.equal(['one', 'two'])
    })

    it('resolves the registrations that decorators of classes make, also scoped ones, once for each request', async () => {
      const services = container.createChildContainer()
      let made = 0
      @scoped(Lifecycle.ContainerScoped)
      class Basket {
        readonly number = ++made
      }
      @Resource('/baskets')
      class BasketsResource extends BaseResource {
        constructor(private readonly basket: Basket) {
          super()
        }
        override list(ctx: Context) {
          ctx.body = String(this.basket.number)
        }
      }
      const app = new App({ api: true, container: services })
      app.resource(BasketsResource)
      await visit(app)
      expect((await site?.get('/baskets'))?.text).to.equal('1')
      expect((await site?.get('/baskets'))?.text).to.equal('2')
    })
  })
})
