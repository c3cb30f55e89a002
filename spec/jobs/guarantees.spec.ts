import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { App, DeclarationError, errors, transaction, type Database } from '../../src/index.js'
import { Job, jobQueue, Schedule, type JobContext, type JobQueue } from '../../src/jobs/index.js'
import { captureLog } from '../../src/testing/index.js'
import { failure } from '../support/failure.js'
import {
  Anything,
  behavior,
  digests,
  digestsDatabase,
  digestsUrl,
  Effect,
  Once,
  SendDigest,
} from '../support/applications/digests.js'
import { engine, itOnce } from '../support/engine.js'
import { Site } from '../support/site.js'

describe('Jobs of requests', () => {
  let database: Database
  let jobs: JobQueue
  let site: Site
  let attempts: number
  let release: () => void
  let isWaiting: Promise<void>

  beforeEach(async () => {
    database = digestsDatabase(await digestsUrl())
    const made = digests(database)
    jobs = made.jobs
    attempts = 0
    behavior.perform = () => undefined
    let reached = (): void => {}
    isWaiting = new Promise((resolve) => (reached = resolve))
    const released = new Promise<void>((resolve) => (release = resolve))
    const unique = true
    made.app.put('/retried', async (ctx) => {
      await ctx.enqueue(SendDigest, { text: 'once' })
      attempts += 1
      if (attempts === 1) throw new errors.TransactionConflict()
      ctx.status = 204
    })
    made.app.post('/savepoint', async (ctx) => {
      await ctx.tx
        .transaction(async (tx) => {
          await jobs.enqueue(tx, SendDigest, { text: 'undone' })
          throw new Error('undone')
        })
        .catch(() => undefined)
      await ctx.enqueue(SendDigest, { text: 'kept' })
      ctx.status = 201
    })
    made.app.post('/unawaited', (ctx) => {
      void ctx.enqueue(SendDigest, { text: 'lost' })
      ctx.status = 201
    })
    made.app.post('/unique', async (ctx) => {
      await ctx.enqueue(Anything, { text: 'unique' }, { unique })
      const { fails } = ctx.request.body as { fails: boolean }
      ctx.status = fails ? 422 : 201
    })
    made.app.post('/slow', async (ctx) => {
      await ctx.save(Object.assign(new Effect(), { text: 'of the slow request' }))
      await ctx.enqueue(Anything, { text: 'unique' }, { unique })
      reached()
      await released
      ctx.status = 201
    })
    site = await Site.open(made.app)
  })

  afterEach(() => site.close())

  const waiting = async () => (await jobs.waiting(SendDigest)).map(({ text }) => text)

  it('are enqueued once by a request that is retried', async () => {
    expect((await site.put('/retried', { json: {} })).status).to.equal(204)
    expect(attempts).to.equal(2)
    expect(await waiting()).to.deep.equal(['once'])
  })

  it('are undone with their savepoint', async () => {
    expect((await site.post('/savepoint', { json: {} })).status).to.equal(201)
    expect(await waiting()).to.deep.equal(['kept'])
  })

  it('do not exist when the commit fails, because the request did not await them', async () => {
    expect((await site.post('/unawaited', { json: {} })).status).to.equal(500)
    expect(await waiting()).to.deep.equal([])
  })

  it('exist once for a unique key, for 200 requests at once of which some are rolled back', async () => {
    const post = (_: unknown, index: number) => site.post('/unique', { json: { fails: index % 3 === 0 } })
    await Promise.all(Array.from({ length: 200 }, post))
    expect(await jobs.waiting(Anything)).to.have.length(1)
  })

  it('do not start before the commit of a request that found a waiting job with its unique key', async () => {
    await site.post('/unique', { json: {} })
    const slow = site.post('/slow', { json: {} })
    await isWaiting
    const seen: number[] = []
    behavior.perform = async (_args, job) => seen.push(await job.tx.count(Effect))
    const early = jobs.drain()
    // On SQLite, the claim waits for the request.
    if (engine !== 'sqlite') expect(await early).to.deep.equal({ finished: 0, failed: [] })
    release()
    expect((await slow).status).to.equal(201)
    await early
    await jobs.drain()
    expect(seen).to.deep.equal([1])
  })

  it('do not start before they are due, with a wrong clock of the process', async () => {
    await jobs.enqueue(database.manager, SendDigest, { text: 'a' }, { delay: '30 minutes' })
    const { now } = Date
    Date.now = () => now() + 3_600_000
    try {
      expect(await jobs.drain()).to.deep.equal({ finished: 0, failed: [] })
    } finally {
      Date.now = now
    }
  })

  it('stay in the table while no class declares them', async () => {
    await jobs.enqueue(database.manager, SendDigest, { text: 'a' })
    await database.query("UPDATE jobs SET name = 'removed'")
    expect(await jobs.drain()).to.deep.equal({ finished: 0, failed: [] })
    expect(await jobs.counts()).to.have.length(1)
    expect(await jobs.internal.store.names()).to.deep.equal(['removed'])
  })

  it('cost one read each second while none is due, and nothing is written', async () => {
    await site.close()
    database = digestsDatabase(database.url)
    const log = captureLog()
    site = await Site.open(digests(database, { env: 'production', logger: log.logger }).app)
    const version = () => (engine === 'sqlite' ? database.query('PRAGMA data_version') : undefined)
    const before = await version()
    const statements: string[] = []
    const collect = (message: unknown): void => void statements.push(Object(message).sql)
    subscribe('resource-kit:query', collect)
    const start = performance.now()
    await delay(2500)
    unsubscribe('resource-kit:query', collect)
    const seconds = Math.floor((performance.now() - start) / 1000)
    // A connection that is opened meanwhile asks for its server, too.
    const looks = statements.filter((sql) => sql.includes('jobs'))
    expect(looks.length, statements.join('\n')).to.be.within(1, seconds + 1)
    expect(statements.filter((sql) => !sql.startsWith('SELECT'))).to.deep.equal([])
    expect(await version()).to.deep.equal(before)
  })
})

