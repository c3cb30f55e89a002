import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { digestsDatabase, digestsUrl } from '../../support/applications/digests.js'
import { describeOnce } from '../../support/engine.js'
import { environment, kit, kitFile, newApplication, type Run } from '../../support/kit.js'
import { Served } from '../../support/processes/served.js'

const nap = `import { setTimeout } from 'node:timers/promises'
import { Job, Schedule, type JobContext } from 'resource-kit/jobs'

@Job({ attempts: 1 })
@Schedule('0 3 * * *', { arguments: { seconds: 1 } })
export class Nap {
  async perform({ seconds }: { seconds: number; password?: string }, job: JobContext) {
    if (seconds < 0) throw new Error('There is no negative nap.')
    await setTimeout(seconds * 1000, undefined, { signal: job.signal })
  }
}
`

describeOnce('kit jobs and kit work', () => {
  let folder: string
  let remove: () => void

  const run = (...args: string[]): Promise<Run> =>
    kit(folder, args, { env: { GO_ENV: 'development', LOG_LEVEL: 'silent' } })

  async function list(): Promise<Record<string, unknown>[]> {
    return JSON.parse((await run('jobs', 'list', '--json')).output)
  }

  before(async () => {
    ;({ folder, remove } = await newApplication())
    const app = readFileSync(join(folder, 'src/app.ts'), 'utf8')
    const without = await run('work')
    expect(without).to.include({ status: 1 })
    expect(without.errors).to.match(/^The application has no jobs\. Generate one/)
    await run('generate', 'job', 'nap', 'seconds:float')
    expect(readFileSync(join(folder, 'src/app.ts'), 'utf8')).to.not.equal(app)
    writeFileSync(join(folder, 'src/jobs/nap.ts'), nap)
  })

  after(() => remove())

  it('name kit db migrate while the tables are missing', async () => {
    for (const command of ['jobs', 'work']) {
      const { status, errors } = await run(command)
      expect({ status, errors }).to.deep.equal({
        status: 1,
        errors: 'The tables of jobs do not exist. Run `kit db migrate`.',
      })
    }
    expect((await run('db', 'migrate')).status).to.equal(0)
    expect((await run('jobs')).output).to.equal('There are no jobs.')
  })

  it('enqueue, run, show, retry and discard jobs', async () => {
    const { output: id } = await run('jobs', 'enqueue', 'nap', '{"seconds": -1, "password": "opensesame"}')
    expect((await run('jobs')).output).to.match(/^QUEUE +\| WAITING .*\ndefault \| 1 /)
    const worked = await run('work', '--until-empty')
    expect(worked.status, worked.errors).to.equal(0)
    expect(await list()).to.have.length(1)
    expect((await list())[0]).to.include({
      id,
      state: 'dead',
      attempts: 1,
      error: 'There is no negative nap.',
    })
    const { output } = await run('jobs', 'show', id)
    expect(JSON.parse(output)).to.deep.include({ arguments: { seconds: -1, password: '[FILTERED]' } })
    expect(output).to.contain('nap.ts:').and.to.not.contain('opensesame')
    expect((await run('jobs', 'retry', '--dead', '--name', 'nap')).output).to.equal('1 job is due again.')
    expect((await list())[0]).to.include({ state: 'waiting', attempts: 0 })
    expect((await run('jobs', 'retry', id)).output).to.equal('1 job is due again.')
    expect((await run('jobs', 'discard', '--name', 'nap', '-y')).output).to.equal('1 job is discarded.')
    expect(await list()).to.deep.equal([])
  })

  it('list and discard jobs whose class was removed, by their name', async () => {
    const { output: id } = await run('jobs', 'enqueue', 'nap', '{"seconds": 1}')
    const path = join(folder, 'src/jobs/nap.ts')
    writeFileSync(path, nap.replace('@Job({', "@Job({ name: 'doze',"))
    const counts = await run('jobs')
    expect(counts.output).to.contain('No class declares nap, so its jobs do not run.')
    expect((await run('jobs', 'list', '--name', 'nap')).output).to.contain(id)
    expect((await run('jobs', 'enqueue', 'nap', '{"seconds": 1}')).errors).to.equal(
      'There is no job "nap". Known: doze.',
    )
    expect((await run('jobs', 'discard', '--name', 'nap', '-y')).output).to.equal('1 job is discarded.')
    writeFileSync(path, nap)
    expect(await list()).to.deep.equal([])
  })

  it('list schedules', async () => {
    const { output } = await run('jobs', 'schedules', '--json')
    const [schedule] = JSON.parse(output) as Record<string, unknown>[]
    expect(schedule).to.include({ name: 'nap', expression: '0 3 * * *', time_zone: 'UTC' })
    expect(schedule?.['next']).to.match(/T03:00:00\.000Z$/)
  })

  for (const [args, message] of [
    [['jobs', 'show', 'x'], 'There is no job x. `kit jobs list` shows the ids.'],
    [['jobs', 'list', '--state', 'lost'], 'There is no state "lost". Known: waiting, running, dead.'],
    [['jobs', 'list', '--queue', 'x'], 'There is no queue "x". Known: default.'],
    [['jobs', 'enqueue', 'x'], 'There is no job "x". Known: nap.'],
    [
      ['jobs', 'enqueue', 'nap', '[1]'],
      'The arguments of nap must be one object. Pass one: { user_id: user.id }.',
    ],
    [['jobs', 'enqueue', 'nap', '{'], `{ is not JSON. Quote it for the shell: '{"user_id": "..."}'.`],
    [['jobs', 'retry'], 'Name the ids of jobs, or use --dead for all dead ones, or --name.'],
    [['work', '--jobs', '0'], '`kit work` runs no jobs with 0. Set --jobs or JOBS to 1 or more.'],
    [['work', '--jobs', 'x'], '--jobs is "x". Set it to a number of jobs from 0 to 999.'],
    [
      ['work', '--queues', 'x'],
      '--queues uses the queue "x", which isn\'t declared. Declared: default. Add it to jobQueue(database, { queues: [...] }).',
    ],
  ] as const)
    it(`reject kit ${args.join(' ')}`, async () => {
      expect(await run(...args)).to.include({ status: 1, errors: message })
    })

  it('hand a long job back when kit dev restarts, which waits for a second at most', async () => {
    const file = join(folder, 'src/jobs/nap.ts')
    const patient = nap.replace('{ attempts: 1 }', '').replace(', { signal: job.signal }', '')
    writeFileSync(file, patient)
    await run('jobs', 'enqueue', 'nap', '{"seconds": 100}')
    const env = environment({ PORT: '0', GO_ENV: 'development' })
    const dev = spawn(process.execPath, [kitFile, 'dev'], { cwd: folder, env })
    try {
      let output = ''
      for (const stream of [dev.stdout, dev.stderr])
        stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
      const started = () => output.match(/ready after/g)?.length ?? 0
      const isRunning = async () => (await list())[0]?.['state'] === 'running'
      while (started() < 1 || !(await isRunning())) await delay(50)
      writeFileSync(file, `${patient}// changed\n`)
      while (started() < 2) await delay(50)
      while (!(await isRunning())) await delay(50)
      expect((await list())[0]).to.include({ attempts: 1 })
      expect(output).to.include('handed back').and.not.to.include('finishing')
    } finally {
      const ended = once(dev, 'close')
      dev.kill('SIGTERM')
      await ended
    }
  })
})

describe('kit start with jobs', () => {
  const main = new URL('../../support/applications/killed-jobs-main.js', import.meta.url).href
  let served: Served

  afterEach(() => served.remove())

  for (const args of [['start'], ['start', '--workers', '2']])
    it(`runs a job that a request enqueues at once, and ends it before it exits: kit ${args.join(' ')}`, async () => {
      const url = await digestsUrl()
      served = await Served.start(main, args, { DATABASE_URL: url, GO_ENV: 'production' })
      const post = (text: string) =>
        fetch(`${served.url}/work`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ text }),
        })
      await post('first')
      await served.logged('job finished')
      expect((await post('last')).status).to.equal(201)
      served.kill('SIGTERM')
      expect(await served.ended).to.deep.equal({ status: 0, signal: null })
      const database = await digestsDatabase(url).open()
      const rows: { state: string }[] = await database.query('SELECT state FROM jobs')
      await database.close()
      expect(rows.filter(({ state }) => state === 'running')).to.deep.equal([])
      const runs = served.log.filter(({ msg }) => msg === 'job finished')
      const pids = new Set(runs.map(({ pid }) => pid))
      expect(pids.size).to.equal(1)
      expect(pids.has(served.pid)).to.equal(args.length === 1)
    })
})
