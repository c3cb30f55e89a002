import type { Logger } from 'pino'
import { QueryFailedError } from 'typeorm'
import { backoffDelay, wordOf } from '../extension.js'
import { LeaseLost, ShuttingDown } from './errors.js'
import type { JobDefinition } from './job.js'
import { Run, type Outcome, type RunEnvironment } from './run.js'
import type { Ticks } from './ticks.js'
import type { ClaimedJob, Claims } from './store.js'

/** The options of a worker. Times are in milliseconds. */
export interface WorkerOptions {
  /** The number of jobs that run at a time. */
  slots: number
  queues: readonly string[]
  lease: number
  poll: number
  keepDead: number
  /** Ends when nothing is due. */
  untilEmpty?: boolean
}

/** The services of a worker. */
export interface WorkerEnvironment extends RunEnvironment {
  logger: Logger
  definitions: ReadonlyMap<string, JobDefinition>
  ticks: Ticks
}

/** Milliseconds before the deadline of a shutdown at which the signals of running jobs abort. */
const grace = 5000

/** Milliseconds between two attempts while the database is away. */
const away = { first: 1000, max: 30_000 }

/** Milliseconds between two looks for a table that does not exist. */
const tablePause = 30_000

/** Milliseconds between two warnings that the database is away, and between two deletions of dead jobs. */
const warnEvery = 60_000
const cleanEvery = 3_600_000

/** Claims jobs, and runs several at a time. */
export class Worker {
  private readonly running = new Map<string, { run: Run; ended: Promise<Outcome> }>()
  private readonly loop: Promise<void>
  private isStopping = false
  private isWoken = false
  private endSleep = (): void => {}
  private leaseTimer: NodeJS.Timeout | undefined
  private failures = 0
  private warnedAt = -Infinity
  private cleanedAt = performance.now()
  private isTableMissing = false
  private readonly claims: Claims
  /** Whether the last claim has used all free slots. */
  private isBusy = false
  private polledAt = -Infinity

  constructor(
    private readonly env: WorkerEnvironment,
    private readonly options: WorkerOptions,
  ) {
    this.claims = { worker: env.worker, queues: options.queues, names: [...env.definitions.keys()] }
    this.loop = this.work()
    this.extendLater(options.lease / 3)
  }

  /** Resolves when the worker has stopped claiming jobs. */
  get ended(): Promise<void> {
    return this.loop
  }

  /** Looks for due jobs now. */
  wake(): void {
    this.isWoken = true
    this.endSleep()
  }

  /** Claims no more jobs, and waits for those that run. Aborts their signals shortly before the deadline. */
  async drain(deadline: number): Promise<void> {
    this.isStopping = true
    this.wake()
    await this.loop
    const left = deadline - Date.now()
    const timer = setTimeout(() => this.abortAll(), Math.max(0, left - Math.min(grace, left / 2)))
    await Promise.race([
      this.settled(),
      new Promise((resolve) => setTimeout(resolve, Math.max(0, left)).unref()),
    ])
    clearTimeout(timer)
  }

  /** Hands the jobs back that still run. */
  async stop(): Promise<void> {
    this.isStopping = true
    this.wake()
    for (const { run } of this.running.values()) run.stop(new ShuttingDown())
    await this.settled()
    clearTimeout(this.leaseTimer)
  }

  private abortAll(): void {
    for (const { run } of this.running.values()) run.abort(new ShuttingDown())
  }

  private async settled(): Promise<void> {
    await Promise.all([this.loop, ...[...this.running.values()].map(({ ended }) => ended)])
  }

  private async work(): Promise<void> {
    while (!this.isStopping) {
      const pause = await this.look()
      if (this.options.untilEmpty && pause > 0 && this.running.size === 0 && this.failures === 0) return
      await this.sleep(pause)
    }
  }

  private async look(): Promise<number> {
    try {
      const pause = await this.turn()
      this.failures = 0
      this.isTableMissing = false
      return pause
    } catch (error) {
      return this.failed(error)
    }
  }

  /** Starts due jobs. Returns the milliseconds until the next look. */
  private async turn(): Promise<number> {
    const { env, options } = this
    const free = options.slots - this.running.size
    if (free === 0) return Infinity
    const { queues } = options
    // While jobs wait, a claim needs no poll before it.
    if (this.isBusy && performance.now() < this.polledAt + options.poll && (await this.claim(queues, free)))
      return 0
    const { now, due } = await env.store.poll(this.claims)
    this.polledAt = performance.now()
    await this.cleanUp()
    const nextTick = await env.ticks.fire(now)
    const dueQueues = queues.filter((_, index) => (due[index] ?? Infinity) <= now)
    if (dueQueues.length > 0 && (await this.claim(dueQueues, free))) return 0
    const next = Math.min(...due.map((time) => time ?? Infinity), nextTick) - now
    const poll = options.poll * (1 + Math.random() / 10)
    // A job that is due and was not claimed belongs to another worker, or is locked by a request.
    return next > 0 ? Math.min(next, poll) : poll
  }

  /** Starts due jobs of some queues. Returns whether there may be more. */
  private async claim(queues: readonly string[], free: number): Promise<boolean> {
    const claimed = await this.env.store.claim({ ...this.claims, queues }, free, this.options.lease)
    for (const job of claimed) this.start(job)
    this.isBusy = claimed.length === free
    return claimed.length > 0
  }

  private start(job: ClaimedJob): void {
    const definition = this.env.definitions.get(job.name)
    // Only the names of definitions are claimed.
    if (!definition) return
    const run = new Run(job, definition, this.env)
    const ended = run.execute().finally(() => {
      this.running.delete(job.id)
      this.wake()
    })
    this.running.set(job.id, { run, ended })
  }

  private failed(error: unknown): number {
    if (error instanceof QueryFailedError && wordOf(error) === 'missing') {
      if (!this.isTableMissing)
        this.env.logger.warn('The tables of jobs do not exist, so no job runs. Run `kit db migrate`.')
      this.isTableMissing = true
      return tablePause
    }
    this.failures += 1
    const now = performance.now()
    if (now > this.warnedAt + warnEvery) {
      this.warnedAt = now
      this.env.logger.error({ err: error }, 'the worker cannot use the database, and tries again')
    }
    return backoffDelay(this.failures, away)
  }

  private async cleanUp(): Promise<void> {
    const now = performance.now()
    if (now < this.cleanedAt + cleanEvery) return
    this.cleanedAt = now
    for (const queue of this.options.queues) await this.env.store.deleteDead(queue, this.options.keepDead)
  }

  private sleep(pause: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(pause, 2 ** 31 - 1))
      this.endSleep = () => {
        clearTimeout(timer)
        this.endSleep = () => {}
        this.isWoken = false
        resolve()
      }
      if (this.isWoken) this.endSleep()
    })
  }

  private extendLater(pause: number): void {
    this.leaseTimer = setTimeout(() => void this.extend(), pause).unref()
  }

  private async extend(): Promise<void> {
    const { store, worker, logger } = this.env
    const { lease } = this.options
    try {
      const ids = [...this.running.keys()]
      const lost = ids.length > 0 ? await store.extend(worker, ids, lease) : []
      for (const id of lost) this.running.get(id)?.run.abort(new LeaseLost())
      this.extendLater(lease / 3)
    } catch (error) {
      logger.warn({ err: error }, 'the leases of the running jobs could not be extended')
      this.extendLater(Math.min(1000, lease / 3))
    }
  }
}
