import { hostname } from 'node:os'
import type { Next } from 'koa'
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
  type Hooks,
  type JobContext,
  type Middleware,
  type Queue,
} from '../index.js'
import { Administration, type QueueCounts } from './administration.js'
import { secretPaths, type ArgumentsOf } from './arguments.js'
import { enqueueJob, newJob, unknownQueue, type EnqueueOptions } from './enqueue.js'
import { definitionOf, Job, type JobClass, type JobDefinition } from './job.js'
import { Run } from './run.js'
import { JobStore, type NewJob } from './store.js'
import type { JobTableOptions } from './table.js'
import { schedulesOf, Ticks } from './ticks.js'
import { Worker, type WorkerOptions } from './worker.js'

/** The options of `jobQueue`. */
export interface JobQueueOptions extends JobTableOptions {
  /** The classes of all jobs, decorated with `@Job`. */
  jobs: readonly JobClass[]
  /** The queues in the order of their priority (`['default']`). */
  queues?: readonly string[]
  /** The time after which the jobs of a process that was killed start again (30 seconds; 1 second at least). */
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
   * @returns its id; undefined if `unique` found a waiting job
   * @throws NoTransaction without `transaction()` above the route
   * @throws DeclarationError when the job is not declared, or the arguments or the options are wrong
   */
  enqueue<Class extends JobClass>(
    job: Class,
    args: ArgumentsOf<Class>,
    options?: EnqueueOptions,
  ): Promise<string | undefined>
  /**
   * Enqueues a job for each of several arguments, with one INSERT for each 500.
   *
   * @returns the ids of those that were enqueued
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

/** How many jobs `jobs.drain` has run. */
export interface Drained {
  finished: number
  /** The errors of those that failed. */
  failed: unknown[]
}

/** The options of `jobs.drain`. */
export interface DrainOptions {
  /** Whether jobs run that are due later, too (no). */
  delayed?: boolean
  /** Whether the first error of a job is thrown (yes). */
  rethrow?: boolean
}

/** The middleware of `jobQueue`. */
export interface JobQueue extends Middleware, Queue {
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
   * Runs what is due, and what that enqueues, in this process. For specs.
   *
   * @throws the first error of a job, unless `rethrow` is false
   */
  drain(options?: DrainOptions): Promise<Drained>
  drain(deadline: Date): Promise<unknown>
  /** The numbers of jobs of each queue, for a metric or a page. */
  counts(): Promise<QueueCounts[]>
  /**
   * Starts the worker of `kit work`.
   *
   * @throws DeclarationError when the tables are missing, or a queue is not declared
   * @internal
   */
  work(options: WorkOptions): Promise<Worker>
  /**
   * Does the work of `kit jobs`.
   *
   * @internal
   */
  readonly administration: Administration
}

/** The options of `kit work`. */
export interface WorkOptions {
  slots: number
  untilEmpty?: boolean
  queues?: readonly string[] | undefined
}

/** The number of jobs that run at a time in a process that serves requests. */
const defaultSlots = 5

/**
 * The background jobs of an application, in tables of its database that a migration creates with `jobTables`. Register it below
 * `transaction()`. `kit start`, `kit dev` and `kit work` run the jobs.
 *
 * @example
 * export const jobs = jobQueue(database, { jobs: [SendDigest], queues: ['urgent', 'default'] })
 * app.use(jobs)
 * @throws DeclarationError when a job or an option is wrong
 */
export function jobQueue(database: Database, options: JobQueueOptions): JobQueue {
  const queue = new Jobs(database, options)
  const middleware = function jobQueue(_ctx: Context, next: Next) {
    return next()
  }
  return Object.assign(middleware, queue.hooks, {
    factory: jobQueue,
    enqueue: queue.enqueue.bind(queue),
    waiting: queue.waiting.bind(queue),
    drain: queue.drain.bind(queue),
    counts: () => queue.administration.counts(),
    work: queue.work.bind(queue),
    administration: queue.administration,
    declare: queue.declareNamed.bind(queue),
    push: queue.push.bind(queue),
  }) as unknown as JobQueue
}

class Jobs {
  private readonly store: JobStore
  readonly administration: Administration
  private readonly definitions = new Map<string, JobDefinition>()
  private readonly queues: readonly string[]
  private readonly settings: Pick<WorkerOptions, 'lease' | 'poll' | 'keepDead'>
  private readonly factories = new Map<JobDefinition, ReturnType<Background['factory']>>()
  private readonly isSecret = parameterFilter().isSecret
  private readonly warned = new Set<string>()
  private readonly workerName = `${hostname().slice(0, 50)}-${process.pid}-${newId().slice(-8)}`
  private background: Background | undefined
  private logger: Logger | undefined
  private worker: Worker | undefined

