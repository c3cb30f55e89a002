import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { pino } from 'pino'
import { createClient } from 'redis'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import {
  databaseLimits,
  rateLimit,
  rateLimitsTable,
  redisLimits,
  type LimitStore,
  type RateLimitOptions,
} from '../../src/auth/index.js'
import { clientNetwork } from '../../src/http/security/client-network.js'
import { MemoryLimits } from '../../src/auth/stores/memory-limits.js'
import { App, Database, DeclarationError, transaction } from '../../src/index.js'
import { databaseWithTables, newDatabase } from '../support/databases.js'
import { describeOnce } from '../support/engine.js'
import { failure } from '../support/failure.js'
import { needRedis, OwnRedis, redisUrl } from '../support/servers/redis.js'
import { Site } from '../support/site.js'

class CreateLimits1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(rateLimitsTable(runner))
  }
  async down(runner: QueryRunner) {
    await runner.dropTable('rate_limits')
  }
}

const logger = pino({ level: 'silent' })

function open(url: string): Promise<Database> {
  return new Database({ test: { url }, migrations: [CreateLimits1700000000000] }, 'test').open()
}

async function migrate(url: string): Promise<void> {
  const database = await open(url)
  await database.migrate()
  await database.close()
}

/** The counts of a store are the same for every store. */
function countsRequests(make: () => LimitStore): void {
  const key = () => crypto.randomUUID()

  it('counts the requests of a key until its window ends', async () => {
    const store = make()
    const [one, other] = [key(), key()]
    const counts = [
      await store.increment(one, 60_000),
      await store.increment(one, 60_000),
      await store.increment(other, 60_000),
    ]
    expect(counts.map(({ count }) => count)).to.deep.equal([1, 2, 1])
    for (const { milliseconds } of counts) expect(milliseconds).to.be.within(1, 60_000)
  })

  it('takes counts back, but never more than there are', async () => {
    const store = make()
    const one = key()
    await store.decrement(one)
    await store.increment(one, 60_000)
    await store.decrement(one)
    await store.decrement(one)
    expect((await store.increment(one, 60_000)).count).to.equal(1)
    await store.reset(one)
    expect((await store.increment(one, 60_000)).count).to.equal(1)
  })

  it('counts concurrent requests one by one', async () => {
    const store = make()
    const one = key()
    const counts = await Promise.all(Array.from({ length: 20 }, () => store.increment(one, 60_000)))
    expect(counts.map(({ count }) => count).toSorted((a, b) => a - b)).to.deep.equal(
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
  })

  it('begins a new window after the end', async () => {
    const store = make()
    const one = key()
    await store.increment(one, 1)
    const until = Date.now() + 3
    while (Date.now() < until) await new Promise(setImmediate)
    expect((await store.increment(one, 60_000)).count).to.equal(1)
  })
}

describeOnce('Rate limits in memory', () => {
  countsRequests(() => new MemoryLimits())

  /** Counts one request of each of many keys, as a client with many addresses sends them. */
  async function fill(store: LimitStore, size: number): Promise<void> {
    for (let i = 0; i < size; i++) await store.increment(String(i).padStart(6, '0'), 60_000)
  }

  it('never forget a window that has not ended, and share the others if there are too many', async () => {
    const store = new MemoryLimits({ maxKeys: 100 })
    await store.increment('victim', 60_000)
    await fill(store, 1000)
    expect(store.size).to.equal(101)
    expect((await store.increment('victim', 60_000)).count).to.equal(2)
  })

  it('count further keys together if there are too many', async () => {
    const store = new MemoryLimits({ maxKeys: 2 })
    await fill(store, 2)
    expect((await store.increment('aaa', 60_000)).count).to.equal(1)
    expect((await store.increment('aab', 60_000)).count).to.equal(2)
    await store.decrement('aaa')
    expect((await store.increment('aab', 60_000)).count).to.equal(2)
    expect((await store.increment('bbb', 60_000)).count).to.equal(1)
  })

  it('look only at windows that have ended to make room for a new one', async () => {
    let now = 0
    const store = new MemoryLimits({ now: () => now, maxKeys: 1000 })
    await fill(store, 500)
    now = 30_000
    await store.increment('later', 60_000)
    now = 60_000
    await store.increment('last', 60_000)
    expect(store.size).to.equal(2)
    expect((await store.increment('later', 60_000)).count).to.equal(2)
  })
})

describe('databaseLimits', () => {
  let database: Database

  beforeEach(async () => {
    database = await open(await databaseWithTables('rate limits', migrate))
  })

  afterEach(() => database.close())

  countsRequests(() => databaseLimits(database))

  it('deletes expired counts', async () => {
    let now = 0
    const store = databaseLimits(database, { now: () => now, cleanUpEvery: 1 })
    await store.increment('a', 10)
    now = 1000
    await store.increment('b', 10)
    const rows = await database.manager.query('SELECT id FROM rate_limits')
    expect(rows).to.have.length(1)
  })

  it('stops the start if an earlier version has created its table', async () => {
    const old = await open(await newDatabase())
    await old.migrate()
    await old.query('ALTER TABLE rate_limits RENAME COLUMN requests TO attempts')
    const app = new App({ logger })
    app.use(rateLimit({ name: 'all', to: 2, within: '1 hour', store: databaseLimits(old) }))
    const error = await failure(Site.open(app))
    await old.close()
    expect(String(error))
      .to.contain('no table "rate_limits", or one of an earlier version of resource-kit')
      .and.to.contain(
        "`await runner.createTable(rateLimitsTable(runner, 'rate_limits'))`. This sets all counts to zero.",
      )
  })

  it('keep a request counted that is rolled back, and count one that is retried once', async () => {
    const app = new App({ logger })
    app.use(transaction(database))
    app.use(rateLimit({ name: 'all', to: 2, within: '1 hour', store: databaseLimits(database) }))
    app.post('/', async (ctx) => {
      await ctx.tx.query('DELETE FROM rate_limits')
      ctx.status = 422
      ctx.body = 'wrong'
    })
    const site = await Site.open(app)
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await site.post('/')).status)
    await site.close()
    expect(statuses).to.deep.equal([422, 422, 429, 429])
  })

  it('takes the count of a success back after the commit', async () => {
    const app = new App({ logger })
    app.use(transaction(database))
    const store = databaseLimits(database)
    app.use(rateLimit({ name: 'all', to: 2, within: '1 hour', failures: true, store }))
    app.post('/', async (ctx) => {
      await ctx.tx.query("DELETE FROM rate_limits WHERE id = 'x'")
      ctx.status = ctx.get('X-Fail') ? 422 : 200
      ctx.body = 'done'
    })
    const site = await Site.open(app)
    const fail = { headers: { 'X-Fail': '1' } }
    const statuses = []
    for (const options of [{}, {}, {}, fail, {}, fail, {}, fail])
      statuses.push((await site.post('/', options)).status)
    await site.close()
    expect(statuses).to.deep.equal([200, 200, 200, 422, 200, 422, 429, 429])
  })
})

