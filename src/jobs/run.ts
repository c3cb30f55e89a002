import {
  checkBeforeCommit,
  explainDatabaseError,
  isPlainObject,
  loggedError,
  milliseconds,
  OutcomeUnknown,
} from '../extension.js'
import { ServiceUnavailable, type Background, type BackgroundTransaction, type JobContext } from '../index.js'
import { Discard, JobTimeout, LeaseLost, ProcessEnded, RetryLater, ShuttingDown } from './errors.js'
import type { JobDefinition, Performs } from './job.js'
import type { ClaimedJob, Ending, JobStore } from './store.js'

/** The services that the runs of a worker share. */
export interface RunEnvironment {
  store: JobStore
  background: Background
  /** The name of this worker. */
  worker: string
  /** Returns the function that instantiates the class of a job. */
  factory(definition: JobDefinition): ReturnType<Background['factory']>
}

/** Milliseconds after which a job runs again whose transaction conflicted, or whose connection was lost. */
const conflictPause = 1000

/** The number of times that the end of a failed run is stored while the database is away. After that, its lease expires. */
const storeAttempts = 5

/** How a run has ended. */
export type Outcome = 'finished' | 'failed' | 'dead' | 'discarded' | 'handed back' | 'lost'

/** One attempt of a job, in a transaction that deletes the job with its effects. */
export class Run {
  /** The error of a run that has failed. */
  error: unknown
  private readonly controller = new AbortController()
  private readonly stopped: Promise<never>
  private reject: (reason: Error) => void = () => {}
  private readonly context: JobContext
  private readonly transaction: BackgroundTransaction
  private readonly line: { ms?: number; late: number }
  private readonly startedAt = performance.now()
  /** Whether the process of the last attempt has ended. This run only makes the job dead. */
  private readonly isOver: boolean

  constructor(
    private readonly job: ClaimedJob,
    private readonly definition: JobDefinition,
    private readonly env: RunEnvironment,
  ) {
    const { id, name, queue, requestId, late } = job
    this.isOver = job.wasRunning && job.attempt > definition.attempts
    const attempt = this.isOver ? job.attempt - 1 : job.attempt
    const { signal } = this.controller
    this.line = { late }
    const members = { id, name: definition.target.name, attempt, signal, requestId }
    const begun = env.background.begin(env.store.database, members, { job: id, name, queue, attempt })
    this.context = begun.job
    this.transaction = begun.transaction
    this.stopped = new Promise((_, reject) => (this.reject = reject))
    this.stopped.catch(ignore)
  }

  /** Aborts the job's signal. */
  abort(reason: Error): void {
    this.controller.abort(reason)
  }

  /** Aborts the signal, and ends the run whether the job ends or not. */
  stop(reason: Error): void {
    this.abort(reason)
    this.reject(reason)
  }

  /** Runs the job, and stores how it has ended. It never rejects. */
  async execute(): Promise<Outcome> {
    const { background } = this.env
    try {
      await background.around(this.context, this.line, () => this.attempt())
    } catch (error) {
      this.error = error
      return this.endFailed(error).catch((cause: unknown) => {
        this.log(
          'error',
          'the end of the job could not be stored, so it runs again when its lease expires',
          cause,
        )
        return 'lost'
      })
    }
    this.log('info', 'job finished')
    await this.runHooks()
    return 'finished'
  }

