import { setTimeout as delay } from 'node:timers/promises'
import { Column, Entity } from 'typeorm'
import { injectable } from 'tsyringe'
import {
  App,
  column,
  Database,
  Model,
  primaryKey,
  timestamps,
  transaction,
  type AppOptions,
  type TransactionOptions,
} from '../../../src/index.js'
import {
  Discard,
  Job,
  jobQueue,
  jobTables,
  RetryLater,
  type JobContext,
  type JobQueueOptions,
} from '../../../src/jobs/index.js'
import type { Duration } from '../../../src/common/duration.js'
import { Table } from 'typeorm'
import { databaseWithTables } from '../databases.js'

/** A record that requests and jobs write. */
@Entity('effects')
export class Effect extends Model {
  @Column('text')
  text!: string
}

/** A dependency of a job. */
@injectable()
export class Reports {
  fetch(id: string): Promise<string> {
    return Promise.resolve(`report ${id}`)
  }
}

/** The work and the backoff of a job, which the spec sets. */
export const behavior: {
  perform: (args: { text: string }, job: JobContext) => unknown
  backoff: () => Duration
} = {
  perform: () => undefined,
  backoff: () => '1 hour',
}

@Job({ attempts: 3, timeout: '20 seconds' })
export class SendDigest {
  constructor(private readonly reports: Reports) {}

  async perform({ text }: { text: string }, job: JobContext) {
    const effect = Object.assign(new Effect(), { text: await this.reports.fetch(text) })
    await job.save(effect)
  }
}

/** Does what the spec says. */
@Job({ attempts: 3, queue: 'urgent', backoff: () => behavior.backoff() })
export class Anything {
  async perform(args: { text: string }, job: JobContext) {
    await behavior.perform(args, job)
  }
}

@Job({ attempts: 1 })
export class Once {
  async perform(args: { text: string }, job: JobContext) {
    await behavior.perform(args, job)
  }
}

@Job({ timeout: 200, attempts: 2 })
export class Slow {
  async perform(_args: { text: string }, job: JobContext) {
    await job.save(Object.assign(new Effect(), { text: 'slow' }))
    await delay(60_000, undefined, { signal: job.signal, ref: false })
  }
}

/** Its `perform` ends at once, in contrast to what `beforeCommit` may have registered. */
@Job({ timeout: 200, attempts: 2 })
export class Checked {
  async perform(args: { text: string }, job: JobContext) {
    await behavior.perform(args, job)
  }
}

export { Discard, RetryLater }

export const jobClasses = [SendDigest, Anything, Once, Slow, Checked]

/** A database with the tables of jobs and effects. */
export function digestsUrl(): Promise<string> {
  return databaseWithTables('digests', createTables)
}

export async function createTables(url: string): Promise<void> {
  const database = await new Database({ test: { url } }, 'test').open()
  const runner = database.createQueryRunner()
  for (const table of jobTables(runner)) await runner.createTable(table)
  await runner.createTable(
    new Table({
      name: 'effects',
      columns: [primaryKey(runner), column(runner, 'text', 'string'), ...timestamps(runner)],
    }),
  )
  await runner.release()
  await database.close()
}

export function digestsDatabase(url: string): Database {
  return new Database({ models: [Effect], test: { url } }, 'test')
}

/** An application whose requests enqueue jobs. */
export function digests(
  database: Database,
  options: AppOptions & { queue?: Partial<JobQueueOptions>; transaction?: TransactionOptions } = {},
) {
  const jobs = jobQueue(database, { jobs: jobClasses, queues: ['urgent', 'default'], ...options.queue })
  const app = new App({ api: true, ...options })
  app.use(transaction(database, options.transaction))
  app.extend(jobs)
  app.post('/digests', async (ctx) => {
    const { text, status = 201 } = ctx.request.body as { text: string; status?: number }
    await ctx.save(Object.assign(new Effect(), { text: `request ${text}` }))
    const id = await ctx.enqueue(SendDigest, { text })
    ctx.status = status
    ctx.body = { id }
  })
  return { app, jobs }
}
