import type { Next, ParameterizedContext, Request } from 'koa'
import type { Logger } from 'pino'
import type { MiddlewareDescription } from './resources/route-description.js'
import type { Database } from './data/database.js'
import type { PathParams } from './routing/path-types.js'
import type { DeclaredRoute } from './routing/declared-route.js'

/**
 * The context of a request: Koa's context with the framework's members. An application can declare its own members.
 *
 * @example
 * declare module 'resource-kit' {
 *   interface Context {
 *     user: { name: string }
 *   }
 * }
 */
export interface Context extends ParameterizedContext<State, ContextMembers> {}

/**
 * The data of a request that middleware, handlers and templates share: `ctx.state`. Templates, including error pages, read
 * its members as variables. An application can declare their types.
 *
 * @example
 * declare module 'resource-kit' {
 *   interface State {
 *     currentUser?: { name: string }
 *   }
 * }
 */
export interface State {
  [name: string]: unknown
}

/**
 * The members that the framework adds to Koa's context. Each folder adds its own ones by `declare module` in its
 * `members.ts`.
 */
export interface ContextMembers {
  /** Koa's request, with the parsed body and the uploaded files. */
  request: Request & { body?: unknown; files?: Record<string, UploadedFile | UploadedFile[]> | undefined }

  /** The environment of the application: `AppOptions.env`, else `GO_ENV`, else `NODE_ENV`. */
  readonly env: string

  /** The parameters of the path, by name: `{ post_id: '...' }`. */
  params: PathParams

  /** The route of this request. */
  readonly route: DeclaredRoute

  /** The method that the client sent. A form's `_method` overrides `ctx.method`. */
  readonly originalMethod: string

  /** The id of this request. It is in the `X-Request-Id` header of the response, in the log and in problem documents. */
  readonly requestId: string
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
  | 'afterCommit'
  | 't'
  | 'locale'
  | 'renderToString'
  | 'urlFor'
  | 'log'
> {
  /** The id of the job, which is the same in each attempt: the idempotency key for other services. */
  readonly id: string
  /** The name of its class: `SendDigest`. */
  readonly name: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** Aborts when the run must end: after its timeout, when another process has taken over, or at a shutdown. */
  readonly signal: AbortSignal
  /** The id of the request that has enqueued the job. */
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
   * Makes the context of one attempt, and its transaction.
   *
   * @param fields the fields of each line of its log
   */
  begin(
    database: Database,
    job: Pick<JobContext, 'id' | 'name' | 'attempt' | 'signal' | 'requestId'>,
    fields: object,
  ): { job: JobContext; transaction: BackgroundTransaction }
  /**
   * Runs a job within the hooks `aroundJob`.
   *
   * @param fields receives fields for the job's line in the log
   */
  around(job: JobContext, fields: object, run: () => Promise<void>): Promise<void>
}

/** A queue of background jobs, to which extensions add their own. */
export interface Queue {
  /**
   * Declares a job.
   *
   * @param name its name in the database
   * @param perform an error with `isPermanent` makes the job dead
   */
  declare(name: string, perform: (args: object, job: JobContext) => Promise<unknown>): void
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

/** A class that the application instantiates. */
// tsyringe calls the constructor with the dependencies it resolves, of any type.
// oxlint-disable-next-line no-explicit-any
export type JobConstructor<T = object> = new (...dependencies: any[]) => T

/** A file of a multipart form. It is deleted after the response. */
export interface UploadedFile {
  /** The path of the temporary file. */
  filepath: string
  /** The name that the client sent. */
  originalFilename: string | null
  mimetype: string | null
  /** The size in bytes. */
  size: number
}

/**
 * A function that runs before and after the handler, which it calls by `next`. Koa's middleware can be used, too. Its
 * hooks are properties of the function, or static members of a middleware class.
 */
export interface Middleware extends Hooks {
  (ctx: Context, next: Next): unknown
  /**
   * The class that it instantiates for each request.
   *
   * @internal
   */
  middlewareClass?: Function
}

/** The properties that a middleware can have. */
export interface Hooks {
  /**
   * Whether it runs before the body is read. All other middleware runs after it, and declared order holds within both groups.
   * It has neither `ctx.request.body` nor `ctx.tx`.
   */
  beforeBody?: boolean
  /** Whether it also runs before static files that are declared below it. Other middleware does not. */
  guardsFiles?: boolean
  /** Whether it needs sessions. An API application has none, and does not start with such a middleware. */
  needsSession?: boolean
  /** The part that needs the secret of sessions in an API application, too, for the message without one: `Signed tokens`. */
  needsSecret?: string
  /** Whether it may call `next` again after a failure. Any other middleware calls `next` once. */
  callsAgain?: boolean
  /** Whether it sets `ctx.user`. `idempotency()` must be declared below it, because a key belongs to the user. */
  setsUser?: boolean
  /** Whether it recognizes a request with a key that is sent again, as `idempotency()` does. */
  recognizesKeys?: boolean
  /** Its part of the OpenAPI document, for the routes that it runs for. */
  openapi?: MiddlewareDescription | ((route: DeclaredRoute, method: string) => MiddlewareDescription)
  /** The properties and methods that it adds to the context of every request. Declare their types in `Context`. */
  contextMembers?: PropertyDescriptorMap & ThisType<Context>
  /**
   * Runs when the application starts.
   *
   * @param logger for warnings that do not stop the start
   * @param env the environment of the application
   */
  start?(logger: Logger, env: string): Promise<void>
  /**
   * Checks the routes that it runs before, when all middleware has started.
   *
   * @throws DeclarationError when one of them cannot work
   */
  checkRoutes?(routes: readonly DeclaredRoute[], logger: Logger, env: string): Promise<void>
  /** Runs when the application accepts requests, but not in the `test` environment. */
  listening?(logger: Logger): void
  /** Rejects if the middleware is not able to work. `GET /up` then returns 503. */
  check?(): Promise<void>
  /**
   * Finishes work when the application begins to shut down, beside the pending requests.
   *
   * @param deadline the time at which the shutdown goes on without it
   */
  finish?(deadline: Date): Promise<unknown>
  /** Runs when the application stops, to release resources. The middleware that was declared last stops first. */
  stop?(): Promise<void>
  /** Prepares the context of every request, including requests that no route matches. */
  begin?(ctx: Context): void
  /** Receives what runs work without a request, before `start`. */
  background?(background: Background): void
  /** Runs around each run of a job, outside of its transaction. It calls `run` once. */
  aroundJob?(job: JobContext, run: () => Promise<void>): Promise<void>
  /** Classes besides resources that the application instantiates, so that their dependencies are checked and can be replaced. */
  injects?: readonly JobConstructor[]
  /** The function that made it, by which `app.uses` finds it. */
  factory?: Function
}

/** A function that responds to a request. A returned Error is treated as thrown. */
export type Handler = (ctx: Context) => unknown
