import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database } from '../../../src/index.js'
import { Effect, digestsDatabase, digestsUrl } from '../../support/applications/digests.js'
import {
  KilledAt,
  killedJobs,
  Outside,
  Paused,
  points,
  Work,
} from '../../support/applications/killed-jobs-app.js'
import { engine } from '../../support/engine.js'
import { Served } from '../../support/processes/served.js'
import { openProxy } from '../../support/servers/proxy.js'
import { Site } from '../../support/site.js'
import { temporaryFolder } from '../../support/temporary-folder.js'

const main = new URL('../../support/applications/killed-jobs-main.js', import.meta.url).href

/** The number of jobs beside which processes are killed, and that of ticks: more with .ci/run and `npm run soak:jobs`. */
const count = Number(process.env['KIT_JOBS'] ?? 100)
const ticks = Number(process.env['KIT_TICKS'] ?? 4)

/** An option of Node.js for a clock that is an hour ahead. */
const hourAhead = `--import=data:text/javascript,${encodeURIComponent(`
  const { now } = Date
  globalThis.Date = class extends Date {
    constructor(...time) { super(...(time.length ? time : [now() + 3600000])) }
    static now() { return now() + 3600000 }
  }`)}`

describe('Jobs of processes that are killed', function () {
  this.timeout(Math.max(120_000, count * 200, ticks * 4000))
  let url: string
  let database: Database
  let jobs: ReturnType<typeof killedJobs>['jobs']
  const processes = new Set<Served>()

  beforeEach(async () => {
    url = await digestsUrl()
    database = digestsDatabase(url)
    ;({ jobs } = killedJobs(url))
    await database.open()
  })

  afterEach(async () => {
    await Promise.all([...processes].map((one) => one.remove()))
    processes.clear()
    await database.close()
  })

  function work(args: string[] = [], env: NodeJS.ProcessEnv = {}): Served {
    const served = new Served(main, ['work', '--queues', 'default', ...args], {
      DATABASE_URL: url,
      GO_ENV: 'production',
      ...env,
    })
    processes.add(served)
    return served
  }

  const texts = async () => (await database.manager.find(Effect)).map(({ text }) => text).toSorted()
  const rows = () => database.query('SELECT * FROM jobs') as Promise<Record<string, unknown>[]>

  async function untilEmpty(): Promise<void> {
    while ((await rows()).length > 0) await delay(20)
  }

  it('have their effect once, wherever a process was killed, and effects outside of the database at least once', async () => {
    const file = join(temporaryFolder(), 'sent')
    for (const point of points) await jobs.enqueue(database.manager, KilledAt, { point })
    const id = await jobs.enqueue(database.manager, Outside, { file })
    // Each process that starts a job for the first time is killed by it.
    const killed = Array.from({ length: points.length + 1 }, () => work(['--jobs', '1']))
    // On a busy machine, a process can lose the lease before it reaches its point.
    await Promise.race([untilEmpty(), Promise.all(killed.map(({ ended }) => ended))])
    const site = await Site.open(killedJobs(url, 'production').app)
    await untilEmpty()
    await site.close()
    expect(await texts()).to.deep.equal([...points, 'outside'].toSorted())
    const sent = readFileSync(file, 'utf8').trim().split('\n')
    expect(sent.length).to.be.greaterThan(1)
    expect(new Set(sent)).to.deep.equal(new Set([id]))
  })

  it(`have each effect once, for ${count} jobs and workers of which one is killed again and again`, async () => {
    const expected = Array.from({ length: count }, (_, index) => `job ${index}`)
    await database.transaction(async (tx) => {
      for (const text of expected) await jobs.enqueue(tx, Work, { text })
    })
    const workers = Array.from({ length: count > 1000 ? 4 : 2 }, () => work(['--jobs', '2']))
    const done = untilEmpty()
    for (let kills = 0; kills < count / 25; kills += 1) {
      const victim = workers[kills % workers.length]
      // A worker that has begun ends some jobs, however slow the machine is.
      await Promise.race([done, victim?.logged('job finished')])
      await Promise.race([done, delay(100)])
      if ((await rows()).length === 0) break
      victim?.kill('SIGKILL')
      workers[kills % workers.length] = work(['--jobs', '2'])
    }
    await done
    expect(await texts()).to.deep.equal(expected.toSorted())
  })

  it('have the effect of one process when another one was paused for longer than its lease', async () => {
    const file = join(temporaryFolder(), 'paused')
    await jobs.enqueue(database.manager, Paused, { file })
    const paused = work()
    while (!existsSync(file)) await delay(5)
    paused.kill('SIGSTOP')
    if (engine === 'sqlite') {
      // The paused process holds the only write lock, so that nobody can take over.
      await delay(1200)
      paused.kill('SIGCONT')
      await untilEmpty()
      expect(await texts()).to.deep.equal(['attempt 1'])
      return
    }
    work()
    await untilEmpty()
    paused.kill('SIGCONT')
    await paused.logged('lost its lease')
    expect(await texts()).to.deep.equal(['attempt 2'])
  })

  if (engine !== 'sqlite')
    for (const when of ['before', 'after'] as const)
      it(`have their effect once when the connection is lost ${when} the commit`, async () => {
        const proxy = await openProxy(url)
        await jobs.enqueue(database.manager, Work, { text: 'cut' })
        // The second commit is that of the job.
        const worker = work(['--jobs', '1'], { DATABASE_URL: proxy.url })
        await worker.logged('running jobs')
        proxy.cut('DELETE FROM', when)
        await untilEmpty()
        expect(await texts()).to.deep.equal(['cut'])
        worker.kill('SIGKILL')
        await proxy.close()
      })

  it('run each tick of a schedule once, with several processes of which one is killed, and whose clocks are an hour apart', async () => {
    const workers = [work(['--queues', 'ticks']), work(['--queues', 'ticks'], { NODE_OPTIONS: hourAhead })]
    // After every third tick, the other one is killed, so that time is enough for its successor to start.
    for (let kills = 0, ran = 0; ran < ticks; ran = (await texts()).length) {
      await delay(100)
      if (Math.floor(ran / 3) === kills) continue
      workers[kills % 2]?.kill('SIGKILL')
      workers[kills % 2] = work(['--queues', 'ticks'], kills % 2 ? { NODE_OPTIONS: hourAhead } : {})
      kills += 1
    }
    for (const worker of workers) worker.kill('SIGKILL')
    const seconds = await texts()
    expect(new Set(seconds).size).to.equal(seconds.length)
  })

  it('exist exactly if the request was committed, with a server that is killed', async () => {
    const served = await Served.start(main, ['start'], { DATABASE_URL: url, GO_ENV: 'production', JOBS: '0' })
    processes.add(served)
    const confirmed: string[] = []
    const requests = Array.from({ length: 8 }, async (_, lane) => {
      for (let index = 0; ; index += 1) {
        const text = `${lane} ${index}`
        const body = JSON.stringify({ text, fails: index % 2 === 1 })
        const headers = { 'Content-Type': 'application/json' }
        const response = await fetch(`${served.url}/work`, { method: 'POST', headers, body }).catch(
          () => undefined,
        )
        if (!response) return
        if (response.status === 201) confirmed.push(text)
      }
    })
    while (confirmed.length < Math.min(count, 200)) await delay(5)
    served.kill('SIGKILL')
    await Promise.all(requests)
    const enqueued = (await rows())
      .map((row) => JSON.parse(String(row['arguments'])).text as string)
      .toSorted()
    const saved = (await texts()).map((text) => text.replace('request ', '')).toSorted()
    expect(enqueued).to.deep.equal(saved)
    expect(confirmed.filter((text) => !enqueued.includes(text))).to.deep.equal([])
  })

  it('exist exactly if the request was committed, for 400 requests at once of which half fail', async () => {
    const { app } = killedJobs(url)
    const site = await Site.open(app)
    const all = Array.from({ length: 400 }, (_, index) =>
      site.post('/work', { json: { text: `${index}`, fails: index % 2 === 1 } }),
    )
    const responses = await Promise.all(all)
    const created = responses.flatMap(({ status }, index) => (status === 201 ? [`${index}`] : []))
    const enqueued = (await rows()).map((row) => JSON.parse(String(row['arguments'])).text as string)
    expect(enqueued.toSorted()).to.deep.equal(created.toSorted())
    expect(created).to.have.length(200)
    await site.close()
  })
})
