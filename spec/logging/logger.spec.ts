import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { QueryFailedError } from 'typeorm'
import { App, DeclarationError, parameterLogger, type Handler } from '../../src/index.js'
import { createLogger, loggedError } from '../../src/logging/logger.js'
import { captureLog } from '../../src/testing/index.js'
import { Site } from '../support/site.js'

function queryError(): QueryFailedError {
  const driverError = Object.assign(new Error('duplicate key'), { code: '23505', detail: '(hunter2)' })
  return new QueryFailedError('INSERT INTO users VALUES ($1)', ['hunter2'], driverError)
}

const shown = (error: unknown) => JSON.stringify(loggedError(error))

/** Logs many lines in each of many turns of the event loop. */
const talkative = `
  const { createLogger } = await import('${new URL('../../src/logging/logger.js', import.meta.url).href}')
  const log = createLogger('production')
  for (let turn = 0; turn < 50; turn++) {
    for (let line = 0; line < 200; line++) log.info('${'x'.repeat(150)}')
    await new Promise(setImmediate)
  }`

describe('createLogger(environment)', () => {
  it('rejects an unknown LOG_LEVEL, and treats an empty one as not set', () => {
    const before = process.env['LOG_LEVEL']
    try {
      process.env['LOG_LEVEL'] = 'verbose'
      expect(() => createLogger('test')).to.throw(
        DeclarationError,
        'LOG_LEVEL is "verbose". Set it to one of trace, debug, info, warn, error, fatal, silent.',
      )
      process.env['LOG_LEVEL'] = ''
      expect(createLogger('test').level).to.equal('silent')
    } finally {
      process.env['LOG_LEVEL'] = before
    }
  })

  it('writes whole lines, even if several processes write to one pipe that is read slowly', async () => {
    const command = `"$0" --input-type=module -e "$1" & "$0" --input-type=module -e "$1" & wait`
    const both = spawn('sh', ['-c', command, process.execPath, talkative], {
      env: { ...process.env, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let written = ''
    for await (const chunk of both.stdout) {
      written += chunk
      await delay(1)
    }
    const lines = written.trimEnd().split('\n')
    expect(lines).to.have.length(20_000)
    for (const line of lines) expect(JSON.parse(line)).to.have.property('level', 30)
  })
})

describe('The log of development', () => {
  /** Logs a request in a process that writes to a terminal, or not. */
  async function logged(isTerminal: boolean): Promise<string> {
    const script = `
      process.stdout.isTTY = ${isTerminal}
      const { createLogger } = await import('${new URL('../../src/logging/logger.js', import.meta.url).href}')
      const line = { request_id: 'a1', method: 'GET', path: '/posts', status: 200, ms: 3 }
      createLogger('development').info(line, 'GET /posts 200')`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, LOG_LEVEL: 'info', NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return text(child.stdout)
  }

  it('has one readable line for each request in a terminal', async () => {
    expect(await logged(true)).to.match(
      /^\[\d\d:\d\d:\d\d\] INFO: GET \/posts 200 \{"request_id":"a1","ms":3\}\n$/,
    )
  })

  it('has lines of JSON elsewhere', async () => {
    expect(JSON.parse(await logged(false))).to.include({ msg: 'GET /posts 200', path: '/posts', status: 200 })
  })
})

describe('loggedError', () => {
  it('shows type, message, stack and fields, with the causes', () => {
    const error = Object.assign(new TypeError('outer', { cause: new Error('inner') }), { code: 'E_OUTER' })
    expect(loggedError(error)).to.deep.equal({
      type: 'TypeError',
      message: 'outer: inner',
      stack: `${error.stack}\ncaused by: ${(error.cause as Error).stack}`,
      code: 'E_OUTER',
    })
  })

  it('redacts secret fields as in parameters, and cookies', () => {
    const config = { headers: { Authorization: 'Bearer hunter2', Cookie: 'id=hunter2' }, url: '/posts' }
    expect(loggedError(Object.assign(new Error('failed'), { config, password: 'hunter2' }))).to.deep.include({
      config: { headers: { Authorization: '[FILTERED]', Cookie: '[FILTERED]' }, url: '/posts' },
      password: '[FILTERED]',
    })
  })

  const wrapped: Record<string, () => unknown> = {
    'thrown itself': queryError,
    'in an AggregateError': () => new AggregateError([queryError()], 'all failed'),
    'in a field': () => Object.assign(new Error('outer'), { inner: queryError() }),
    'deep in a field': () => Object.assign(new Error('outer'), { details: [{ inner: queryError() }] }),
    'as a cause': () => new Error('outer', { cause: queryError() }),
    'thrown in a list': () => [queryError()],
    'as its driver has made it': () => Object.assign(queryError().driverError, { severity: 'ERROR' }),
  }
  for (const [where, make] of Object.entries(wrapped)) {
    it(`omits the values of a query if its error is ${where}`, () => {
      expect(shown(make())).to.contain('duplicate key').and.not.to.contain('hunter2')
    })
  }

  it('accepts any thrown value', () => {
    const circular: Error & { self?: unknown } = new Error('circular')
    circular.self = circular
    let chain = new Error('0')
    for (let length = 1; length < 10_000; length++) chain = new Error(String(length), { cause: chain })
    const unreadable = new Proxy(new Error('x'), {
      get() {
        throw new Error('no')
      },
    })
    const bare = Object.assign(Object.create(null), { a: 1 })
    const wide = Object.assign(new Error('wide'), { list: Array.from({ length: 1e6 }, () => ({})) })
    const frozen = Object.freeze(new Error('frozen'))
    for (const value of [null, undefined, 0, 'text', Symbol('s'), 1n, () => 1, {}, [], bare])
      expect(() => shown(value)).not.to.throw()
    for (const error of [circular, chain, unreadable, wide, frozen])
      expect(shown(error).length).to.be.within(20, 50_000)
    expect(loggedError(null)).to.equal(null)
    expect(loggedError('text')).to.equal('text')
  })
})

describe('The log of an application', () => {
  async function logOf(path: string, handler: Handler): Promise<{ status: number; log: string }> {
    const log = captureLog()
    const app = new App({ logger: log.logger, env: 'production', secret: 'x'.repeat(40) })
    const check = async () => {
      throw queryError()
    }
    app.use(
      Object.assign(async (_: unknown, next: () => Promise<unknown>) => next(), { extension: { check } }),
    )
    app.use(parameterLogger({ words: ['passport'] }))
    app.get('/', handler)
    const site = await Site.open(app)
    const status = await site.get(path).then(
      (response) => response.status,
      () => 0,
    )
    await site.close()
    return { status, log: log.text() }
  }

  it('contains no values of a query that fails in a body, or in the health check', async () => {
    const response = await logOf('/', (ctx) => {
      ctx.body = new Readable({
        read() {
          this.push('a')
          setTimeout(() => this.destroy(queryError()), 20)
        },
      })
    })
    expect(response.log).to.contain('duplicate key').and.not.to.contain('hunter2')
    const health = await logOf('/up', () => {})
    expect(health.status).to.equal(503)
    expect(health.log).to.contain('not up').and.not.to.contain('hunter2')
  })

  it("redacts the application's own names in errors", async () => {
    const { log } = await logOf('/', () => {
      throw Object.assign(new Error('failed'), { passport: 'hunter2' })
    })
    expect(log).to.contain('failed').and.not.to.contain('hunter2')
  })

  it('accepts `throw null`', async () => {
    const { status, log } = await logOf('/', () => {
      throw null
    })
    expect(status).to.equal(500)
    expect(log).to.contain('the request failed')
  })
})
