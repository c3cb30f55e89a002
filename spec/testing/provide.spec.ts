import { expect } from 'chai'
import type { Next } from 'koa'
import { container, inject, injectable, Lifecycle, scoped, singleton } from 'tsyringe'
import { App, BaseResource, Database, Resource, type Context, type MiddlewareClass } from '../../src/index.js'
import { testApplication } from '../../src/testing/index.js'

let connections = 0

@singleton()
class Connection {
  readonly host = 'smtp.example.com'
  constructor() {
    connections += 1
  }
}

@injectable()
class Mailer {
  constructor(private readonly connection: Connection) {}
  send(text: string): string {
    return `${text} by ${this.connection.host}`
  }
}

@singleton()
class Campaign {
  count = 0
  constructor(readonly mailer: Mailer) {}
  send() {
    this.count += 1
    return `${this.mailer.send('campaign')} (${this.count})`
  }
}

@singleton()
class Visits {
  count = 0
}

@scoped(Lifecycle.ContainerScoped)
class CurrentUser {
  readonly name: string = 'ada'
}

@injectable()
class Stamp implements MiddlewareClass {
  constructor(private readonly mailer: Mailer) {}

  handle(ctx: Context, next: Next) {
    ctx.set('X-Stamp', this.mailer.send('stamp'))
    return next()
  }
}

class Plain implements MiddlewareClass {
  handle(ctx: Context, next: Next) {
    ctx.set('X-Plain', 'real')
    return next()
  }
}

@Resource('/mails')
class MailsResource extends BaseResource {
  constructor(
    private readonly mailer: Mailer,
    private readonly campaign: Campaign,
    private readonly visits: Visits,
    private readonly user: CurrentUser,
    @inject('greeting') private readonly greeting: string,
  ) {
    super()
  }

  override list(ctx: Context) {
    this.visits.count += 1
    ctx.body = {
      mail: this.mailer.send('mail'),
      campaign: this.campaign.send(),
      visits: this.visits.count,
      user: this.user.name,
      greeting: this.greeting,
    }
  }
}

const services = container.createChildContainer()
services.register('greeting', { useValue: 'hello' })
const database = new Database({ test: { url: 'sqlite::memory:' }, models: [], migrations: [] }, 'test')
const app = new App({ api: true, container: services })
app.use(Stamp, Plain)
app.resource(MailsResource)

const fake = { send: (text: string) => `${text} by the fake` }

describe('testApplication(app, database).provide', () => {
  const { client, provide, hooks } = testApplication(app, database)

  before(() => hooks.beforeAll())
  afterEach(() => hooks.afterEach())
  after(() => hooks.afterAll())

  const mails = async () => (await client.get('/mails')).json

  it('does not create what only the replaced class depends on', async () => {
    provide(Mailer, fake)
    await client.get('/mails')
    expect(connections).to.equal(0)
  })

  it('restores the real dependencies', async () => {
    expect(await mails()).to.deep.equal({
      mail: 'mail by smtp.example.com',
      campaign: 'campaign by smtp.example.com (1)',
      visits: 2,
      user: 'ada',
      greeting: 'hello',
    })
  })

  it('replaces a class in resources, in middleware classes and in the singletons that depend on it', async () => {
    provide(Mailer, fake)
    expect(await mails()).to.deep.equal({
      mail: 'mail by the fake',
      campaign: 'campaign by the fake (1)',
      visits: 3,
      user: 'ada',
      greeting: 'hello',
    })
    const response = await client.get('/mails')
    expect(response.headers.get('x-stamp')).to.equal('stamp by the fake')
    expect(response.json.campaign).to.equal('campaign by the fake (2)')
  })

  it('restores everything after the test', async () => {
    const response = await client.get('/mails')
    expect(response.headers.get('x-stamp')).to.equal('stamp by smtp.example.com')
    expect(response.json).to.deep.equal({
      mail: 'mail by smtp.example.com',
      campaign: 'campaign by smtp.example.com (2)',
      visits: 5,
      user: 'ada',
      greeting: 'hello',
    })
  })

  it('replaces a singleton, a scoped class, a token and a middleware class', async () => {
    provide(Campaign, { send: () => 'no campaign' })
    provide(CurrentUser, { name: 'bob' })
    provide('greeting', 'good morning')
    provide(Plain, {
      handle(ctx: Context, next: Next) {
        ctx.set('X-Plain', 'fake')
        return next()
      },
    })
    const response = await client.get('/mails')
    expect(response.headers.get('x-plain')).to.equal('fake')
    expect(response.json).to.include({ campaign: 'no campaign', user: 'bob', greeting: 'good morning' })
  })

  it('restores all of them, and accepts another value in the same test', async () => {
    expect(await mails()).to.include({
      campaign: 'campaign by smtp.example.com (3)',
      user: 'ada',
      greeting: 'hello',
    })
    provide('greeting', 'one')
    provide('greeting', 'two')
    expect(await mails()).to.include({ greeting: 'two' })
  })

  it('does not change the container of the application', () => {
    provide(Mailer, fake)
    expect(services.resolve(Mailer)).to.be.instanceOf(Mailer)
    expect(services.resolve('greeting')).to.equal('hello')
  })

  it('rejects a token that nothing injects, and values of another type', () => {
    class Unused {}
    expect(() => provide(Unused, {})).to.throw(
      'Unused cannot be replaced, because no resource or middleware class of the application injects it.',
    )
    // @ts-expect-error: a mailer has no method of this name
    provide(Mailer, { post: () => '' })
    // @ts-expect-error: it returns a number
    provide(Mailer, { send: () => 1 })
  })
})

describe('testApplication(app, database, { provide })', () => {
  const { client, provide, hooks } = testApplication(app, database, {
    provide: [
      [Mailer, fake],
      ['greeting', 'of all tests'],
    ],
  })

  it('replaces dependencies between the first and the last hook, and a test may replace them again', async () => {
    await hooks.beforeAll()
    expect((await client.get('/mails')).json).to.include({
      mail: 'mail by the fake',
      greeting: 'of all tests',
    })
    provide('greeting', 'of this test')
    expect((await client.get('/mails')).json).to.include({
      mail: 'mail by the fake',
      greeting: 'of this test',
    })
    await hooks.afterEach()
    expect((await client.get('/mails')).json).to.include({ greeting: 'of all tests' })
    await hooks.afterAll()

    const another = testApplication(app, database)
    await another.hooks.beforeAll()
    expect((await another.client.get('/mails')).json).to.include({
      mail: 'mail by smtp.example.com',
      greeting: 'hello',
    })
    await another.hooks.afterAll()
  })
})
