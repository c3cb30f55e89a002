import { expect } from 'chai'
import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Database } from '../../../src/index.js'
import { Client } from '../../support/clients.js'
import { newDatabase } from '../../support/databases.js'
import { kit } from '../../support/kit.js'
import { config } from '../../support/applications/orders.js'
import { Served, type Line } from '../../support/processes/served.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const main = new URL('../../support/applications/orders-main.js', import.meta.url).href
const failingMain = new URL('../../support/applications/failing-main.js', import.meta.url).href

describe('The processes of kit start --workers 2', function () {
  const FAILS = join(temporaryFolder(), 'fails')
  let url: string
  /** The application that a spec stops. */
  let served: Served
  /** The one that the other specs share: loading the framework takes longest. */
  let shared: Served | undefined

  before(async () => {
    url = await newDatabase()
    const database = new Database(config(url), 'test')
    await database.open()
    await database.migrate()
    await database.close()
  })

  afterEach(() => served?.remove())

  after(() => shared?.remove())

  async function running(): Promise<Served> {
    shared ??= await Served.start(failingMain, ['start'], { DATABASE_URL: url, WEB_CONCURRENCY: '2', FAILS })
    return shared
  }

  async function start(): Promise<void> {
    served = await Served.start(main, ['start', '--workers', '2'], { DATABASE_URL: url })
  }

  it('are as many as WEB_CONCURRENCY states', async () => {
    const serving = await running()
    expect(await serving.workers(2)).to.have.length(2)
  })

  it('transfers no connection to a busy worker while another one is free', async () => {
    const serving = await running()
    await serving.workers(2)
    const file = join(temporaryFolder(), 'busy')
    const busy = new Client(serving.url, 1, false).get(`/busy?file=${encodeURIComponent(file)}`)
    while (!existsSync(file)) await delay(5)
    let responses = 0
    const quick = Array.from({ length: 20 }, async () => {
      const { status } = await new Client(serving.url, 1, false).get('/pid')
      responses += 1
      return status
    })
    // The busy worker has at most one connection, which it has not confirmed.
    while (responses < 19) await delay(5)
    rmSync(dirname(file), { recursive: true })
    expect(new Set(await Promise.all(quick))).to.deep.equal(new Set([200]))
    expect((await busy).status).to.equal(200)
  })

  it('adds the worker to each line of the log', async () => {
    const serving = await running()
    const pids = await serving.workers(2)
    while (!pids.every((pid) => serving.log.some((line) => line.pid === pid))) await delay(5)
    const numbers = new Map(serving.log.map(({ pid, worker }) => [pid, worker]))
    expect(pids.map((pid) => numbers.get(pid)).toSorted()).to.deep.equal([1, 2])
    expect(numbers.get(serving.pid)).to.equal(undefined)
    expect((await fetch(`${serving.url}/up`)).status).to.equal(200)
  })

  it('restarts a worker that is stopped and then fails at its start with longer and longer pauses', async () => {
    const serving = await running()
    const [pid = 0] = await serving.workers(2)
    writeFileSync(FAILS, '')
    process.kill(pid, 'SIGTERM')
    const failures = (): Line[] => serving.log.filter((line) => Reflect.get(line, 'status') === 1)
    while (failures().length < 3) await delay(5)
    rmSync(FAILS)
    await serving.workers(2)
    const [first, ...pauses] = failures().map((line) => Reflect.get(line, 'pause'))
    // The worker that was stopped has failed once, too, unless it had served for ten seconds.
    expect(first).to.be.oneOf([100, 200])
    expect(pauses.slice(0, 2)).to.deep.equal([first * 2, first * 4])
  })

  it('completes pending and partially received requests after Ctrl-C, of which npm makes two signals', async () => {
    served = await running()
    shared = undefined
    await served.workers(2)
    const client = new Client(served.url, 1)
    expect((await client.get('/pid')).keeps).to.equal(true)
    const received = await partialRequest(served.url)
    const file = join(temporaryFolder(), 'pending')
    writeFileSync(file, '')
    const pending = new Client(served.url, 1).get(`/pending?file=${encodeURIComponent(file)}`)
    await served.logged('pending')
    served.kill('SIGINT')
    served.kill('SIGINT')
    await served.logged('SIGINT')
    // The workers begin to shut down a little later than the primary process.
    for (let keeps: boolean | undefined = true; keeps;) {
      const response = await client.get('/pid')
      expect(response.status, 'a request on an idle connection').to.equal(200)
      keeps = response.keeps
    }
    let error: string | undefined
    while (!error) error = (await new Client(served.url, 1, false).get('/pid')).error
    expect(error, 'a new connection, after the last that a worker receives').to.equal('ECONNREFUSED')
    rmSync(dirname(file), { recursive: true })
    // Without a request, the server would have closed the connection by now.
    expect((await pending).status, 'a pending request').to.equal(200)
    expect(await received.complete(), 'a partially received request')
      .to.match(/^HTTP\/1\.1 200 OK\r\n/)
      .and.to.match(/\r\nConnection: close\r\n/)
    expect(await served.ended).to.deep.equal({ status: 0, signal: null })
  })

  it('ends immediately after a second signal', async () => {
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

  it('kills a worker that does not end', async () => {
    served = await Served.start(
      new URL('../../support/applications/stubborn-main.js', import.meta.url).href,
      ['start', '--workers', '2'],
      {},
    )
    const folder = temporaryFolder()
    const file = join(folder, 'begun')
    const waiting = new Client(served.url).get(`/for-ever?file=${encodeURIComponent(file)}`)
    while (!existsSync(file)) await delay(5)
    rmSync(folder, { recursive: true })
    served.kill('SIGTERM')
    expect(await served.ended).to.deep.equal({ status: 1, signal: null })
    expect((await waiting).error).to.equal('ECONNRESET')
  })

  it('leaves no worker behind when the primary process is killed, and lets requests finish', async () => {
    await start()
    const pids = await served.workers(2)
    const slow = new Client(served.url).get('/slow?ms=500')
    await served.logged('slow')
    served.kill('SIGKILL')
    expect((await slow).status).to.equal(200)
    while (pids.some(isAlive)) await delay(20)
  })

  describe('when it cannot start', () => {
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
      expect(await failure({ PORT }, '--workers', '2')).to.deep.equal({ status: 1, errors, log: [] })
      other.close()
    })

    it('reports once that the database does not exist', async () => {
      const env = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/orders' }
      const errors =
        'The database postgres://127.0.0.1:1/orders cannot be opened: nothing listens there. Start the database ' +
        'server, or correct the url (ormconfig.ts, DATABASE_URL).'
      expect(await failure(env, '--workers', '2')).to.deep.equal({ status: 1, errors, log: [] })
    })

    it('reports a wrong declaration once', async () => {
      const errors =
        'Sessions need a secret in staging. Set SESSION_SECRET to a long random text. `kit generate secret` prints one.'
      const { status, errors: said } = await failure({ GO_ENV: 'staging' }, '--workers', '2')
      expect({ status, errors: said }).to.deep.equal({ status: 1, errors })
    })

    it('rejects an invalid number of workers, also from WEB_CONCURRENCY', async () => {
      const errors = 'Set it to a number of processes from 1 to 999, or to "auto".'
      const folder = temporaryFolder()
      const run = (env: NodeJS.ProcessEnv, ...args: string[]) => kit(folder, ['start', ...args], { env })
      expect((await run({}, '--workers', '0')).errors).to.equal(`--workers is "0". ${errors}`)
      expect((await run({ WEB_CONCURRENCY: '-1' })).errors).to.equal(`WEB_CONCURRENCY is "-1". ${errors}`)
    })
  })
})

/** Sends a request on a connection that has served one before, except for the end of its headers. */
async function partialRequest(url: string): Promise<{ complete: () => Promise<string> }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  let received = ''
  socket.on('data', (chunk) => (received += String(chunk)))
  socket.write('GET /pid HTTP/1.1\r\nHost: x\r\n\r\n')
  while (!received.includes('}')) await delay(5)
  received = ''
  socket.write('GET /pid HTTP/1.1\r\nHost: x\r\n')
  return {
    async complete() {
      socket.write('Accept: */*\r\n\r\n')
      await once(socket, 'close')
      return received
    },
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