describeOnce('redisLimits', () => {
  const redis = createClient({ url: redisUrl })
  redis.on('error', () => {})

  before(async function () {
    await needRedis(this)
    await redis.connect()
  })

  after(async () => {
    if (redis.isOpen) await redis.close()
  })

  countsRequests(() => redisLimits(redis, { prefix: `spec:${crypto.randomUUID()}:` }))

  it('lets requests pass while Redis is down, or rejects them with 503, until it is back', async () => {
    const own = await OwnRedis.start()
    const app = new App({ logger })
    for (const ifStoreFails of ['pass', 'reject'] as const) {
      const store = redisLimits(createClient({ url: own.url }), { timeout: 1000 })
      const limited = app.group(`/${ifStoreFails}`)
      limited.use(rateLimit({ to: 1_000_000, within: '1 hour', name: ifStoreFails, store, ifStoreFails }))
      limited.get('/', (ctx) => void (ctx.body = 'welcome'))
    }
    const site = await Site.open(app)
    const statuses = async () => [(await site.get('/pass')).status, (await site.get('/reject')).status]
    expect(await statuses()).to.deep.equal([200, 200])
    await own.stop()
    expect(await statuses()).to.deep.equal([200, 503])
    expect((await site.get('/reject')).headers.get('Retry-After')).to.equal('5')
    await own.start()
    while ((await statuses()).join() !== '200,200') await new Promise(setImmediate)
    await site.close()
    await own.stop()
  })
})

