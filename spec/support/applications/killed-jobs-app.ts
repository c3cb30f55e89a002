// An application for `kit work`, whose jobs end their own process at several points. The database is that of DATABASE_URL.
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { App, transaction } from '../../../src/index.js'
import { beforeCommit } from '../../../src/extension.js'
import { Job, jobQueue, Schedule, type JobContext } from '../../../src/jobs/index.js'
import { digestsDatabase, Effect } from './digests.js'

/** The points at which the first attempt of a job ends its process. */
export const points = [
  'after the claim',
  'before the first query',
  'after the write',
  'before the delete',
  'in the commit',
  'after the commit',
  'in a hook',
] as const

type Point = (typeof points)[number]

const save = (job: JobContext, text: string) => job.save(Object.assign(new Effect(), { text }))

/** Saves an effect after a short time. */
@Job()
export class Work {
  async perform({ text }: { text: string }, job: JobContext) {
    await delay(20 * Math.random())
    await save(job, text)
  }
}

const kill = (): void => void process.kill(process.pid, 'SIGKILL')

@Job()
export class KilledAt {
  async perform({ point }: { point: Point }, job: JobContext) {
    const reached = (name: Point): void => {
      if (job.attempt === 1 && point === name) kill()
    }
    reached('before the first query')
    await save(job, point)
    reached('after the write')
    beforeCommit(job, () => reached('before the delete'))
    if (job.attempt === 1 && point === 'in the commit') killInCommit(job)
    job.afterCommit(() => reached('after the commit'))
    job.afterCommit(() => reached('in a hook'))
  }
}

/** Ends the process as soon as the commit is on its way. */
function killInCommit({ tx: { queryRunner } }: JobContext): void {
  const { query }: { query: Function } = Object.getPrototypeOf(queryRunner)
  Object.assign(queryRunner ?? {}, {
    query(this: object, sql: string, ...others: unknown[]) {
      const result: unknown = query.call(this, sql, ...others)
      if (sql === 'COMMIT') setImmediate(kill)
      return result
    },
  })
}

/** Has an effect outside of the database, and then ends its process. */
@Job()
export class Outside {
  async perform({ file }: { file: string }, job: JobContext) {
    appendFileSync(file, `${job.id}\n`)
    if (job.attempt === 1) kill()
    await save(job, 'outside')
  }
}

/** Waits in its transaction until the process is continued after its lease. */
@Job()
export class Paused {
  async perform({ file }: { file: string }, job: JobContext) {
    await save(job, `attempt ${job.attempt}`)
    if (job.attempt > 1) return
    appendFileSync(file, 'running')
    // The process is stopped here for longer than its lease.
    await delay(2000)
  }
}

@Job({ queue: 'ticks' })
@Schedule('* * * * * *')
export class Tick {
  async perform(_args: object, job: JobContext) {
    const [{ enqueued_at }] = await job.tx.query(`SELECT enqueued_at FROM jobs WHERE id = '${job.id}'`)
    await save(job, `tick ${Math.floor(Number(enqueued_at) / 1000)}`)
  }
}

/** The application of a database. */
export function killedJobs(url: string, env?: string) {
  const database = digestsDatabase(url)
  const jobs = jobQueue(database, {
    // Other processes run the ticks.
    jobs: [Work, KilledAt, Outside, Paused, ...(env === undefined ? [Tick] : [])],
    queues: ['default', 'ticks'],
    lease: '1 second',
  })
  const app = new App({ api: true, ...(env !== undefined && { env }) })
  app.use(transaction(database))
  // The claim is committed when a run begins.
  app.extend({
    name: 'killAtStart',
    aroundJob: async (job: JobContext, run: () => Promise<void>) => {
      if (job.name === 'KilledAt' && job.attempt === 1) {
        const [row] = await database.query(`SELECT arguments FROM jobs WHERE id = '${job.id}'`)
        if (JSON.parse(row.arguments).point === 'after the claim') kill()
      }
      await run()
    },
  })
  app.extend(jobs)
  app.post('/work', async (ctx) => {
    const { text, fails } = ctx.request.body as { text: string; fails?: boolean }
    await ctx.save(Object.assign(new Effect(), { text: `request ${text}` }))
    await ctx.enqueue(Work, { text })
    ctx.status = fails ? 422 : 201
  })
  return { app, jobs, database }
}

export const { app } = killedJobs(process.env['DATABASE_URL'] ?? 'sqlite::memory:')
