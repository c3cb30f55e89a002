import { expect } from 'chai'
import { DeclarationError, type Database } from '../../src/index.js'
import { beforeCommit } from '../../src/extension.js'
import { jobQueue, type JobQueue } from '../../src/jobs/index.js'
import { captureLog, type CapturedLog } from '../../src/testing/index.js'
import { failure } from '../support/failure.js'
import {
  Anything,
  behavior,
  Checked,
  digests,
  digestsDatabase,
  digestsUrl,
  Discard,
  Effect,
  Once,
  Reports,
  RetryLater,
  SendDigest,
  Slow,
} from '../support/applications/digests.js'
import { Site } from '../support/site.js'

function fails(): never {
  throw new Error('read')
}

describe('Jobs', () => {
  let database: Database
  let jobs: JobQueue
  let site: Site
  let log: CapturedLog

  beforeEach(async () => {
    database = digestsDatabase(await digestsUrl())
    log = captureLog()
    const made = digests(database, { logger: log.logger })
    jobs = made.jobs
    behavior.perform = () => undefined
    site = await Site.open(made.app)
  })

  afterEach(() => site.close())

  const texts = async () => (await database.manager.find(Effect)).map(({ text }) => text).toSorted()
  const rows = () => database.query('SELECT * FROM jobs') as Promise<Record<string, unknown>[]>
  const enqueue = (text: string, status = 201) =>
    site.post('/digests', { json: { text, status }, accept: 'json' })
  const add: JobQueue['enqueue'] = (...args) => jobs.enqueue(...args)
  const lines = () => log.lines.filter((line) => 'job' in line)

  it('exist when the request is committed, and run with what it has saved', async () => {
    const { status, json } = await enqueue('a')
    expect(status).to.equal(201)
    expect(json.id).to.match(/^[\da-f-]{36}$/)
    expect(await jobs.waiting(SendDigest)).to.deep.equal([{ text: 'a' }])
    expect(await jobs.drain()).to.deep.equal({ finished: 1, failed: [] })
    expect(await texts()).to.deep.equal(['report a', 'request a'])
    expect(await rows()).to.deep.equal([])
  })

  it('may be none yet: the queue of an application without jobs finds nothing to run', async () => {
    const none = jobQueue(database, { jobs: [] })
    expect(await none.drain()).to.deep.equal({ finished: 0, failed: [] })
  })

  it('do not exist when the request fails', async () => {
    await enqueue('a', 422)
    expect(await jobs.waiting(SendDigest)).to.deep.equal([])
    expect(await texts()).to.deep.equal([])
  })

  it('log one line for each run, with the id of the request, and without arguments', async () => {
    const { headers } = await enqueue('secret text')
    await jobs.drain()
    const [line] = lines()
    expect(line).to.include({ msg: 'job finished', name: 'send_digest', queue: 'default', attempt: 1 })
    expect(line?.['request_id']).to.equal(headers.get('x-request-id'))
    expect(line).to.have.any.keys('ms')
    expect(line).to.have.any.keys('late')
    expect(log.text()).to.not.contain('secret text')
  })

  it('are rolled back when they fail, and wait for their next attempt', async () => {
    behavior.perform = async (_args, job) => {
      await job.save(Object.assign(new Effect(), { text: 'undone' }))
      throw new Error('no')
    }
    await add(database.manager, Anything, { text: 'a' })
    expect(await failure(jobs.drain())).to.have.property('message', 'no')
    expect(await texts()).to.deep.equal([])
    const [row] = await rows()
    expect(row).to.include({ state: 'waiting', attempts: 1, worker: null })
    expect(Number(row?.['due_at']) - Number(row?.['failed_at'])).to.equal(3_600_000)
    expect(JSON.parse(String(row?.['error']))).to.include({ type: 'Error', message: 'no' })
    expect(lines()[0]).to.include({ msg: 'job failed', level: 40 })
  })

  it('are dead after the last attempt', async () => {
    behavior.perform = () => {
      throw new Error('no')
    }
    await add(database.manager, Anything, { text: 'a' })
    for (let run = 0; run < 3; run += 1) await jobs.drain({ delayed: true, rethrow: false })
    expect((await rows())[0]).to.include({ state: 'dead', attempts: 3, due_at: null })
    expect(lines().map(({ msg }) => msg)).to.deep.equal(['job failed', 'job failed', 'job is dead'])
    expect(await jobs.drain({ delayed: true })).to.deep.equal({ finished: 0, failed: [] })
  })

  it('end without another attempt by Discard', async () => {
    behavior.perform = () => {
      throw new Discard('The account is closed.')
    }
    await add(database.manager, Anything, { text: 'a' })
    await jobs.drain({ rethrow: false })
    expect(await rows()).to.deep.equal([])
  })

  it('run again by RetryLater, which does not count as an attempt', async () => {
    behavior.perform = () => {
      throw new RetryLater('1 hour')
    }
    await add(database.manager, Once, { text: 'a' })
    await jobs.drain({ rethrow: false })
    expect((await rows())[0]).to.include({ state: 'waiting', attempts: 0 })
    behavior.perform = () => undefined
    expect(await jobs.drain({ delayed: true })).to.deep.equal({ finished: 1, failed: [] })
  })

  it('fail by a RetryLater with a malformed delay', async () => {
    behavior.perform = ({ text }) => {
      throw new RetryLater(text as '1 hour')
    }
    for (const text of ['1 hor', '99999999999 days']) {
      await database.query('DELETE FROM jobs')
      await add(database.manager, Anything, { text })
      const { failed } = await jobs.drain({ rethrow: false })
      expect(String(failed[0])).to.contain(`The delay of RetryLater is "${text}". Use milliseconds`)
    }
    expect((await rows())[0]).to.include({ state: 'waiting', attempts: 1, worker: null })
  })

  it('wait for the default pause if their backoff fails', async () => {
    behavior.perform = () => Promise.reject(new Error('no'))
    behavior.backoff = () => 'soon' as '1 hour'
    try {
      await add(database.manager, Anything, { text: 'a' })
      const before = Date.now()
      await jobs.drain({ rethrow: false })
      const [row] = await rows()
      expect(row).to.include({ state: 'waiting', attempts: 1, worker: null })
      expect(Number(row?.['due_at'])).to.be.within(before + 12_000, Date.now() + 18_000)
      expect(lines().map(({ msg }) => msg)).to.deep.equal([
        'the backoff of the job failed, so it waits for the default pause',
        'job failed',
      ])
    } finally {
      behavior.backoff = () => '1 hour'
    }
  })

  it('are rolled back after their timeout', async () => {
    await add(database.manager, Slow, { text: 'a' })
    expect(await failure(jobs.drain())).to.have.property('name', 'JobTimeout')
    expect(await texts()).to.deep.equal([])
    expect((await rows())[0]).to.include({ state: 'waiting', attempts: 1 })
  })

  it('are rolled back after their timeout, even if a check before the commit does not end', async () => {
    behavior.perform = async (_args, job) => {
      await job.save(Object.assign(new Effect(), { text: 'checked' }))
      beforeCommit(job, () => new Promise(() => {}))
    }
    await add(database.manager, Checked, { text: 'a' })
    expect(await failure(jobs.drain())).to.have.property('name', 'JobTimeout')
    expect(await texts()).to.deep.equal([])
    expect((await rows())[0]).to.include({ state: 'waiting', attempts: 1 })
  })

  for (const [what, thrown] of [
    ['an object without a prototype', Object.create(null)],
    ['a proxy that throws', new Proxy({}, { get: fails, getPrototypeOf: fails, has: fails, ownKeys: fails })],
  ])
    it(`fail like any other if they throw ${what}`, async () => {
      behavior.perform = () => {
        throw thrown
      }
      await add(database.manager, Once, { text: 'a' })
      await jobs.drain({ rethrow: false })
      const [row] = await rows()
      expect(row).to.include({ state: 'dead', attempts: 1 })
      expect(JSON.parse(String(row?.['error'])).message).to.contain('Throw an Error instead.')
    })

  it('are due after a delay, or at a time', async () => {
    await add(database.manager, SendDigest, { text: 'a' }, { delay: '10 minutes' })
    await add(database.manager, SendDigest, { text: 'b' }, { at: new Date(Date.now() + 3_600_000) })
    expect(await jobs.drain()).to.deep.equal({ finished: 0, failed: [] })
    expect(await jobs.drain({ delayed: true })).to.deep.equal({ finished: 2, failed: [] })
  })

  it('run in the order of their queues, and of their due times', async () => {
    const order: string[] = []
    behavior.perform = ({ text }) => order.push(text)
    await add(database.manager, Once, { text: 'default' })
    await add(database.manager, Anything, { text: 'urgent 2' })
    await add(database.manager, Anything, { text: 'urgent 1' }, { at: new Date(0) })
    await jobs.drain()
    expect(order).to.deep.equal(['urgent 1', 'urgent 2', 'default'])
  })

  it('that are unique are enqueued once until they start', async () => {
    const unique = true
    const id = await add(database.manager, Anything, { text: 'a' }, { unique })
    expect(id).to.be.a('string')
    expect(await add(database.manager, Anything, { text: 'a' }, { unique })).to.equal(undefined)
    expect(await add(database.manager, Anything, { text: 'b' }, { unique })).to.be.a('string')
    expect(await add(database.manager, Anything, { text: 'c' }, { unique: 'b' })).to.be.a('string')
    let inside: unknown
    behavior.perform = async (args, job) => {
      if (args.text === 'a') inside ??= await job.enqueue(Anything, args, { unique, delay: '1 minute' })
    }
    await jobs.drain()
    expect(inside).to.be.a('string')
  })

  it('enqueue others in their transaction', async () => {
    behavior.perform = async (_args, job) => {
      const ids = await job.enqueueAll(SendDigest, [{ text: 'b' }, { text: 'c' }])
      expect(ids).to.have.length(2)
    }
    await add(database.manager, Anything, { text: 'a' })
    expect(await jobs.drain()).to.deep.equal({ finished: 3, failed: [] })
    expect(await texts()).to.deep.equal(['report b', 'report c'])
  })

  it('that do not await their queries fail', async () => {
    behavior.perform = (_args, job) => void job.save(Object.assign(new Effect(), { text: 'lost' }))
    await add(database.manager, Anything, { text: 'a' })
    expect(await failure(jobs.drain())).to.have.property('name', 'NotAwaited')
    expect(await texts()).to.deep.equal([])
  })

  it('run callbacks after their commit', async () => {
    const seen: string[][] = []
    behavior.perform = async (_args, job) => {
      await job.save(Object.assign(new Effect(), { text: 'done' }))
      job.afterCommit(async () => seen.push(await texts()))
    }
    await add(database.manager, Anything, { text: 'a' })
    await jobs.drain()
    expect(seen).to.deep.equal([['done']])
  })

  it('find, lock, destroy, translate and build URLs as requests do', async () => {
    const seen: unknown[] = []
    behavior.perform = async (_args, job) => {
      const effect = Object.assign(new Effect(), { text: 'x' })
      await job.save(effect)
      const found = await job.find(Effect, effect.id, { lock: true })
      await job.destroy(found)
      seen.push(
        found.id === effect.id,
        job.locale,
        job.t('validation.present', { attribute: 'Title' }),
        job.attempt,
      )
    }
    await add(database.manager, Anything, { text: 'a' })
    await jobs.drain()
    expect(seen).to.deep.equal([true, 'en-US', 'Title cannot be blank.', 1])
    expect(await texts()).to.deep.equal([])
  })

  it('do not commit when another process has taken over', async () => {
    behavior.perform = async (_args, job) => {
      await job.save(Object.assign(new Effect(), { text: 'late' }))
      // As another process would, outside of the job's transaction.
      if (database.options.type === 'better-sqlite3') await job.tx.query("UPDATE jobs SET worker = 'other'")
      else await database.query("UPDATE jobs SET worker = 'other', attempts = attempts + 1")
    }
    await add(database.manager, Anything, { text: 'a' })
    await jobs.drain({ rethrow: false })
    expect(await texts()).to.deep.equal([])
    expect(lines().map(({ msg }) => msg)).to.include('lost its lease')
  })

  it('run after one whose process ended during its last attempt, which is dead', async () => {
    await add(database.manager, Once, { text: 'a' }, { at: new Date(0) })
    await database.query("UPDATE jobs SET state = 'running', worker = 'killed', attempts = 1")
    await add(database.manager, Once, { text: 'b' })
    const { finished, failed } = await jobs.drain({ rethrow: false })
    expect({ finished, failed: failed.map(String) }).to.deep.equal({
      finished: 1,
      failed: ['CannotRun: The process that ran the job ended, and the job has no attempt left.'],
    })
    expect((await rows())[0]).to.include({ state: 'dead', due_at: null, worker: null })
    expect(lines()[0]).to.include({ msg: 'job is dead', attempt: 1 })
  })

  it('with arguments that are not an object are dead at once', async () => {
    await add(database.manager, Anything, { text: 'a' })
    await database.query("UPDATE jobs SET arguments = '[1'")
    await jobs.drain({ rethrow: false })
    const [row] = await rows()
    expect(row).to.include({ state: 'dead', attempts: 1 })
    expect(JSON.parse(String(row?.['error'])).message).to.equal(
      'The arguments of anything in the table are not a JSON object, so it cannot run.',
    )
  })

  it('can fail with a value that is not an Error', async () => {
    behavior.perform = () => {
      throw 'out of paper'
    }
    await add(database.manager, Anything, { text: 'a' })
    expect(await jobs.drain({ rethrow: false })).to.deep.equal({ finished: 0, failed: ['out of paper'] })
    const [row] = await rows()
    expect(row).to.include({ state: 'waiting', attempts: 1 })
    expect(JSON.parse(String(row?.['error']))).to.deep.equal({ type: 'string', message: 'out of paper' })
  })

  it('are enqueued with objects without a prototype, and are unique by all of their arguments', async () => {
    const { groups } = /(?<text>a)/.exec('a') ?? {}
    const options = { unique: true }
    const ids = [
      await add(database.manager, Anything, { ...groups, more: { groups, other: groups } } as never, options),
      await add(database.manager, Anything, { a: 'b,c', 'a,b': 'c' } as never, options),
      await add(database.manager, Anything, { 'a,b': 'c', a: 'b,c' } as never, options),
    ]
    expect(ids.map((id) => typeof id)).to.deep.equal(['string', 'string', 'undefined'])
  })

  it('are not enqueued with arguments that contain themselves', async () => {
    const args = { text: 'a', list: [] as unknown[] }
    args.list.push({ args })
    expect(String(await failure(add(database.manager, Anything, args)))).to.contain(
      'arguments.list[0].args of anything contains itself. Pass ids instead of objects.',
    )
  })

  it('are not enqueued with arguments that are nested too deep', async () => {
    let text: unknown = 'a'
    for (let depth = 0; depth < 99; depth++) text = [text]
    expect(await add(database.manager, Anything, { text } as never)).to.be.a('string')
    for (let depth = 0; depth < 5000; depth++) text = [text]
    const error = await failure(add(database.manager, Anything, { text } as never))
    expect(error).to.be.instanceOf(DeclarationError)
    expect(String(error)).to.contain('The arguments of anything are nested more than 100 levels deep.')
  })

  it("are not enqueued with a delay that isn't a number or has no end", async () => {
    for (const delay of [Number.NaN, 1e300, Infinity, '99999999999 days', -1] as const) {
      const error = await failure(add(database.manager, Anything, { text: 'a' }, { delay }))
      const shown = typeof delay === 'number' ? delay : `"${delay}"`
      expect(String(error)).to.contain(`The delay of anything is ${shown}. Use milliseconds`)
      expect(String(error)).to.contain('up to 36500 days.')
    }
    expect(await add(database.manager, Anything, { text: 'a' }, { delay: '36500 days' })).to.be.a('string')
  })

  for (const [title, args, path] of [
    ['a record', { text: new Effect() }, 'arguments.text'],
    ['a date', { text: new Date() }, 'arguments.text'],
    ['undefined in a list', { text: [undefined] }, 'arguments.text[0]'],
    ['NaN', { text: { a: Number.NaN } }, 'arguments.text.a'],
    ['an instance of a class', { text: new URL('http://a.example') }, 'arguments.text'],
    ['a function', { text: () => 1 }, 'arguments.text'],
    ['a bigint', { text: 1n }, 'arguments.text'],
    ['an infinite number', { text: [Infinity] }, 'arguments.text[0]'],
  ] as const)
    it(`are not enqueued with ${title}`, async () => {
      const error = await failure(add(database.manager, Anything, args as never))
      expect(error).to.be.instanceOf(DeclarationError)
      expect(String(error)).to.contain(`${path} of anything is `)
    })

  it('are not enqueued with anything but one object', async () => {
    for (const args of ['text', null, [1]])
      expect(String(await failure(add(database.manager, Anything, args as never)))).to.contain(
        'The arguments of anything must be one object.',
      )
  })

  it('replace dependencies in specs', async () => {
    const app = site['app']
    const restore = app.injector.replace([[Reports, { fetch: () => Promise.resolve('fake') }]])
    await enqueue('a')
    await jobs.drain()
    await restore()
    expect(await texts()).to.deep.equal(['fake', 'request a'])
  })
})
