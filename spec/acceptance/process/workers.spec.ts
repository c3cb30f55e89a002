import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { Database } from '../../../src/index.js'
import { Client, type Outcome } from '../../support/clients.js'
import { newDatabase } from '../../support/databases.js'
import { describeOnce, engine, itOnce } from '../../support/engine.js'
import { config, linesOfOrder } from '../../support/applications/orders.js'
import { needRedis } from '../../support/servers/redis.js'
import { Served } from '../../support/processes/served.js'

const workers = ['start', '--workers', '2']
const main = new URL('../../support/applications/orders-main.js', import.meta.url).href

describe('kit start --workers 2', function () {
  let database: Database
  /** Serves most of the specs: loading the framework takes longest. */
  let shared: Served | undefined

  before(async () => {
    database = new Database(config(await newDatabase()), 'test')
    await database.open()
    await database.migrate()
  })

  beforeEach(async () => {
    for (const table of ['order_lines', 'orders']) await database.query(`DELETE FROM ${table}`)
  })

  after(async () => {
    await shared?.remove()
    await database.close()
  })

  function start(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Served> {
    return Served.start(main, args, { DATABASE_URL: database.url, ...env })
  }

  /** The processes that the specs share. The spec that stops them leaves it to the next one to start others. */
  async function running(): Promise<Served> {
    shared ??= await start(workers, { LIMIT_IN_MEMORY: 'yes' })
    return shared
  }

  /** The ids of the orders, each with the number of its lines. */
  async function orders(): Promise<Map<string, number>> {
    const rows: { id: string; count: number | string }[] = await database.query(
      'SELECT o.id AS id, COUNT(l.id) AS count FROM orders o LEFT JOIN order_lines l ON l.order_id = o.id GROUP BY o.id',
    )
    return new Map(rows.map(({ id, count }) => [id, Number(count)]))
  }

  async function lineCount(): Promise<number> {
    const [row]: { count: number | string }[] = await database.query(
      'SELECT COUNT(*) AS count FROM order_lines',
    )
    return Number(row?.count)
  }

  it('keeps exactly the successful half of 60 concurrent creates', async () => {
    const served = await running()
    await served.workers(2)
    const clients = Array.from({ length: 4 }, () => new Client(served.url, 15))
    const outcomes = await Promise.all(
      Array.from({ length: 60 }, (_, number) => {
        const title = number % 2 === 0 ? `kept ${number}` : `fails ${number}`
        return clients[number % 4]!.post('/orders', { title })
      }),
    )
    expect(count(outcomes)).to.deep.equal({ 201: 30, 500: 30 })
    const kept = await orders()
    expect([...kept.keys()].toSorted()).to.deep.equal(idsOf(outcomes).toSorted())
    expect(new Set(kept.values())).to.deep.equal(new Set([linesOfOrder]))
    expect(await lineCount()).to.equal(30 * linesOfOrder)
    for (const client of clients) client.close()
  })

  itOnce('loses no confirmed record when a worker is killed, and starts another one', async () => {
    const served = await running()
    const [victim = 0, survivor = 0] = await served.workers(2)
    const clients = [new Client(served.url), new Client(served.url), new Client(served.url, 10, false)]
    let begun = 0
    const outcomes: Outcome[] = []
    const create = async (client: Client): Promise<void> => {
      while (begun < 200) {
        const number = ++begun
        if (number === 75) process.kill(victim, 'SIGKILL')
        outcomes.push(await client.post('/orders', { title: `order ${number}` }))
      }
    }
    await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => create(client))))

    const { 201: created = 0, ...others } = count(outcomes)
    expect(outcomes).to.have.length(200)
    // The requests in flight in the killed worker: at most one for each connection.
    expect(Object.keys(others)).to.satisfy((all: string[]) =>
      all.every((one) => ['ECONNRESET', 'EPIPE'].includes(one)),
    )
    expect(created).to.be.within(170, 200)
    const kept = await orders()
    expect(idsOf(outcomes).filter((id) => !kept.has(id))).to.deep.equal([])
    expect(new Set(kept.values())).to.deep.equal(new Set([linesOfOrder]))
    expect(await lineCount()).to.equal(kept.size * linesOfOrder)
    expect(kept.size).to.be.within(created, 200)

    const after = await served.workers(2)
    expect(after).to.include(survivor).and.not.to.include(victim)
    const restarts = served.log.filter(({ msg }) =>
      /^worker [12] exited with SIGKILL and is restarted$/.test(msg),
    )
    expect(restarts).to.have.length(1)
    for (const client of clients) client.close()
  })

  describeOnce('with sessions and rate limits in the database', () => sharesStores(running))

  describeOnce('with sessions and rate limits in Redis', () => {
    let served: Served

    before(async function () {
      await needRedis(this)
      served = await start(workers, { REDIS_PREFIX: `spec:${crypto.randomUUID()}` })
    })
    after(() => served?.remove())

    sharesStores(async () => served)
  })

  itOnce('warns of a rate limit in the memory of each worker', async () => {
    const served = await running()
    await served.logged('The rate limit')
    const warning = served.log.find(({ msg }) => msg.startsWith('The rate limit'))
    expect(warning?.msg).to.equal(
      'The rate limit "limited by worker" counts in the memory of each process, so each worker and each host allows as many requests. ' +
        'Give it a store: databaseLimits(database) or redisLimits(client).',
    )
    expect(warning?.level).to.equal(40)
  })

  describe('when SIGTERM arrives under load', () => {
    // The database is closed in the same way, however the process was started.
    const ways = [workers, ['start'], []]
    for (const args of engine === 'sqlite' ? ways : [workers]) {
      const name = args.length > 0 ? `kit ${args.join(' ')}` : 'node dist/src/main.js'
      it(`completes all requests in flight: ${name}`, async () => {
        const served = args === workers ? await running() : await start(args)
        if (args === workers) shared = undefined
        const clients = [new Client(served.url, 10), new Client(served.url, 10, args.length === 0)]
        const outcomes: Outcome[] = []
        const ask = async (client: Client, number: number): Promise<void> => {
          for (let isUp = true; isUp; number++) {
            const outcome = await (number % 3 === 0
              ? client.get('/slow?ms=20')
              : client.post('/orders', { title: `order ${number}` }))
            outcomes.push(outcome)
            isUp = outcome.error === undefined
          }
        }
        const asking = clients.flatMap((client) =>
          Array.from({ length: 10 }, (_, number) => ask(client, number)),
        )
        while (outcomes.length < 150) await delay(5)
        served.kill('SIGTERM')
        await Promise.all(asking)
        expect(await served.ended).to.deep.equal({ status: 0, signal: null })

        // The system resets a connection that arrives between the last accept and the close of the port.
        for (const outcome of outcomes)
          if (outcome.error === 'ECONNRESET' && outcome.isNewConnection) outcome.error = 'ECONNREFUSED'
        const { 200: _reads, 201: created = 0, ECONNREFUSED: refused, ...others } = count(outcomes)
        expect({ refused, others }).to.deep.equal({ refused: 20, others: {} })
        const kept = await orders()
        expect([...kept.keys()].toSorted()).to.deep.equal(idsOf(outcomes).toSorted())
        expect(created).to.equal(kept.size)
        for (const client of clients) client.close()
        await served.remove()
      })
    }
  })
})

