import {
  addedLogFields,
  checkBeforeCommit,
  explainDatabaseError,
  isPlainObject,
  loggedError,
  longestDelay,
  milliseconds,
  OutcomeUnknown,
  retry,
} from '../extension.js'
import { ServiceUnavailable, type Background, type BackgroundTransaction, type JobContext } from '../index.js'
import { CannotRun, Discard, JobTimeout, LeaseLost, RetryLater, ShuttingDown } from './errors.js'
import { defaultPause, type JobDefinition, type Performs } from './job.js'
import type { ClaimedJob, Ending, JobStore } from './store.js'

/** Milliseconds until a job runs again after a conflict or a lost connection. */
const conflictPause = 1000

/** How often the end of a failed run is stored again without a database. Then the lease expires. */
const storeRetries = { first: conflictPause, max: conflictPause, retries: 4, isTemporary: () => true }

type Level = 'info' | 'warn' | 'error'

/** One attempt of a job, in a transaction that deletes the job with its effects. */
export class Run {
  /** The error of a run that has failed. */
  error: unknown
  private readonly controller = new AbortController()
  private readonly stopped: Promise<never>
  private reject: (reason: Error) => void = () => {}
  private readonly context: JobContext
  private readonly transaction: BackgroundTransaction
  /** Fields of the line in the log. */
  private readonly line: { late: number }
  private readonly startedAt = performance.now()
  /** Whether the process of the final attempt has ended, so that this run only makes the job dead. */
  private readonly isExhausted: boolean

