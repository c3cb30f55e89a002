import { expect } from 'chai'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Database } from '../../src/index.js'
import { Client, type Outcome } from '../support/clients.js'
import { describeOnce, engine, itOnce, newDatabase } from '../support/engine.js'
import { config, linesOfOrder } from '../support/orders.js'
import { needRedis } from '../support/redis.js'
import { Served } from '../support/served.js'
import { temporaryFolder } from '../support/temporary-folder.js'

const main = new URL('../support/orders-main.js', import.meta.url).href

describe('kit start --workers 2', function () {
  let url: string
  let database: Database
  let served: Served

  beforeEach(async () => {
    url = await newDatabase()
    database = new Database(config(url), 'test')
    await database.open()
    await database.migrate()
  })

  afterEach(async () => {
    await served?.remove()
    await database.close()
  })

  async function start(...args: string[]): Promise<Served> {
    served = await Served.start(main, args.length > 0 ? args : ['start', '--workers', '2'], {
      DATABASE_URL: url,
    })
    return served
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

  it('keeps exactly the successful half of 400 concurrent creates', async () => {
    const { url } = await start()
    await served.workers(2)
    const clients = Array.from({ length: 4 }, () => new Client(url, 25))
    const outcomes = await Promise.all(
      Array.from({ length: 400 }, (_, number) => {
        const title = number % 2 === 0 ? `kept ${number}` : `fails ${number}`
        return clients[number % 4]!.post('/orders', { title })
      }),
    )
    expect(count(outcomes)).to.deep.equal({ 201: 200, 500: 200 })
    const kept = await orders()
    expect([...kept.keys()].toSorted()).to.deep.equal(idsOf(outcomes).toSorted())
    expect(new Set(kept.values())).to.deep.equal(new Set([linesOfOrder]))
    expect(await lineCount()).to.equal(200 * linesOfOrder)
    for (const client of clients) client.close()
  })

  it('loses no confirmed record when a worker is killed, and starts another one', async () => {
    const { url } = await start()
    const [victim = 0, survivor = 0] = await served.workers(2)
    const clients = [new Client(url), new Client(url), new Client(url, 10, false)]
    let begun = 0
    const outcomes: Outcome[] = []
    const create = async (client: Client): Promise<void> => {
      while (begun < 1000) {
        const number = ++begun
        if (number === 400) process.kill(victim, 'SIGKILL')
        outcomes.push(await client.post('/orders', { title: `order ${number}` }))
      }
    }
    await Promise.all(clients.flatMap((client) => Array.from({ length: 10 }, () => create(client))))

    const { 201: created = 0, ...others } = count(outcomes)
    expect(outcomes).to.have.length(1000)
    // The requests in flight in the killed worker: at most one for each connection.
    expect(Object.keys(others)).to.satisfy((all: string[]) =>
      all.every((one) => ['ECONNRESET', 'EPIPE'].includes(one)),
    )
    expect(created).to.be.within(970, 1000)
    const kept = await orders()
    expect(idsOf(outcomes).filter((id) => !kept.has(id))).to.deep.equal([])
    expect(new Set(kept.values())).to.deep.equal(new Set([linesOfOrder]))
    expect(await lineCount()).to.equal(kept.size * linesOfOrder)
    expect(kept.size).to.be.within(created, 1000)

    const after = await served.workers(2)
    expect(after).to.include(survivor).and.not.to.include(victim)
    expect(served.log.map(({ msg }) => msg)).to.include('worker 1 exited with SIGKILL and is restarted')
    for (const client of clients) client.close()
  })

  // The database is closed in the same way, however the process was started.
  const ways = [['start', '--workers', '2'], ['start'], []]
  for (const args of engine === 'sqlite' ? ways : ways.slice(0, 1)) {
    const name = args.length > 0 ? `kit ${args.join(' ')}` : 'node dist/src/main.js'
    it(`completes all requests in flight when SIGTERM arrives under load: ${name}`, async () => {
      await start(...args)
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
    })
  }

  itOnce(
    'responds to a request on an idle connection during shutdown, and then closes the connection',
    async () => {
      await start()
      const client = new Client(served.url, 1)
      const idle = new Client(served.url, 1)
      expect((await client.get('/pid')).keeps).to.equal(true)
      await idle.get('/pid')
      const slow = new Client(served.url, 1).get('/slow?ms=1000')
      await served.logged('slow')
      served.kill('SIGTERM')
      await served.logged('SIGTERM')
      // The workers begin to shut down a little later than the primary process.
      for (let keeps: boolean | undefined = true; keeps;) {
        const answer = await client.get('/pid')
        expect(answer.status).to.equal(200)
        keeps = answer.keeps
      }
      expect((await slow).status).to.equal(200)
      expect(await served.ended).to.deep.equal({ status: 0, signal: null })
    },
  )

  itOnce('ends immediately after a second signal', async () => {
    await start()
    const slow = new Client(served.url).get('/slow?ms=30000')
    await served.logged('slow')
    served.kill('SIGINT')
    await served.logged('SIGINT')
    // A second signal that arrives earlier belongs to the same Ctrl-C, forwarded by npm.
    await delay(500)
    served.kill('SIGINT')
    expect(await served.ended).to.deep.equal({ status: 130, signal: null })
    expect((await slow).error).to.equal('ECONNRESET')
  })

  itOnce('counts the two signals that npm makes of one Ctrl-C as one', async () => {
    await start()
    const slow = new Client(served.url).get('/slow?ms=500')
    await served.logged('slow')
    served.kill('SIGINT')
    await delay(20)
    served.kill('SIGINT')
    expect((await slow).status).to.equal(200)
    expect(await served.ended).to.deep.equal({ status: 0, signal: null })
  })

  itOnce('kills a worker that does not end', async () => {
    served = await Served.start(
      new URL('../support/stubborn-main.js', import.meta.url).href,
      ['start', '--workers', '2'],
      {},
    )
    const waiting = new Client(served.url).get('/for-ever')
    await delay(100)
    served.kill('SIGTERM')
    expect(await served.ended).to.deep.equal({ status: 1, signal: null })
    expect((await waiting).error).to.equal('ECONNRESET')
  })

  itOnce('leaves no worker behind when the primary process is killed, and lets requests finish', async () => {
    await start()
    const pids = await served.workers(2)
    const slow = new Client(served.url).get('/slow?ms=500')
    await served.logged('slow')
    served.kill('SIGKILL')
    expect((await slow).status).to.equal(200)
    while (pids.some(isAlive)) await delay(20)
  })

  itOnce('restarts workers with longer and longer pauses when they exit immediately', async () => {
    await start()
    for (let round = 0; round < 3; round++) {
      const [pid = 0] = await served.workers(1)
      process.kill(pid, 'SIGKILL')
      while (isAlive(pid)) await delay(10)
    }
    await served.workers(2)
    const pauses = served.log.flatMap((line) => Reflect.get(line, 'pause') ?? [])
    expect(pauses).to.have.length(3)
    expect(pauses.toSorted((a, b) => a - b)[0]).to.equal(100)
  })

  itOnce('transfers no connection to a busy worker while another one is free', async () => {
    await start()
    await served.workers(2)
    const file = join(temporaryFolder(), 'busy')
    const busy = new Client(served.url).get(`/busy?file=${encodeURIComponent(file)}`)
    while (!existsSync(file)) await delay(5)
    let responses = 0
    const quick = Array.from({ length: 20 }, async () => {
      const { status } = await new Client(served.url, 1, false).get('/pid')
      responses += 1
      return status
    })
    // The busy worker has at most one connection, which it has not confirmed.
    while (responses < 19) await delay(5)
    rmSync(dirname(file), { recursive: true })
    expect(new Set(await Promise.all(quick))).to.deep.equal(new Set([200]))
    expect((await busy).status).to.equal(200)
  })

  for (const place of engine === 'sqlite' ? ['database', 'redis'] : ['database']) {
    it(`shares sessions in ${place} between the workers`, async function () {
      if (place === 'redis') await needRedis(this)
      const env = { DATABASE_URL: url, SESSIONS: place }
      served = await Served.start(main, ['start', '--workers', '2'], env)
      await served.workers(2)
      const answer = await fetch(`${served.url}/basket`, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/json', Connection: 'close' },
        body: JSON.stringify({ items: 3 }),
      })
      const { pid } = JSON.parse(await answer.text())
      const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
      const pids = new Set<number>()
      for (let tries = 0; tries < 500 && ![...pids].some((one) => one !== pid); tries++) {
        const again = await fetch(`${served.url}/basket`, { headers: { cookie, Connection: 'close' } })
        const basket = JSON.parse(await again.text())
        expect(basket.items).to.equal(3)
        pids.add(basket.pid)
      }
      expect([...pids].filter((one) => one !== pid)).to.have.length(1)
      await fetch(`${served.url}/basket`, { method: 'DELETE', headers: { cookie } })
    })
  }

  itOnce('adds the worker to each line of the log', async () => {
    await start()
    const pids = await served.workers(2)
    while (!pids.every((pid) => served.log.some((line) => line.pid === pid))) await delay(5)
    const numbers = new Map(served.log.map(({ pid, worker }) => [pid, worker]))
    expect(pids.map((pid) => numbers.get(pid)).toSorted()).to.deep.equal([1, 2])
    expect(numbers.get(served.pid)).to.equal(undefined)
    expect((await fetch(`${served.url}/up`)).status).to.equal(200)
  })

  describeOnce('when it cannot start', () => {
    async function failure(env: NodeJS.ProcessEnv, ...args: string[]) {
      served = new Served(main, ['start', ...args], { DATABASE_URL: url, ...env })
      const { status } = await served.ended
      return { status, errors: served.errors.trim(), log: served.log.map(({ msg }) => msg) }
    }

    it('reports once that the port is in use', async () => {
      const other = createServer()
      await once(other.listen(0, '127.0.0.1'), 'listening')
      // A server that listens on a port has an AddressInfo.
      const PORT = String((other.address() as AddressInfo).port)
      const errors = `Port ${PORT} is in use by another process. Stop it, or set PORT to another number.`
      expect(await failure({ PORT }, '--workers', '3')).to.deep.equal({ status: 1, errors, log: [] })
      other.close()
    })

    it('reports once that the database does not exist', async () => {
      const env = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/orders' }
      const errors =
        'The database postgres://127.0.0.1:1/orders cannot be opened: nothing listens there. Start the database ' +
        'server, or correct the url (ormconfig.ts, DATABASE_URL).'
      expect(await failure(env, '--workers', '3')).to.deep.equal({ status: 1, errors, log: [] })
    })

    it('reports a wrong declaration once', async () => {
      const errors =
        'Sessions need a secret in staging. Set SESSION_SECRET to a long random text. `kit generate secret` prints one.'
      const { status, errors: said } = await failure({ GO_ENV: 'staging' }, '--workers', '3')
      expect({ status, errors: said }).to.deep.equal({ status: 1, errors })
    })

    it('rejects an invalid number of workers, also from WEB_CONCURRENCY', async () => {
      const errors = 'Set it to a number of processes from 1 to 999, or to "auto".'
      expect((await failure({}, '--workers', '0')).errors).to.equal(`--workers is "0". ${errors}`)
      expect((await failure({ WEB_CONCURRENCY: '-1' })).errors).to.equal(`WEB_CONCURRENCY is "-1". ${errors}`)
    })
  })

  itOnce('reads the number of workers from WEB_CONCURRENCY', async () => {
    served = await Served.start(main, ['start'], { DATABASE_URL: url, WEB_CONCURRENCY: '2' })
    expect(await served.workers(2)).to.have.length(2)
  })

  itOnce('completes a request that it is still receiving when it shuts down', async () => {
    await start()
    const { port } = new URL(served.url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write('GET /pid HTTP/1.1\r\nHost: x\r\n')
    await delay(100)
    served.kill('SIGTERM')
    await delay(700)
    socket.write('Accept: */*\r\n\r\n')
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    expect(chunk.toString())
      .to.match(/^HTTP\/1\.1 200 OK\r\n/)
      .and.to.match(/\r\nConnection: close\r\n/)
    expect(await served.ended).to.deep.equal({ status: 0, signal: null })
  })
})

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

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