/** Declares the specs of stores that all workers use. */
function sharesStores(running: () => Promise<Served>): void {
  it('shares sessions between the workers', async () => {
    const { url } = await running()
    const response = await fetch(`${url}/basket`, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/json', Connection: 'close' },
      body: JSON.stringify({ items: 3 }),
    })
    const { pid } = JSON.parse(await response.text())
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    for (let other = pid; other === pid;) {
      const again = await fetch(`${url}/basket`, { headers: { cookie, Connection: 'close' } })
      const basket = JSON.parse(await again.text())
      expect(basket.items).to.equal(3)
      other = basket.pid
    }
    await fetch(`${url}/basket`, { method: 'DELETE', headers: { cookie } })
  })

  it('shares the counts of rate limits between the workers', async () => {
    const served = await running()
    await served.workers(2)
    const visit = async () =>
      (await fetch(`${served.url}/limited`, { headers: { Connection: 'close' } })).status
    const statuses = await Promise.all(Array.from({ length: 60 }, visit))
    expect(statuses.filter((status) => status === 200)).to.have.length(10)
    expect(statuses.filter((status) => status === 429)).to.have.length(50)
    const lines = () => served.log.filter(({ msg }) => msg.startsWith('GET /limited'))
    while (lines().length < 60) await delay(5)
    expect(new Set(lines().map(({ worker }) => worker))).to.deep.equal(new Set([1, 2]))
  })
}

function count(outcomes: Outcome[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, error } of outcomes) {
    const key = String(status ?? error)
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

/** The ids of the created records. */
function idsOf(outcomes: Outcome[]): string[] {
  return outcomes.flatMap(({ status, body = '' }) =>
    status === 201 ? [(JSON.parse(body) as { id: string }).id] : [],
  )
}
