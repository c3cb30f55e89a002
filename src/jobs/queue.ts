import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { EntityManager } from 'typeorm'
import {
  inTransaction,
  milliseconds,
  newId,
  onWake,
  parameterFilter,
  reportToPrimary,
  workerNumber,
  type Duration,
} from '../extension.js'
import {
  DeclarationError,
  type Background,
  type Context,
  type Database,
  type Extension,
  type Hooks,
  type JobContext,
  type Queue,
} from '../index.js'
import type { ArgumentsOf } from './arguments.js'
import { checkQueue, rowOf, type EnqueueOptions } from './enqueue.js'
import { definitionOf, Job, type JobClass, type JobDefinition } from './job.js'
import { Run } from './run.js'
import { schedulesOf, Ticks } from './schedules.js'
import { JobStore, type ClaimedJob, type JobRow, type QueueCounts } from './store.js'
import type { JobTableOptions } from './table.js'
import { Worker, type WorkerOptions } from './worker.js'

/** The options of `jobQueue`. */
export interface JobQueueOptions extends JobTableOptions {
  /** The classes of all jobs, decorated with `@Job`. */
  jobs: readonly JobClass[]
  /** The queues in the order of their priority (`['default']`). */
  queues?: readonly string[]
  /** The time after which the jobs of a killed process start again (30 seconds; 1 second at least). */
  lease?: Duration
  /** The time between two looks for due jobs (1 second). */
  poll?: Duration
  /** The time for which dead jobs are kept (30 days). */
  keepDead?: Duration
}

/** The methods of a context that enqueue jobs. */
export interface EnqueueMembers {
  /**
   * Enqueues a job in the request's transaction: it exists exactly if the transaction is committed.
   *
   * @example await ctx.enqueue(SendDigest, { user_id: user.id })
   * @returns the id of the job; undefined if `unique` has found a waiting job
   * @throws NoTransaction without `transaction()` above the route
   * @throws DeclarationError when the job is not declared, or the arguments or the options are wrong
   */
  enqueue<Class extends JobClass>(
    job: Class,
    args: ArgumentsOf<Class>,
    options?: EnqueueOptions,
  ): Promise<string | undefined>
  /**
   * Enqueues a job for each item of a list of arguments, with one INSERT for up to 500 jobs. Throws the same
   * errors as `enqueue`.
   *
   * @returns the ids of the jobs that were enqueued
   */
  enqueueAll<Class extends JobClass>(
    job: Class,
    list: readonly ArgumentsOf<Class>[],
    options?: EnqueueOptions,
  ): Promise<string[]>
}

declare module '../index.js' {
  interface Context extends EnqueueMembers {}
  interface JobContext extends EnqueueMembers {}
}

/** The result of `jobs.drain`. */
export interface Drained {
  /** The number of jobs that have finished. */
  finished: number
  /** The errors of the jobs that have failed. */
  failed: unknown[]
}

/** The options of `jobs.drain`. */
export interface DrainOptions {
  /** Whether jobs that are due later run, too (no). */
  delayed?: boolean
  /** Whether the first error of a job is thrown (yes). */
  rethrow?: boolean
}

/** The extension of `jobQueue`. */
export interface JobQueue extends Extension, Queue {
  /**
   * Enqueues a job without a request, in any transaction.
   *
   * @example await jobs.enqueue(tx, SendDigest, { user_id })
   */
  enqueue<Class extends JobClass>(
    tx: EntityManager,
    job: Class,
    args: ArgumentsOf<Class>,
    options?: EnqueueOptions,
  ): Promise<string | undefined>
  /** The arguments of the waiting jobs of a class, in the order in which they are due. For specs. */
  waiting<Class extends JobClass>(job: Class): Promise<ArgumentsOf<Class>[]>
  /**
   * Runs the jobs that are due, and those that they enqueue, in this process. Each job runs once, even if it
   * fails. For specs.
   *
   * @throws the first error of a job, unless `rethrow` is false
   */
  drain(options?: DrainOptions): Promise<Drained>
  /** The numbers of jobs of each queue, for a metric or a page. */
  counts(): Promise<QueueCounts[]>
  /**
   * The jobs, for `kit work` and `kit jobs`.
   *
   * @internal
   */
  readonly internal: Jobs
}

/** The options of a worker. By default, they are those of `jobQueue`. */
export type WorkOptions = Pick<WorkerOptions, 'slots'> & Partial<WorkerOptions>

/** The number of jobs that run at a time in a process that serves requests. */
const defaultSlots = 5

/**
 * The background jobs of an application, in tables of its database that a migration creates with `jobTables`.
 * Register it below `transaction()`. `kit start`, `kit dev` and `kit work` run the jobs.
 *
 * @example
 * export const jobs = jobQueue(database, { jobs: [SendDigest], queues: ['urgent', 'default'] })
 * app.extend(jobs)
 * @throws DeclarationError when a job or an option is wrong
 */