  /** Performs the job, and commits. */
  private async attempt(): Promise<void> {
    const { job, definition, context, transaction } = this
    const { store, worker } = this.env
    const timer = setTimeout(
      () => this.stop(new JobTimeout(job.name, definition.timeout)),
      Math.min(definition.timeout, 2 ** 31 - 1),
    )
    try {
      await Promise.race([this.perform(), this.stopped])
      await checkBeforeCommit(context)
      if (!(await store.end(context.tx, job, worker))) throw new LeaseLost()
      clearTimeout(timer)
      await transaction.commit()
    } catch (error) {
      await transaction
        .rollback()
        .catch((cause: unknown) => context.log.error(cause, 'the transaction could not be rolled back'))
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  private perform(): Promise<unknown> {
    if (this.isOver) throw new ProcessEnded()
    const args = argumentsOf(this.job)
    const withInstance = this.env.factory(this.definition)
    // `enqueue` has checked the arguments, or that of an earlier release.
    const perform = (instance: unknown) => (instance as Performs).perform(args as never, this.context)
    const work = (async () => withInstance(this.context, perform))()
    // A run that was stopped does not wait for it.
    work.catch(ignore)
    return work
  }

  private async endFailed(error: unknown): Promise<Outcome> {
    const { job, env } = this
    const [outcome, ending, message] = this.endingOf(error)
    if (!ending) {
      this.log('warn', message, error)
      return outcome
    }
    const isOwner = await insist(() =>
      outcome === 'discarded'
        ? env.store.end(undefined, job, env.worker)
        : env.store.fail(job, env.worker, ending),
    )
    if (isOwner) {
      const level = outcome === 'dead' ? 'error' : outcome === 'failed' ? 'warn' : 'info'
      this.log(level, message, error, ending)
      return outcome
    }
    // The commit has arrived, although its response has not.
    if (isUnknown(error) && !(await env.store.has(job.id))) {
      this.log('info', 'job finished')
      await this.runHooks()
      this.error = undefined
      return 'finished'
    }
    this.log('warn', 'lost its lease')
    return 'lost'
  }

  /** Returns the end of a failed run as it is stored, and the message of its line in the log. */
  private endingOf(error: unknown): [outcome: Outcome, ending: Ending | undefined, message: string] {
    const { attempt } = this.job
    const { attempts, pauseAfter } = this.definition
    const isLast = attempt >= attempts
    const stored = { error: storedError(error) }
    if (error instanceof LeaseLost) return ['lost', undefined, 'lost its lease']
    if (this.controller.signal.reason instanceof ShuttingDown) {
      const dead: Ending = { state: 'dead', counts: true, ...stored }
      if (attempts === 1) return ['dead', dead, 'job is dead']
      return ['handed back', { state: 'waiting', counts: false }, 'handed back']
    }
    if (error instanceof Discard) return ['discarded', { state: 'dead', counts: true }, 'job discarded']
    if (error instanceof RetryLater) {
      const delay = milliseconds(error.delay)
      return ['failed', { state: 'waiting', delay, counts: false, ...stored }, 'job runs again later']
    }
    if (isLast || Reflect.get(Object(error), 'isPermanent') === true)
      return ['dead', { state: 'dead', counts: !this.isOver, ...stored }, 'job is dead']
    const delay = isTemporary(error) ? conflictPause : pauseAfter(attempt)
    return ['failed', { state: 'waiting', delay, counts: true, ...stored }, 'job failed']
  }

  private async runHooks(): Promise<void> {
    for (const hook of this.transaction.hooks)
      try {
        await hook()
      } catch (error) {
        this.context.log.error(error, 'a callback after the commit failed')
      }
  }

  private log(level: 'info' | 'warn' | 'error', message: string, err?: unknown, ending?: Ending): void {
    const ms = Math.round((performance.now() - this.startedAt) * 10) / 10
    const next = ending?.delay && new Date(Date.now() + ending.delay).toISOString()
    this.context.log[level](
      { ...this.line, ms, ...(err !== undefined && { err }), ...(next && { next }) },
      message,
    )
  }
}

/** @throws a permanent error when they are not an object, because no later attempt would succeed */
function argumentsOf({ arguments: json, name }: ClaimedJob): object {
  try {
    const args: unknown = JSON.parse(json)
    if (isPlainObject(args)) return args
  } catch {
    // As below.
  }
  throw Object.assign(
    new Error(`The arguments of ${name} in the table are not a JSON object, so it cannot run.`),
    {
      isPermanent: true,
    },
  )
}

/** The error without secrets, as JSON. A violated constraint is explained without the values that the database repeats. */
function storedError(error: unknown): string {
  const { type, message, stack } = Object(loggedError(explainDatabaseError(error))) as Partial<Error> & {
    type?: string
  }
  return JSON.stringify({ type: type ?? typeof error, message: message ?? String(error), stack })
}

/** Whether another attempt may succeed at once: after a conflict, or when the connection was lost. */
function isTemporary(error: unknown): boolean {
  return isUnknown(error) || explainDatabaseError(error) instanceof ServiceUnavailable
}

function isUnknown(error: unknown): boolean {
  return error instanceof OutcomeUnknown
}

/** Repeats work while the database is away. */
async function insist<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === storeAttempts) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, conflictPause))
  }
}

function ignore(): void {}
