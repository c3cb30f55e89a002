import type { BindOptions } from './models/attributes/attribute-of.js'
import type { Context } from './context.js'
import type { Database } from './database/database.js'

declare module './context.js' {
  interface Hooks {
    /** Further classes that it instantiates: dependencies are checked, and tests can replace them. */
    injects?: readonly JobConstructor[]
    /** Receives the object that runs work without a request. It is called before `start`. */
    background?(background: Background): void
    /** Runs around each run of a job, outside of its transaction. It calls `run` once. */
    aroundJob?(job: JobContext, run: () => Promise<void>): Promise<void>
  }
}

/** The members of a context that a job has. Policies do not apply, because a job has no user. */
export interface JobContext extends Pick<
  Context,
  | 'tx'
  | 'find'
  | 'findOneBy'
  | 'load'
  | 'save'
  | 'destroy'
  | 'restore'
  | 'afterCommit'
  | 't'
  | 'locale'
  | 'timeZone'
  | 'renderToString'
  | 'urlFor'
  | 'log'
> {
  /**
   * Copies an object to a record, as `ctx.bind` copies the body of a request:
   * `job.bind(new Order(), { from: message })`.
   *
   * @returns the record
   * @throws UnknownAttribute if `fields` names a property that cannot be set
   */
  bind<T extends object>(record: T, options: BindOptions<NoInfer<T>>): T
  /** The id of the job. It is the same in each attempt: an idempotency key for other services. */
  readonly id: string
  /** The name of the job's class: `SendDigest`. */
  readonly name: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** Aborts when the run must end: after its timeout, when another process took over, or at a shutdown. */
  readonly signal: AbortSignal
  /** The id of the request that enqueued the job; undefined if no request did. */
  readonly requestId: string | undefined
}

/** Runs work without a request, with the services of an application. */
export interface Background {
  readonly env: string
  /** Calls `work` with a new instance of a class for a job. */
  instantiate<T extends object>(
    target: JobConstructor<T>,
    job: JobContext,
    work: (instance: T) => unknown,
  ): unknown
  /**
   * Creates the context and the transaction of one attempt of a job.
   *
   * @param fields the fields of each line of the job's log
   */
  begin(
    database: Database,
    job: Pick<JobContext, 'id' | 'name' | 'attempt' | 'signal' | 'requestId'>,
    fields: object,
  ): { job: JobContext; transaction: BackgroundTransaction }
  /**
   * Runs a job within the `aroundJob` hooks of the middleware.
   *
   * @param fields receives fields for the job's line in the log
   */
  around(job: JobContext, fields: object, run: () => Promise<void>): Promise<void>
}

/** A queue of background jobs, to which extensions add their own jobs. */
export interface Queue {
  /**
   * Defines a job.
   *
   * @param name the name of the job in the database
   * @param perform runs the job. After an error with `isPermanent`, the job is dead and not retried
   */
  define(name: string, perform: (args: object, job: JobContext) => Promise<unknown>): void
  /** Enqueues a job in the transaction of a request or a job. */
  push(ctx: JobContext | Context, name: string, args: object): Promise<unknown>
}

/** The transaction of a job. */
export interface BackgroundTransaction {
  commit(): Promise<void>
  rollback(): Promise<void>
  /** The callbacks that run after the commit. */
  readonly hooks: readonly (() => unknown)[]
}

/** The class of a job, which the application instantiates. */
// tsyringe calls the constructor with the dependencies it resolves, of any type.
// oxlint-disable-next-line no-explicit-any
export type JobConstructor<T = object> = new (...dependencies: any[]) => T