export function jobQueue(database: Database, options: JobQueueOptions): JobQueue {
  const queue = new Jobs(database, options)
  return {
    ...queue.hooks,
    name: 'jobQueue',
    enqueue: queue.enqueue.bind(queue),
    waiting: queue.waiting.bind(queue),
    drain: queue.drain.bind(queue),
    counts: () => queue.store.counts(),
    internal: queue,
    define: queue.define.bind(queue),
    push: queue.push.bind(queue),
  } as JobQueue
}

/** The jobs of an application. */
export class Jobs {
  readonly store: JobStore
  readonly definitions = new Map<string, JobDefinition>()
  /** The options that all workers of this process share. */
  readonly settings: Omit<WorkerOptions, 'slots'>
  private readonly isSecret = parameterFilter().isSecret
  /** The names of the jobs that `warnOfSecrets` has reported. */
  private readonly reported = new Set<string>()
  private background: Background | undefined
  private logger: Logger | undefined
  private worker: Worker | undefined

  constructor(database: Database, options: JobQueueOptions) {
    const { jobs, queues = ['default'] } = options
    this.settings = {
      // The column has 100 characters. Hosts can have the same name, and processes the same id.
      worker: `${hostname().slice(0, 50)}-${process.pid}-${newId().slice(-8)}`,
      // `startWorker` and `drain` set the names, because extensions declare their jobs later.
      names: [],
      queues,
      lease: milliseconds(options.lease ?? '30 seconds', 'The `lease` of jobQueue()'),
      poll: milliseconds(options.poll ?? '1 second', 'The `poll` of jobQueue()'),
      keepDead: milliseconds(options.keepDead ?? '30 days', 'The `keepDead` of jobQueue()'),
    }
    if (this.settings.lease < 1000)
      throw new DeclarationError('The `lease` of jobQueue() is less than a second. Use 1 second at least.')
    this.store = new JobStore(database, options)
    for (const job of jobs) this.defineClass(job)
    rejectDuplicates(schedulesOf(this.definitions.values()).map(({ name }) => name))
  }

  /** The hooks of its extension. */
  get hooks(): Hooks {
    const enqueueAll = this.enqueueAll.bind(this)
    const { database } = this.store
    return {
      injects: [...this.definitions.values()].map(({ target }) => target),
      members: {
        enqueue: {
          async value(this: Context, job: JobClass, args: unknown, options?: EnqueueOptions) {
            return (await enqueueAll(this, job, [args], options))[0]
          },
        },
        enqueueAll: {
          value(this: Context, job: JobClass, list: readonly unknown[], options?: EnqueueOptions) {
            return enqueueAll(this, job, list, options)
          },
        },
      },
      background: (background) => {
        this.background = background
      },
      start: async (logger) => {
        this.logger = logger
        await database.hold()
      },
      listening: () => {
        const slots = Number(process.env['JOBS'] || defaultSlots)
        if (!(slots >= 0 && Number.isInteger(slots)))
          throw new DeclarationError(`JOBS is "${process.env['JOBS']}". Set it to a number of jobs.`)
        // Below a primary process, another process runs the jobs.
        if (workerNumber() !== undefined) reportToPrimary({ kit: 'jobs' })
        else if (slots > 0) this.startWorker({ slots })
      },
      finish: async (deadline) => this.worker?.finish(deadline),
      stop: async () => {
        await this.worker?.stop()
        this.worker = undefined
        await database.release()
      },
    }
  }

  /**
   * Defines the job of a class.
   *
   * @throws DeclarationError when another job has its name, or when its queue is not declared
   */
  private defineClass(target: JobClass): void {
    const definition = definitionOf(target)
    const { name, queue } = definition
    const other = this.definitions.get(name)
    if (other)
      throw new DeclarationError(
        `${other.target.name} and ${target.name} are both the job "${name}". Give one of them another name: @Job({ name: ... }).`,
      )
    checkQueue(name, queue, this.settings.queues)
    this.definitions.set(name, definition)
  }

  /** Defines the job of an extension, for which it makes a class. */
  define(name: string, perform: (args: object, job: JobContext) => Promise<unknown>): void {
    const target = class {
      readonly perform = perform
    }
    Object.defineProperty(target, 'name', { value: name })
    Job({ name })(target)
    this.defineClass(target)
  }

  /** Enqueues the job of an extension, whose arguments can be larger than those of an application. */
  push(ctx: Context, name: string, args: object): Promise<unknown> {
    return this.insert(ctx, [{ id: newId(), name, queue: 'default', arguments: JSON.stringify(args) }])
  }

  async enqueue(
    tx: EntityManager,
    job: JobClass,
    args: unknown,
    options: EnqueueOptions = {},
  ): Promise<string | undefined> {
    return (await this.store.insert(tx, [this.rowFor(job, args, options)]))[0]
  }

