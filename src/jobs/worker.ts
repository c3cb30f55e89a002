import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { Logger } from 'pino'
import { QueryFailedError } from 'typeorm'
import { backoffDelay, longestDelay, wordOf } from '../extension.js'
import { LeaseLost, ShuttingDown } from './errors.js'
import type { Run } from './run.js'
import type { Ticks } from './schedules.js'
import type { ClaimedJob, Claims, JobStore } from './store.js'

/** The options of a worker. Times are in milliseconds. */
export interface WorkerOptions extends Omit<Claims, 'except'> {
  /** The number of jobs that run at a time. */
  slots: number
  poll: number
  keepDead: number
  /** Whether the worker ends when no job is due and none runs. */
  untilEmpty?: boolean
}

/** The signals of running jobs are aborted this many milliseconds before the deadline of a shutdown. */
const grace = 5000

/** The pause after a look that has failed, in milliseconds. */
const failureBackoff = { first: 1000, max: 30_000 }

/** Milliseconds between two looks for a table that does not exist. */
const tablePause = 30_000

/** Milliseconds between reports of an unusable database, and between deletions of old dead jobs. */
const warnEvery = 60_000
const cleanEvery = 3_600_000

/** Claims jobs, and runs several at a time. */
export class Worker {
  /** Resolves when the worker has stopped claiming jobs. */
  readonly ended: Promise<void>
  private readonly running = new Map<string, { run: Run; ended: Promise<unknown> }>()
  private readonly leases: NodeJS.Timeout
  private isStopping = false
  /** Ends the pause before the next look. */
  private alarm = new AbortController()
  private failures = 0
  private warnedAt = -Infinity
  private cleanedAt = performance.now()
  private polledAt = -Infinity
  /** Whether the last claim has used all free slots. */
  private isBusy = false

  constructor(
    private readonly store: JobStore,
    private readonly ticks: Ticks,
    private readonly logger: Logger,
    private readonly options: WorkerOptions,
    private readonly begin: (job: ClaimedJob) => Run | undefined,
  ) {
    this.ended = this.work()
    // With three attempts in a lease, an extension that fails is repeated in time.
    this.leases = setInterval(() => void this.extend(), Math.min(options.lease / 3, longestDelay)).unref()
  }

  private get claims(): Claims {
    return { ...this.options, except: [...this.running.keys()] }
  }

  /** Looks for due jobs now. */
  wake(): void {
    this.alarm.abort()
  }

  /** Claims no more jobs, and waits for those that run. Aborts their signals before the deadline. */
  async finish(deadline: Date): Promise<void> {
    const left = deadline.getTime() - Date.now()
    const abort = () => this.running.forEach(({ run }) => run.abort(new ShuttingDown()))
    const timer = setTimeout(abort, left - Math.min(grace, left / 2))
    await this.settle(() => undefined)
    clearTimeout(timer)
  }

  /** Hands back the jobs that still run. */
  async stop(): Promise<void> {
    await this.settle((run) => run.stop(new ShuttingDown()))
    clearInterval(this.leases)
  }

  /** Claims no more jobs, calls a function with each run that has not ended, and waits for all. */
  private async settle(act: (run: Run) => void): Promise<void> {
    this.isStopping = true
    this.wake()
    await this.ended
    const running = [...this.running.values()]
    for (const { run } of running) act(run)
    await Promise.all(running.map(({ ended }) => ended))
  }

  private async work(): Promise<void> {
    while (!this.isStopping) {
      // Created before the look, so that a `wake` during the look is not lost.
      const { signal } = (this.alarm = new AbortController())
      const pause = await this.look()
      if (this.options.untilEmpty && pause > 0 && this.running.size === 0 && this.failures === 0) return
      await delay(Math.min(pause, longestDelay), undefined, { signal }).catch(() => undefined)
      // On SQLite, jobs end within microtasks, and each wakes the worker. Requests, timers and signals need a
      // turn between them.
      await nextTurn()
    }
  }

  /** Starts due jobs. Returns the milliseconds until the next look. It never rejects. */
  private async look(): Promise<number> {
    try {
      const pause = await this.start()
      this.failures = 0
      return pause
    } catch (err) {
      this.failures += 1
      const word = err instanceof QueryFailedError && wordOf(err)
      if (word === 'missing') {
        const message = 'The tables of jobs do not exist, so no job runs. Run `kit db migrate`.'
        if (this.failures === 1) this.logger.warn(message)
        return tablePause
      }
      // A single conflict is ordinary: MariaDB ends one of two workers that lock each other's rows.
      const isOrdinary = word === 'conflict' && this.failures === 1
      if (!isOrdinary && performance.now() > this.warnedAt + warnEvery) {
        this.warnedAt = performance.now()
        this.logger.error({ err }, 'the worker cannot use the database, and tries again')
      }
      return backoffDelay(this.failures, failureBackoff)
    }
  }

  /** Starts due jobs, as `look` does, but rejects if the database cannot be used. */
  private async start(): Promise<number> {
    const { options, running, store } = this
    const free = options.slots - running.size
    // The end of a job wakes the worker.
    if (free === 0) return Infinity
    // The random part keeps workers from polling at the same times.
    const pause = options.poll * (1 + Math.random() / 10)
    // If the last claim filled all free slots, more jobs are probably due, so this one needs no poll, except
    // for the schedules.
    if (!this.isBusy || performance.now() > this.polledAt + options.poll) {
      const rest = await this.poll()
      if (rest > 0) return Math.min(rest, pause)
    }
    const claimed = await store.claim(this.claims, free)
    this.isBusy = claimed.length === free
    for (const job of claimed) {
      const run = this.begin(job)
      // For the compiler: only jobs with a definition are claimed.
      if (!run) continue
      const ended = run.execute().finally(() => {
        running.delete(job.id)
        this.wake()
      })
      running.set(job.id, { run, ended })
    }
    // A job that is due and was not claimed belongs to another worker, or is locked by a request.
    return claimed.length > 0 ? 0 : pause
  }

  /** Fires due schedules, deletes old dead jobs, and returns the milliseconds until the next is due. */
  private async poll(): Promise<number> {
    const { queues, keepDead } = this.options
    const { now, due } = await this.store.poll(this.claims)
    this.polledAt = performance.now()
    if (this.polledAt > this.cleanedAt + cleanEvery) {
      this.cleanedAt = this.polledAt
      // Of the jobs in a queue, only the dead ones have no due time.
      const old = 'queue IN (:...queues) AND due_at IS NULL AND failed_at < :before'
      await this.store.delete(old, { queues, before: now - keepDead })
    }
    return Math.min(due, await this.ticks.fire(now)) - now
  }

  /** Extends the leases of the running jobs, and aborts the runs that have lost theirs. */
  private async extend(): Promise<void> {
    if (this.running.size === 0) return
    try {
      const lost = await this.store.extend(this.options, [...this.running.keys()])
      for (const id of lost) this.running.get(id)?.run.abort(new LeaseLost())
    } catch (err) {
      this.logger.warn({ err }, 'the leases of the running jobs could not be extended')
    }
  }
}
