import { expect } from 'chai'
import { setTimeout as delay } from 'node:timers/promises'
import { QueryFailedError } from 'typeorm'
import { App, databaseSessions, sessionsTable, transaction, type Database } from '../../src/index.js'
import { jobQueue, type JobQueueOptions } from '../../src/jobs/index.js'
import { captureLog, type CapturedLog } from '../../src/testing/index.js'
import {
  Anything,
  behavior,
  createTables,
  digests,
  digestsDatabase,
  digestsUrl,
  Effect,
  Once,
} from '../support/applications/digests.js'
import { newDatabase } from '../support/databases.js'
import { failure } from '../support/failure.js'
import { Site } from '../support/site.js'

describe('A worker', () => {
  let url: string
  let database: Database
  let log: CapturedLog
  const sites: Site[] = []

  beforeEach(async () => {
    url = await digestsUrl()
    log = captureLog()
    behavior.perform = () => undefined
  })

  afterEach(async () => {
    for (const site of sites.splice(0)) await site.close()
  })

  /** An application that serves, and runs its jobs as `kit start` does. */
  async function open(queue: Partial<JobQueueOptions> = {}, drainTimeout = 30_000, env = 'production') {
    database = digestsDatabase(url)
    const { app, jobs } = digests(database, { logger: log.logger, env, queue, drainTimeout })
    const site = await Site.open(app)
    sites.push(site)
    return { site, jobs, app }
  }

  const rows = () => database.query('SELECT * FROM jobs') as Promise<Record<string, unknown>[]>
  const lines = () => log.lines.filter((line) => 'job' in line)

  async function until(isDone: () => unknown): Promise<void> {
    while (!(await isDone())) await delay(10)
  }

  it('explains an undefined id in development by the arguments of the job', async () => {
    behavior.perform = (_args, job) => job.find(Effect, undefined)
    const { jobs } = await open({}, 30_000, 'development')
    await jobs.enqueue(database.manager, Once, { text: 'a' })
    await until(() => lines().length)
    expect(lines()[0]).to.include({ msg: 'job is dead' })
    expect(JSON.stringify(lines()[0])).to.contain('If it is from the arguments of the job, they lack it.')
  })

  it('does not start with a JOBS that is not a number', async () => {
    process.env['JOBS'] = 'many'
    try {
      expect(String(await failure(open()))).to.contain('JOBS is "many". Set it to a number of jobs.')
    } finally {
      delete process.env['JOBS']
    }
  })

  it('runs the job of a request at once', async () => {
    const { site } = await open()
    await delay(50)
    const { status } = await site.post('/digests', { json: { text: 'a' } })
    expect(status).to.equal(201)
    await until(() => lines().length)
    expect(lines()[0]).to.include({ msg: 'job finished' })
    expect(Number(lines()[0]?.['late'])).to.be.lessThan(800)
    expect(await rows()).to.deep.equal([])
    expect(await database.manager.count(Effect)).to.equal(2)
  })

  it('lets the process handle other events between the jobs of a long queue', async () => {
    const { jobs } = await open()
    let performed = 0
    let performedBefore: number | undefined
    behavior.perform = () => {
      performed += 1
      if (performed === 1) setImmediate(() => (performedBefore = performed))
    }
    await database.transaction(async (tx) => {
      for (let job = 0; job < 100; job++) await jobs.enqueue(tx, Anything, { text: 'a' })
    })
    await until(() => performed === 100)
    expect(performedBefore).to.be.lessThan(100)
  })

  it('tries again after a conflict of its claim, without an error in the log', async () => {
    const { jobs } = await open()
    const { store } = jobs.internal
    const claim = store.claim.bind(store)
    let claims = 0
    store.claim = (...args) => {
      claims += 1
      if (claims > 1) return claim(...args)
      const deadlock = Object.assign(new Error('Deadlock found'), { code: 'ER_LOCK_DEADLOCK' })
      return Promise.reject(new QueryFailedError('UPDATE jobs', [], deadlock))
    }
    await jobs.enqueue(database.manager, Anything, { text: 'a' })
    await until(() => lines().length)
    expect(lines()[0]).to.include({ msg: 'job finished' })
    expect(log.lines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
  })

  it('hands a job back that outlasts the shutdown, without counting the attempt', async () => {
    const { site, jobs } = await open({}, 400)
    let reason: unknown
    behavior.perform = async (_args, job) => {
      job.signal.addEventListener('abort', () => (reason = job.signal.reason))
      await job.save(Object.assign(new Effect(), { text: 'undone' }))
      await delay(60_000, undefined, { ref: false })
    }
    await jobs.enqueue(database.manager, Anything, { text: 'a' })
    await until(async () => (await rows())[0]?.['state'] === 'running')
    await site.close()
    database = digestsDatabase(url)
    await database.open()
    expect((await rows())[0]).to.include({ state: 'waiting', attempts: 0, worker: null })
    expect(await database.manager.count(Effect)).to.equal(0)
    expect(reason).to.have.property('name', 'ShuttingDown')
    expect(lines().map(({ msg }) => msg)).to.deep.equal(['handed back'])
    await database.close()
  })

  it('waits for a job that ends before the deadline of the shutdown', async () => {
    const { site, jobs } = await open()
    behavior.perform = async (_args, job) => {
      await delay(300)
      await job.save(Object.assign(new Effect(), { text: 'done' }))
    }
    await jobs.enqueue(database.manager, Anything, { text: 'a' })
    await until(async () => (await rows())[0]?.['state'] === 'running')
    await site.close()
    expect(lines().map(({ msg }) => msg)).to.deep.equal(['job finished'])
  })

  it('makes a job with one attempt dead that outlasts the shutdown', async () => {
    const { site, jobs } = await open({}, 200)
    behavior.perform = () => delay(60_000, undefined, { ref: false })
    await jobs.enqueue(database.manager, Once, { text: 'a' })
    await until(async () => (await rows())[0]?.['state'] === 'running')
    await site.close()
    expect(lines().map(({ msg }) => msg)).to.deep.equal(['job is dead'])
  })

  it('takes over the job of a process that was killed, when its lease expires', async () => {
    const { jobs } = await open({ lease: '1 second' })
    await jobs.enqueue(database.manager, Anything, { text: 'a' }, { delay: '1 hour' })
    await jobs.enqueue(database.manager, Once, { text: 'b' }, { delay: '1 hour' })
    const now = Date.now()
    await database.query(
      `UPDATE jobs SET state = 'running', worker = 'killed', attempts = 1, due_at = ${now + 500}`,
    )
    await until(() => lines().length === 2)
    expect(lines().find(({ name }) => name === 'anything')).to.include({ msg: 'job finished', attempt: 2 })
    expect(lines().find(({ name }) => name === 'once')).to.include({ msg: 'job is dead', attempt: 1 })
  })

  it('runs its own job again when the lease expires, if the answer to its claim or the end of its run was lost', async () => {
    const { jobs } = await open({ lease: '1 second' })
    let worker: unknown
    behavior.perform = async () => (worker ??= (await rows())[0]?.['worker'])
    await jobs.enqueue(database.manager, Anything, { text: 'a' })
    await until(() => lines().length)
    await jobs.enqueue(database.manager, Anything, { text: 'b' }, { delay: '1 hour' })
    const due = Date.now() + 300
    const columns = `state = 'running', worker = '${String(worker)}', attempts = 1, due_at = ${due}`
    await database.query(`UPDATE jobs SET ${columns}`)
    await until(() => lines().length === 2)
    expect(lines()[1]).to.include({ msg: 'job finished', attempt: 2 })
  })

  it('hands a job back before the sessions close the database', async () => {
    url = await newDatabase()
    await createTables(url)
    database = await digestsDatabase(url).open()
    const runner = database.createQueryRunner()
    await runner.createTable(sessionsTable(runner))
    const queue = { jobs: [Anything], queues: ['urgent', 'default'] }
    const app = new App({
      api: true,
      env: 'production',
      secret: 'x'.repeat(40),
      logger: log.logger,
      drainTimeout: 300,
      sessionStore: databaseSessions(database),
    })
    const jobs = jobQueue(database, queue)
    app.use(transaction(database)).extend(jobs)
    const site = await Site.open(app)
    behavior.perform = () => delay(60_000, undefined, { ref: false })
    await jobs.enqueue(database.manager, Anything, { text: 'a' })
    await until(async () => (await rows())[0]?.['state'] === 'running')
    await site.close()
    expect(database.isInitialized).to.equal(false)
    await database.open()
    expect((await rows())[0]).to.include({ state: 'waiting', attempts: 0, worker: null })
    await database.close()
  })

  it('extends the lease of a job that runs longer, and aborts one that it has lost', async () => {
    const { jobs } = await open({ lease: '1 second' })
    let aborted = 0
    behavior.perform = async ({ text }, job) => {
      job.signal.addEventListener('abort', () => (aborted += 1))
      await delay(text === 'long' ? 1500 : 60_000, undefined, { signal: job.signal, ref: false })
    }
    await jobs.enqueue(database.manager, Anything, { text: 'long' })
    await until(() => lines().length)
    expect(lines()[0]).to.include({ msg: 'job finished', attempt: 1 })
    await jobs.enqueue(database.manager, Anything, { text: 'discarded' })
    await until(async () => (await rows())[0]?.['state'] === 'running')
    await database.query('DELETE FROM jobs')
    await until(() => lines().length === 2)
    expect(lines()[1]).to.include({ msg: 'lost its lease' })
    expect(aborted).to.equal(1)
  })
})