describeOnce('rateLimit', () => {
  for (const name of ['登录', 'a "b"', 'a\nb', ''])
    it(`rejects the name ${JSON.stringify(name)}, which no header can contain`, () =>
      expect(() => rateLimit({ to: 1, within: '1 minute', name })).to.throw(
        `The name of rateLimit() is ${JSON.stringify(name)}. Use ASCII without quotes and backslashes.`,
      ))

  it('needs a name with a store, because the default depends on the order of the limits', () => {
    const store = new MemoryLimits()
    expect(() => rateLimit({ to: 1, within: '1 minute', store })).to.throw(
      DeclarationError,
      'A rateLimit() with a store has no name. Add one, such as `name: "sign-in by client"`: the store counts by it, ' +
        'and a default name would change with the order of the limits.',
    )
  })

  async function visit(options: Partial<RateLimitOptions>, app = new App({ logger })): Promise<Site> {
    app.use(rateLimit({ to: 2, within: '3 minutes', name: 'visits', ...options }))
    app.get('/', (ctx) => void (ctx.body = 'welcome'))
    return Site.open(app)
  }

  it('returns 429 with Retry-After, and states the rest of the limit', async () => {
    const site = await visit({})
    const responses = [await site.get('/'), await site.get('/'), await site.get('/', { accept: 'json' })]
    await site.close()
    expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 429])
    const [first, , last] = responses
    expect(first?.headers.get('RateLimit-Policy')).to.equal('"visits";q=2;w=180')
    expect(first?.headers.get('RateLimit')).to.match(/^"visits";r=1;t=1[78]\d$/)
    expect(last?.headers.get('RateLimit')).to.match(/^"visits";r=0;t=1[78]\d$/)
    expect(last?.headers.get('Retry-After')).to.match(/^1[78]\d$/)
    expect(last?.json.detail).to.match(/^Too many attempts\. Try again in 1[78]\d seconds\.$/)
  })

  it('counts by the address that the trusted proxy wrote, whatever the client sends', async () => {
    const site = await visit({}, new App({ logger, proxy: 1 }))
    const statuses = []
    for (const forged of ['1.1.1.1', '2.2.2.2', '3.3.3.3'])
      statuses.push((await site.get('/', { headers: { 'X-Forwarded-For': `${forged}, 192.0.2.7` } })).status)
    const other = await site.get('/', { headers: { 'X-Forwarded-For': '192.0.2.8' } })
    await site.close()
    expect([...statuses, other.status]).to.deep.equal([200, 200, 429, 200])
  })

  it('counts by any text, and not at all without one', async () => {
    const site = await visit({ by: (ctx) => ctx.get('X-Account') || undefined })
    const statuses = []
    for (const account of ['a', 'a', 'a', 'b', '', '', ''])
      statuses.push((await site.get('/', { headers: { 'X-Account': account } })).status)
    await site.close()
    expect(statuses).to.deep.equal([200, 200, 429, 200, 200, 200, 200])
  })

  it('forgets a count on reset', async () => {
    const limit = rateLimit({ to: 1, within: '1 hour', by: () => 'all' })
    const app = new App({ logger })
    app.use(limit)
    app.get('/', (ctx) => void (ctx.body = 'welcome'))
    const site = await Site.open(app)
    expect([(await site.get('/')).status, (await site.get('/')).status]).to.deep.equal([200, 429])
    await limit.reset('all')
    expect((await site.get('/')).status).to.equal(200)
    await site.close()
  })

  it('takes the count of a success back before the response', async () => {
    class SlowLimits extends MemoryLimits {
      override async decrement(key: string): Promise<void> {
        await setTimeout(20)
        await super.decrement(key)
      }
    }
    const site = await visit({ to: 1, failures: true, store: new SlowLimits() })
    const statuses = []
    for (let i = 0; i < 3; i++) statuses.push((await site.get('/')).status)
    await site.close()
    expect(statuses).to.deep.equal([200, 200, 200])
  })

  it('lets requests pass if the store fails, or rejects them with 503', async () => {
    const fail = () => Promise.reject(new Error('down'))
    const store = { increment: fail, decrement: fail, reset: fail }
    const statuses = []
    for (const ifStoreFails of ['pass', 'reject'] as const) {
      const site = await visit({ store, ifStoreFails, failures: true })
      statuses.push((await site.get('/')).status)
      await site.close()
    }
    expect(statuses).to.deep.equal([200, 503])
  })
})

describeOnce('clientNetwork', () => {
  const cases = {
    '192.0.2.7': '192.0.2.7',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:DB8:1:2::9': '2001:db8:1:2::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '64:ff9b::192.0.2.7': '64:ff9b:0:0::/64',
    '::ffff:c000:0211': '192.0.2.17',
    '::ffff:192.0.2.17': '192.0.2.17',
    unknown: 'unknown',
  }
  for (const [address, network] of Object.entries(cases))
    it(`counts ${address} as ${network}`, () => expect(clientNetwork(address)).to.equal(network))
})