describe('jobQueue(database, options)', () => {
  const database = digestsDatabase('sqlite::memory:')

  @Job({ name: 'once' })
  class Another {
    perform(_args: object, _job: JobContext) {}
  }

  class Plain {
    perform(_args: object) {}
  }

  class Dated {
    perform(_args: { at: Date }) {}
  }

  class Recorded {
    perform(_args: { effect: Effect }) {}
  }

  class Called {
    perform(_args: { callback: () => void }) {}
  }

  @Job()
  class Dependent {
    constructor(readonly name: string) {}
    perform(_args: object) {}
  }

  itOnce('rejects a job with a dependency that cannot be injected, when the application uses it', () => {
    const app = new App({ api: true })
    app.use(transaction(database))
    expect(() => {
      app.extend(jobQueue(database, { jobs: [Dependent] }))
      app.callback()
    }).to.throw(DeclarationError, 'Dependent')
  })

  itOnce('rejects the first call of ctx.enqueue in a route without transaction()', async () => {
    const memory = digestsDatabase(await digestsUrl())
    const app = new App({ api: true, logger: captureLog().logger })
    app.extend(jobQueue(memory, { jobs: [Once] }))
    let error: unknown
    app.post('/', async (ctx) => {
      error = await failure(ctx.enqueue(Once, { text: '' }))
      ctx.status = 204
    })
    const site = await Site.open(app)
    await site.post('/', { json: {} })
    await site.close()
    expect(String(error)).to.contain('no transaction found')
  })

  itOnce('serves without its tables, and warns once', async () => {
    const log = captureLog()
    const app = new App({ api: true, env: 'production', logger: log.logger })
    const empty = digestsDatabase('sqlite::memory:')
    app.use(transaction(empty))
    app.extend(jobQueue(empty, { jobs: [Once], poll: 50 }))
    app.get('/', (ctx) => (ctx.body = 'served'))
    const site = await Site.open(app)
    await delay(400)
    expect((await site.get('/')).status).to.equal(200)
    await site.close()
    expect(
      log.lines.map(({ msg }) => msg).filter((msg) => String(msg).includes('tables of jobs')),
    ).to.deep.equal(['The tables of jobs do not exist, so no job runs. Run `kit db migrate`.'])
  })

  for (const [title, options, message] of [
    ['two jobs of one name', { jobs: [Once, Another] }, 'Once and Another are both the job "once"'],
    ['an undeclared queue', { jobs: [Anything] }, 'anything uses the queue "urgent", which isn\'t declared'],
    ['a class without @Job', { jobs: [Plain] }, 'Plain is not a job. Decorate the class with @Job().'],
    ['a short lease', { jobs: [], lease: 10 }, 'The `lease` of jobQueue() is less than a second.'],
    ['a malformed duration', { jobs: [], poll: 'soon' as '1 second' }, 'is "soon". Use milliseconds'],
  ] as const)
    itOnce(`rejects ${title}`, () => {
      expect(() => jobQueue(database, options)).to.throw(DeclarationError, message)
    })

  for (const [title, declare, message] of [
    [
      'attempts',
      () => Job({ attempts: 0 })(Plain),
      'The `attempts` of @Job of Plain is 0. Use a whole number from 1.',
    ],
    ['a duration', () => Job({ timeout: 'soon' as '1 second' })(Plain), 'is "soon". Use milliseconds'],
    ['an expression', () => Schedule('every day')(Plain), 'is "every day", which isn\'t a cron expression'],
    [
      'a time zone',
      () => Schedule('@daily', { timeZone: 'Berlin' })(Plain),
      'the unknown time zone "Berlin"',
    ],
    ['a schedule without a tick', () => Schedule('0 0 30 2 *')(Plain), '"0 0 30 2 *" of Plain never fires'],
  ] as const)
    itOnce(`rejects ${title} of a decorator`, () => {
      expect(declare).to.throw(DeclarationError, message)
    })

  for (const [title, enqueue, message] of [
    [
      'delay and at',
      (queue: JobQueue) => queue.enqueue(database.manager, Once, { text: '' }, { delay: 1, at: new Date() }),
      'Use one of them',
    ],
    [
      'an undeclared queue',
      (queue: JobQueue) => queue.enqueue(database.manager, Once, { text: '' }, { queue: 'x' }),
      'the queue "x"',
    ],
    [
      'an undeclared job',
      (queue: JobQueue) => queue.enqueue(database.manager, SendDigest, { text: '' }),
      'SendDigest is not a job of this queue',
    ],
    [
      'a bigint in the arguments',
      (queue: JobQueue) => queue.enqueue(database.manager, Once, { text: 10n as unknown as string }),
      'arguments.text of once is a bigint, which JSON cannot carry. Pass text',
    ],
    [
      'large arguments',
      (queue: JobQueue) => queue.enqueue(database.manager, Once, { text: 'x'.repeat(70_000) }),
      'at most 65536 are allowed',
    ],
  ] as const)
    itOnce(`rejects ${title} when a job is enqueued`, async () => {
      const error = await failure(enqueue(jobQueue(database, { jobs: [Once] })))
      expect(error).to.be.instanceOf(DeclarationError)
      expect(String(error)).to.contain(message)
    })

  itOnce('checks arguments when the application is compiled', () => {
    const queue = jobQueue(database, { jobs: [Once] })
    const { manager } = database
    // Only the types matter here.
    const never = (): unknown[] => [
      // @ts-expect-error a member is missing
      queue.enqueue(manager, Once, {}),
      // @ts-expect-error a date is not text
      queue.enqueue(manager, Once, { text: new Date() }),
      // @ts-expect-error a bigint is not text
      queue.enqueue(manager, Once, { text: 1n }),
      // @ts-expect-error JSON cannot carry the date that the job expects
      queue.enqueue(manager, Dated, { at: new Date() }),
      // @ts-expect-error JSON cannot carry a record
      queue.enqueue(manager, Recorded, { effect: new Effect() }),
      // @ts-expect-error JSON cannot carry a function
      queue.enqueue(manager, Called, { callback: () => undefined }),
      // @ts-expect-error a class without perform
      jobQueue(database, { jobs: [Effect] }),
    ]
    expect(never).to.be.a('function')
  })

  itOnce('checks the arguments of a schedule when the application is compiled', () => {
    // Only the types matter here.
    const never = (): unknown[] => {
      class Digest {
        perform(_args: { kind: 'short' | 'long'; names: string[]; days?: number }) {}
      }
      class Optional {
        perform(_args: { days?: number }) {}
      }
      return [
        Schedule('@daily', { arguments: { kind: 'short', names: ['ada'] } })(Digest),
        Schedule('@daily')(Optional),
        Schedule('@daily')(Plain),
        // @ts-expect-error they are missing
        Schedule('@daily')(Digest),
        // @ts-expect-error one of them is missing
        Schedule('@daily', { arguments: { kind: 'short' } })(Digest),
        // @ts-expect-error one is not one of the words
        Schedule('@daily', { arguments: { kind: 'none', names: [] } })(Digest),
      ]
    }
    expect(never).to.be.a('function')
  })
})
