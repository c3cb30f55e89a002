import { expect } from 'chai'
import { pino } from 'pino'
import { App, type Context, type Hooks, type Middleware } from '../../src/index.js'
import { Site } from '../support/site.js'

function middleware(hooks: Hooks): Middleware {
  return Object.assign(
    function hooked(_ctx: Context, next: () => Promise<void>) {
      return next()
    },
    { extension: hooks },
  )
}

describe('The hooks of middleware', () => {
  const silent = pino({ level: 'silent' })

  it('run in the declared order at the start, and in reverse order at the end', async () => {
    const calls: string[] = []
    const app = new App({ env: 'development', logger: silent })
    for (const name of ['database', 'jobs']) {
      app.use(
        middleware({
          start: async () => void calls.push(`start ${name}`),
          listening: () => void calls.push(`listening ${name}`),
          finish: async () => void calls.push(`finish ${name}`),
          stop: async () => void calls.push(`stop ${name}`),
        }),
      )
    }
    await app.listen(0, '127.0.0.1')
    await app.close()
    expect(calls).to.deep.equal([
      'start database',
      'start jobs',
      'listening database',
      'listening jobs',
      'finish database',
      'finish jobs',
      'stop jobs',
      'stop database',
    ])
  })

  it('do not include `listening` in the test environment', async () => {
    let calls = 0
    const app = new App({ env: 'test', logger: silent })
    app.use(middleware({ listening: () => void calls++ }))
    await app.listen(0, '127.0.0.1')
    await app.close()
    expect(calls).to.equal(0)
  })

  it('stop all middleware, even if some of it fails, and report the failure', async () => {
    const stopped: string[] = []
    const app = new App({ env: 'test', logger: silent })
    app.use(middleware({ stop: async () => void stopped.push('database') }))
    app.use(middleware({ stop: () => Promise.reject(new Error('the queue is stuck')) }))
    const error = await app.close().catch((reason: unknown) => reason)
    expect(error).to.be.an('error').with.property('message', 'the queue is stuck')
    expect(stopped).to.deep.equal(['database'])
  })

  it('finish beside the pending requests, until the deadline', async () => {
    const app = new App({ env: 'test', logger: silent, drainTimeout: 300 })
    let deadline = new Date(0)
    app.use(
      middleware({
        finish: (given) => {
          deadline = given
          return new Promise(() => undefined)
        },
      }),
    )
    await app.listen(0, '127.0.0.1')
    const began = Date.now()
    await app.close()
    expect(deadline.getTime() - began).to.be.at.least(300)
    expect(Date.now() - began).to.be.at.least(250)
  })

  it('log a failure while draining, and go on', async () => {
    const lines: string[] = []
    const app = new App({ env: 'test', logger: pino({}, { write: (line: string) => void lines.push(line) }) })
    app.use(middleware({ finish: () => Promise.reject(new Error('the mail server is away')) }))
    await app.close()
    expect(lines.join()).to.include('the mail server is away')
  })

  it('add members to the context of each request', async () => {
    const app = new App({ env: 'test', logger: silent })
    app.use(middleware({ members: { greeting: { value: (name: string) => `Hello ${name}` } } }))
    app.get('/', (ctx) => {
      ctx.body = Reflect.get(ctx, 'greeting')('Ada')
    })
    const site = await Site.open(app)
    expect((await site.get('/')).text).to.equal('Hello Ada')
    await site.close()
  })

  it('cannot replace a member of the context', () => {
    const app = new App({ env: 'test', logger: silent })
    app.use(middleware({ members: { redirect: { value: () => undefined } } }))
    expect(() => app.callback()).to.throw(
      'hooked() adds ctx.redirect, which the context already has. Choose another name for the member.',
    )
  })

  it('are in the static extension of a middleware class', async () => {
    const calls: string[] = []
    class Audit {
      static readonly extension = { start: async () => void calls.push('start') }
      handle(_ctx: Context, next: () => Promise<void>): Promise<void> {
        return next()
      }
    }
    const app = new App({ env: 'test', logger: silent })
    app.use(Audit)
    await app.start()
    await app.close()
    expect(calls).to.deep.equal(['start'])
  })
})