  constructor(
    private readonly database: Database,
    options: JobQueueOptions,
  ) {
    const {
      jobs,
      queues = ['default'],
      lease = '30 seconds',
      poll = '1 second',
      keepDead = '30 days',
    } = options
    this.store = new JobStore(database, options)
    this.administration = new Administration(this.store, this.definitions, queues)
    this.queues = queues
    for (const job of jobs) this.declare(definitionOf(job))
    this.settings = { lease: milliseconds(lease), poll: milliseconds(poll), keepDead: milliseconds(keepDead) }
    if (this.settings.lease < 1000)
      throw new DeclarationError('The `lease` of jobQueue() is less than a second. Use 1 second at least.')
    rejectTwice(schedulesOf(this.definitions.values()).map(({ name }) => name))
  }

  /** The hooks of its middleware. */
  get hooks(): Hooks {
    const { add, addAll } = { add: this.add.bind(this), addAll: this.addAll.bind(this) }
    return {
      injects: [...this.definitions.values()].map(({ target }) => target),
      contextMembers: {
        enqueue: {
          value(this: Context & JobContext, ...args: Parameters<EnqueueMembers['enqueue']>) {
            return inTransaction(this, ({ tx }) => add(tx, this, ...args))
          },
        },
        enqueueAll: {
          value(this: Context & JobContext, ...args: Parameters<EnqueueMembers['enqueueAll']>) {
            return inTransaction(this, ({ tx }) => addAll(tx, this, ...args))
          },
        },
      },
      background: (background) => {
        this.background = background
      },
      start: async (logger) => {
        this.logger = logger
        await this.database.open()
      },
      listening: () => this.runEmbedded(),
      stop: async () => {
        await this.worker?.stop()
        this.worker = undefined
        await this.database.close()
      },
    }
  }

  /** Adds the definition of a job. */
  private declare(definition: JobDefinition): void {
    const { name, queue, target } = definition
    const other = this.definitions.get(name)
    if (other)
      throw new DeclarationError(
        `${other.target.name} and ${target.name} are both the job "${name}". Give one of them another name: @Job({ name: ... }).`,
      )
    if (!this.queues.includes(queue)) throw new DeclarationError(unknownQueue(name, queue, this.queues))
    this.definitions.set(name, definition)
  }

  declareNamed(name: string, perform: (args: object, job: JobContext) => Promise<unknown>): void {
    const target = class {
      readonly perform = perform
    }
    Object.defineProperty(target, 'name', { value: name })
    Job({ name })(target)
    this.declare(definitionOf(target))
  }

  push(ctx: JobContext | Context, name: string, args: object): Promise<unknown> {
    const definition = this.definitions.get(name)
    if (!definition) throw new Error(`The job ${name} is not declared.`)
    // Extensions store what is larger than the arguments that an application may pass.
    const row = {
      id: newId(),
      name,
      queue: definition.queue,
      arguments: JSON.stringify(args),
      requestId: ctx.requestId,
    }
    return inTransaction(ctx as Context, async ({ tx }) => {
      await this.store.insert(tx, [row])
      this.wakeAfter(ctx, row)
    })
  }

  async enqueue(
    tx: EntityManager,
    job: JobClass,
    args: unknown,
    options: EnqueueOptions = {},
  ): Promise<string | undefined> {
    return enqueueJob(this.store, tx, this.newJob(job, args, options))
  }

  /** Enqueues a job in the transaction of a request or a job, and wakes the worker after its commit. */
  private async add(
    tx: EntityManager,
    ctx: Context,
    job: JobClass,
    args: unknown,
    options: EnqueueOptions = {},
  ): Promise<string | undefined> {
    const row = this.newJob(job, args, options, ctx.requestId)
    const id = await enqueueJob(this.store, tx, row)
    if (id !== undefined) this.wakeAfter(ctx, row)
    return id
  }

  private async addAll(
    tx: EntityManager,
    ctx: Context,
    job: JobClass,
    list: readonly unknown[],
    options: EnqueueOptions = {},
  ): Promise<string[]> {
    const rows = list.map((args) => this.newJob(job, args, options, ctx.requestId))
    const [first] = rows
    if (!first) return []
    this.wakeAfter(ctx, first)
    if (first.uniqueKey === undefined) {
      await this.store.insert(tx, rows)
      return rows.map(({ id }) => id)
    }
    const ids: string[] = []
    for (const row of rows) ids.push((await enqueueJob(this.store, tx, row)) ?? '')
    return ids.filter(Boolean)
  }