  private async enqueueAll(
    ctx: Context,
    job: JobClass,
    list: readonly unknown[],
    options: EnqueueOptions = {},
  ) {
    return this.insert(
      ctx,
      list.map((args) => this.rowFor(job, args, options)),
    )
  }

  /** Inserts jobs in the current transaction. After the commit, wakes the worker, here or elsewhere. */
  private insert(ctx: Context, jobs: readonly JobRow[]): Promise<string[]> {
    return inTransaction(ctx, async ({ tx }) => {
      const ids = await this.store.insert(
        tx,
        jobs.map((job) => ({ ...job, request_id: ctx.requestId })),
      )
      const isDue = jobs.some(({ delay, at }) => !delay && at === undefined)
      if (isDue && this.worker) ctx.afterCommit(() => this.worker?.wake())
      else if (isDue && workerNumber() !== undefined) ctx.afterCommit(() => reportToPrimary({ kit: 'wake' }))
      return ids
    })
  }

  private rowFor(job: JobClass, args: unknown, options: EnqueueOptions): JobRow {
    const created = rowOf(this.definitionOf(job), this.settings.queues, args, options)
    if (this.background?.env === 'development') this.warnOfSecrets(created)
    return created
  }

  /** @throws DeclarationError when the job is not one of the queue */
  private definitionOf(job: JobClass): JobDefinition {
    const found = [...this.definitions.values()].find(({ target }) => target === job)
    if (found) return found
    throw new DeclarationError(
      `${job.name} is not a job of this queue. Add it to jobQueue(database, { jobs: [...] }).`,
    )
  }

  private warnOfSecrets({ name, arguments: json }: JobRow): void {
    const secrets: string[] = []
    // Only to visit all members.
    JSON.parse(json, (member, value: unknown) => {
      if (this.isSecret(member)) secrets.push(member)
      return value
    })
    if (secrets.length === 0 || this.reported.has(name)) return
    this.reported.add(name)
    this.logger?.warn(
      `${name} is enqueued with ${secrets.join(', ')}, which the database stores as plain text until the job ends. Pass an id, ` +
        'and read or make the secret in the job.',
    )
  }

  /**
   * Starts the worker of `kit work`.
   *
   * @throws DeclarationError when the tables are missing, or a queue is not declared
   */
  async work(options: WorkOptions): Promise<Worker> {
    for (const queue of options.queues ?? []) checkQueue('--queues', queue, this.settings.queues)
    await this.store.check()
    const worker = this.startWorker(options)
    this.logger?.info(
      `running jobs of the queues ${(options.queues ?? this.settings.queues).join(', ')}, ${options.slots} at a time`,
    )
    onWake(() => worker.wake())
    return worker
  }

  /** Starts the worker of this process. */
  private startWorker({ queues = this.settings.queues, ...options }: WorkOptions): Worker {
    const { logger, store, definitions } = this
    if (!logger) throw new Error('A worker starts after the application.')
    const schedules = schedulesOf(definitions.values()).filter(({ job }) => queues.includes(job.queue))
    const ticks = new Ticks(store, schedules)
    const settings = { ...this.settings, ...options, queues, names: [...definitions.keys()] }
    return (this.worker = new Worker(store, ticks, logger, settings, (job) => this.run(job)))
  }

  /**
   * Begins a run of a claimed job. Only jobs with a definition are claimed.
   *
   * @throws DeclarationError when the application has not started
   */
  private run(job: ClaimedJob): Run | undefined {
    const definition = this.definitions.get(job.name)
    if (!this.background)
      throw new DeclarationError('jobQueue() needs app.extend(jobs), and an application that has started.')
    return definition && new Run(job, definition, this.store, this.background, this.settings.worker)
  }

  async waiting(job: JobClass): Promise<unknown[]> {
    const { name } = this.definitionOf(job)
    const rows = await this.store.query<{ arguments: string }>(
      `SELECT arguments FROM ${this.store.jobs} WHERE name = :name AND state = 'waiting' ORDER BY due_at, id`,
      { name },
    )
    return rows.map((row): unknown => JSON.parse(row.arguments))
  }

  async drain({ delayed: later = false, rethrow = true }: DrainOptions = {}): Promise<Drained> {
    const claims = { ...this.settings, names: [...this.definitions.keys()] }
    const drained: Drained = { finished: 0, failed: [] }
    // A job that has failed can be due again. Without this list, it would run again and again.
    const except: string[] = []
    for (;;) {
      const [job] = await this.store.claim({ ...claims, except }, 1, later)
      const run = job && this.run(job)
      if (!run) return drained
      except.push(job.id)
      if (await run.execute()) drained.finished += 1
      else if (rethrow) throw run.error
      else drained.failed.push(run.error)
    }
  }
}

/** @throws DeclarationError when two schedules have the same name */
function rejectDuplicates(names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate !== undefined)
    throw new DeclarationError(
      `Two schedules are named "${duplicate}". Give one of them a name: @Schedule('...', { name: 'weekly' }).`,
    )
}
