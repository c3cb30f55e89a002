import { once } from 'node:events'
import { connect } from 'node:net'
import { expect } from 'chai'
import {
  App,
  Database,
  transaction,
  type Context,
  type Middleware,
  type MiddlewareClass,
} from '../../../src/index.js'
import { TransactionConflict } from '../../../src/errors.js'
import { captureLog } from '../../../src/testing/index.js'
import { newDatabase } from '../../support/databases.js'
import { Site } from '../../support/site.js'

describe('Middleware with beforeBody', () => {
  let site: Site
  let order: string[]
  const log = captureLog()

  /** A middleware that notes its name, and whether there is a body. */
  function note(name: string, isBeforeBody: boolean): Middleware {
    const middleware: Middleware = async (ctx, next) => {
      order.push(name)
      await next()
      order.push(`${name} after ${JSON.stringify(ctx.request.body)}`)
    }
    return Object.assign(middleware, { beforeBody: isBeforeBody })
  }

  const use = (member: (ctx: Context) => unknown): Middleware =>
    Object.assign((ctx: Context) => void (ctx.body = String(member(ctx))), { beforeBody: true })
  const reject: Middleware = Object.assign((ctx: Context) => ctx.throw(401, 'no user'), { beforeBody: true })

  class Early implements MiddlewareClass {
    static readonly beforeBody = true
    async handle(_ctx: Context, next: () => Promise<unknown>): Promise<void> {
      order.push('class')
      await next()
    }
  }

  before(async () => {
    const database = new Database({ test: { url: await newDatabase() }, models: [] }, 'test')
    const app = new App({ logger: log.logger, secret: 'a secret of the specs, which is long' })
    const answer = (ctx: Context): void => {
      order.push(`${ctx.method} ${JSON.stringify(ctx.request.body)}`)
      ctx.body = 'read'
    }
    app.group('/order', (group) => {
      group.use(note('late', false), note('early', true), Early)
      group.post('/', answer)
    })
    app.group('/form', (group) => {
      group.use(note('late', false), note('common', true))
      const others = group.group('')
      group.post('/', answer)
      others.use(note('of put', true))
      others.put('/', answer)
    })
    app.group('/rejects', (group) => {
      group.use(note('late', false), reject)
      group.post('/{name}', answer)
    })
    for (const [path, member] of [
      ['/tx', (ctx: Context) => ctx.tx],
      ['/commit', (ctx: Context) => ctx.afterCommit(() => {})],
      ['/body', (ctx: Context) => ctx.request.body],
    ] as const) {
      const group = app.group(path)
      group.use(transaction(database), use(member))
      group.post('/', answer)
      group.get('/', answer)
    }
    app.group('/retried', (group) => {
      let attempts = 0
      group.use(transaction(database), note('early', true))
      group.put('/', (ctx) => {
        order.push('attempt')
        if (++attempts < 2) throw new TransactionConflict()
        ctx.body = 'done'
      })
    })
    site = await Site.open(app)
  })

  beforeEach(() => (order = []))
  after(() => site.close())

  const form = { 'content-type': 'application/x-www-form-urlencoded' }

  it('runs before the body is read, and all other middleware after it, in declared order', async () => {
    expect((await site.post('/order', { json: { a: 1 } })).status).to.equal(200)
    expect(order).to.deep.equal([
      'early',
      'class',
      'late',
      'POST {"a":1}',
      'late after {"a":1}',
      'early after {"a":1}',
    ])
    order = []
    expect(
      (await site.post('/order', { body: '{', headers: { 'content-type': 'application/json' } })).status,
    ).to.equal(400)
    expect(order).to.deep.equal(['early', 'class'])
  })

  it('runs before the body of a form if all routes of the path have it, else after the body', async () => {
    await site.post('/form', { body: 'a=1', headers: form })
    expect(order.slice(0, 3)).to.deep.equal(['common', 'late', 'POST {"a":"1"}'])
    order = []
    await site.post('/form', { body: '_method=PUT', headers: form })
    expect(order.slice(0, 4)).to.deep.equal(['common', 'of put', 'late', 'PUT {"_method":"PUT"}'])
    order = []
    await site.put('/form', { json: {} })
    expect(order.slice(0, 3)).to.deep.equal(['common', 'of put', 'late'])
  })

  it('rejects a request whose body never arrives, and the log has its path', async () => {
    const socket = connect(Number(new URL(site.url).port), '127.0.0.1')
    socket.write(
      'POST /rejects/a?token=secret HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
        'Content-Length: 100\r\n\r\n',
    )
    const [received] = await once(socket, 'data')
    socket.destroy()
    expect(String(received)).to.match(/^HTTP\/1.1 401 /)
    expect(order).to.deep.equal([])
    await site.get('/order')
    const line = log.lines.find(({ status }) => status === 401)
    expect(line).to.include({ method: 'POST', path: '/rejects/a' }).and.not.have.any.keys('query', 'body')
  })

  for (const [path, member] of [
    ['/tx', 'ctx.tx'],
    ['/commit', 'ctx.tx'],
    ['/body', 'ctx.request.body'],
  ] as const)
    it(`has no ${member}: ${path}`, async () => {
      for (const method of ['POST', 'GET']) {
        const from = log.lines.length
        expect((await site.request(method, path, method === 'POST' ? { json: {} } : {})).status).to.equal(500)
        const [error] = log.lines.slice(from).flatMap(({ err }) => err ?? [])
        expect(Reflect.get(Object(error), 'message')).to.match(
          new RegExp(`^${member} is not available in middleware with beforeBody`),
        )
      }
    })

  it('runs once when transaction() calls next again', async () => {
    expect((await site.put('/retried', { json: {} })).text).to.equal('done')
    expect(order).to.deep.equal(['early', 'attempt', 'attempt', 'early after {}'])
  })
})