  constructor(
    private readonly job: ClaimedJob,
    private readonly definition: JobDefinition,
    private readonly store: JobStore,
    private readonly background: Background,
    private readonly worker: string,
  ) {
    const { id, name, queue, state, attempts, request_id } = job
    this.isExhausted = state === 'running' && attempts >= definition.attempts
    const attempt = attempts + (this.isExhausted ? 0 : 1)
    this.line = { late: Math.max(0, Number(job.late)) }
    const { signal } = this.controller
    const members = { id, name: definition.target.name, attempt, signal, requestId: request_id ?? undefined }
    const begun = background.begin(store.database, members, { job: id, name, queue, attempt })
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

  /** Runs the job, and stores how it has ended. It never rejects. Returns whether the job is finished. */
  async execute(): Promise<boolean> {
    try {
      await this.background.around(this.context, this.line, () => this.attempt())
    } catch (error) {
      this.error = error
      const isFinished = await this.fail(error).catch((cause: unknown) =>
        this.log(
          'error',
          'the end of the job could not be stored, so it runs again when its lease expires',
          cause,
        ),
      )
      if (!isFinished) return false
    }
    Object.assign(this.line, addedLogFields(this.context))
    this.log('info', 'job finished')
    for (const hook of this.transaction.hooks)
      try {
        await hook()
      } catch (error) {
        this.context.log.error(error, 'a callback after the commit failed')
      }
    return true
  }

  /** Performs the job, and commits. */
  private async attempt(): Promise<void> {
    const { context, transaction } = this
    const { name, timeout } = this.definition
    const timeoutMessage =
      `${name} did not end within ${timeout / 1000} s, so it was rolled back. Pass job.signal on to what takes long, or ` +
      'set a longer timeout: @Job({ timeout: ... }).'
    const timer = setTimeout(() => this.stop(new JobTimeout(timeoutMessage)), Math.min(timeout, longestDelay))
    try {
      await this.unlessStopped(this.perform())
      await this.unlessStopped(checkBeforeCommit(context))
      if (!(await this.store.end(context.tx, this.job, this.worker))) throw new LeaseLost()
      clearTimeout(timer)
      await transaction.commit()
    } catch (error) {
      await transaction
        .rollback()
        .catch((cause: unknown) => context.log.error(cause, 'the transaction could not be rolled back'))
      throw readable(error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Waits for a part of the run, and no longer than until the run is stopped. */
  private unlessStopped(part: Promise<unknown>): Promise<unknown> {
    part.catch(ignore)
    return Promise.race([part, this.stopped])
  }

  private perform(): Promise<unknown> {
    if (this.isExhausted)
      throw new CannotRun('The process that ran the job ended, and the job has no attempt left.')
    const args = argumentsOf(this.job)
    const { background, context, definition } = this
    // `enqueue` has checked the arguments, perhaps that of an earlier release.
    const perform = (instance: Performs) => instance.perform(args as never, context)
    return (async () => background.instantiate(definition.target, context, perform))()
  }

  /** Stores the end of a failed run. Returns whether it has finished after all, without a confirmation. */
  private async fail(error: unknown): Promise<boolean> {
    const [level, message, ending] = this.endingOf(error)
    const store = () => this.store.fail(this.job, this.worker, ending)
    const isOwner = !(error instanceof LeaseLost) && (await retry(store, storeRetries))
    if (
      !isOwner &&
      error instanceof OutcomeUnknown &&
      (await this.store.list({ ids: [this.job.id] })).length === 0
    )
      return true
    if (isOwner) this.log(level, message, error, ending.delay)
    else this.log('warn', 'lost its lease')
    return false
  }

  /** Returns the line in the log for a failed run, and its end as it is stored. */
  private endingOf(error: unknown): [level: Level, message: string, ending: Ending] {
    const { attempts } = this.job
    const { attempts: most } = this.definition
    const attempt = attempts + 1
    if (this.controller.signal.reason instanceof ShuttingDown && most > 1)
      return ['info', 'handed back', { state: 'waiting', attempts }]
    if (error instanceof Discard) return ['info', 'job discarded', { attempts }]
    const stored = storedError(error)
    if (error instanceof RetryLater) {
      const delay = milliseconds(error.delay)
      return ['warn', 'job runs again later', { state: 'waiting', attempts, delay, error: stored }]
    }
    if (attempt >= most || Reflect.get(Object(error), 'isPermanent') === true)
      return [
        'error',
        'job is dead',
        { state: 'dead', attempts: this.isExhausted ? attempts : attempt, error: stored },
      ]
    const delay = isTemporary(error) ? conflictPause : this.pauseAfter(attempt)
    return ['warn', 'job failed', { state: 'waiting', attempts: attempt, delay, error: stored }]
  }

  private pauseAfter(attempt: number): number {
    try {
      return this.definition.pauseAfter(attempt)
    } catch (error) {
      this.context.log.error(error, 'the backoff of the job failed, so it waits for the default pause')
      return defaultPause(attempt)
    }
  }

  private log(level: Level, message: string, err?: unknown, delay = 0): void {
    const ms = Math.round((performance.now() - this.startedAt) * 10) / 10
    const next = delay > 0 ? new Date(Date.now() + delay).toISOString() : undefined
    this.context.log[level]({ ...this.line, ms, err, next }, message)
  }
}

/** @throws CannotRun when they are not an object */
function argumentsOf({ arguments: json, name }: ClaimedJob): object {
  try {
    const args: unknown = JSON.parse(json)
    if (isPlainObject(args)) return args
  } catch {
    // As below.
  }
  throw new CannotRun(`The arguments of ${name} in the table are not a JSON object, so it cannot run.`)
}

/** The value that a job has thrown; an error instead of an unreadable value, such as a proxy. */
function readable(thrown: unknown): unknown {
  try {
    storedError(thrown)
    return thrown
  } catch {
    return new Error(
      'The job threw a value that is not an error and that cannot be read. Throw an Error instead.',
    )
  }
}

/** The error without secrets, as JSON. A violated constraint is explained without its values. */
function storedError(error: unknown): string {
  const { type, message, stack } = Object(loggedError(explainDatabaseError(error))) as Partial<Error> & {
    type?: string
  }
  return JSON.stringify({ type: type ?? typeof error, message: message ?? String(error), stack })
}

/** Whether another attempt may succeed at once: after a conflict, or when the connection was lost. */
function isTemporary(error: unknown): boolean {
  return error instanceof OutcomeUnknown || explainDatabaseError(error) instanceof ServiceUnavailable
}

function ignore(): void {}