  private newJob(job: JobClass, args: unknown, options: EnqueueOptions, requestId?: string): NewJob {
    const definition = this.definitionOf(job)
    const row = newJob(definition, this.queues, args, options, requestId)
    if (this.background?.env === 'development') this.warnOfSecrets(definition, args)
    return row
  }

  private definitionOf(job: JobClass): JobDefinition {
    const found = [...this.definitions.values()].find(({ target }) => target === job)
    if (found) return found
    throw new DeclarationError(
      `${job.name} is not a job of this queue. Add it to jobQueue(database, { jobs: [...] }).`,
    )
  }

  private warnOfSecrets({ name }: JobDefinition, args: unknown): void {
    const paths = secretPaths(args, this.isSecret)
    if (paths.length === 0 || this.warned.has(name)) return
    this.warned.add(name)
    this.logger?.warn(
      `${name} is enqueued with ${paths.join(', ')}, which the database stores as plain text until the job ends. Pass an id, ` +
        'and read or make the secret in the job.',
    )
  }

  private wakeAfter(ctx: Context | JobContext, { delay = 0, at }: NewJob): void {
    if (delay > 0 || at !== undefined) return
    if (this.worker) ctx.afterCommit(() => this.worker?.wake())
    else if (workerNumber() !== undefined) ctx.afterCommit(() => reportToPrimary({ kit: 'wake' }))
  }

  private runEmbedded(): void {
    const slots = Number(process.env['JOBS'] ?? defaultSlots)
    if (workerNumber() !== undefined) reportToPrimary({ kit: 'jobs' })
    else if (slots > 0) this.startWorker({ slots })
  }

  async work(options: WorkOptions): Promise<Worker> {
    const unknown = options.queues?.find((name) => !this.queues.includes(name))
    if (unknown !== undefined) throw new DeclarationError(unknownQueue('--queues', unknown, this.queues))
    await this.administration.check()
    const worker = this.startWorker(options)
    this.logger?.info(
      `running jobs of the queues ${(options.queues ?? this.queues).join(', ')}, ${options.slots} at a time`,
    )
    onWake(() => worker.wake())
    return worker
  }

  /** Starts the worker of this process. */
  private startWorker({ slots, untilEmpty = false, queues = this.queues }: WorkOptions): Worker {
    const { logger } = this
    if (!logger) throw new Error('A worker starts after the application.')
    const definitions = [...this.definitions.values()].filter(({ queue }) => queues.includes(queue))
    const ticks = new Ticks(this.store, schedulesOf(definitions))
    const env = { ...this.runEnvironment, definitions: this.definitions, logger, ticks }
    return (this.worker = new Worker(env, { ...this.settings, slots, untilEmpty, queues }))
  }

  private get runEnvironment() {
    const { background, store, workerName: worker } = this
    if (!background)
      throw new DeclarationError('jobQueue() needs app.use(jobs), and an application that has started.')
    const factory = (definition: JobDefinition) => {
      const known = this.factories.get(definition) ?? background.factory(definition.target)
      this.factories.set(definition, known)
      return known
    }
    return { background, store, worker, factory }
  }

  async waiting(job: JobClass): Promise<unknown[]> {
    const { name } = this.definitionOf(job)
    const rows = await this.store.select<{ arguments: string }>(
      `SELECT arguments FROM ${this.store.jobs} WHERE name = ? AND state = 'waiting' ORDER BY due_at, id`,
      [name],
    )
    return rows.map((row): unknown => JSON.parse(row.arguments))
  }

  /** Finishes the running jobs at a shutdown; or runs what is due, in specs. */
  async drain(given: DrainOptions | Date = {}): Promise<unknown> {
    return given instanceof Date ? this.worker?.drain(given.getTime()) : this.runDue(given)
  }

  private async runDue({ delayed = false, rethrow = true }: DrainOptions): Promise<Drained> {
    const env = this.runEnvironment
    const claims = { worker: env.worker, queues: this.queues, names: [...this.definitions.keys()] }
    const drained: Drained = { finished: 0, failed: [] }
    const done: string[] = []
    for (;;) {
      const options = { later: delayed, except: done }
      const [job] = await this.store.claim(claims, 1, this.settings.lease, options)
      const definition = job && this.definitions.get(job.name)
      if (!job || !definition) return drained
      done.push(job.id)
      const run = new Run(job, definition, env)
      if ((await run.execute()) === 'finished') drained.finished += 1
      else if (rethrow) throw run.error
      else drained.failed.push(run.error)
    }
  }
}

function rejectTwice(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined)
    throw new DeclarationError(
      `Two schedules are named "${twice}". Give one of them a name: @Schedule('...', { name: 'weekly' }).`,
    )
}
