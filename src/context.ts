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
 * The members that the framework adds to Koa's context. Each folder of the framework adds its members by `declare module` in its
 * `members.ts`.
 */
export interface ContextMembers {
  /** Koa's request, with the parsed body and the uploaded files. */
  request: Request & { body?: unknown; files?: Record<string, UploadedFile | UploadedFile[]> | undefined }

  /** The environment of the application: `AppOptions.env`, else `GO_ENV`, else `NODE_ENV`, else `development`. */
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
  | 'timeZone'
  | 'renderToString'
  | 'urlFor'
  | 'log'
> {
  /** The id of the job. It is the same in each attempt, so that other services can use it as an idempotency key. */
  readonly id: string
  /** The name of the job's class: `SendDigest`. */
  readonly name: string
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /** Aborts when the run must end: after its timeout, when another process has taken over, or at a shutdown. */
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
   * Declares a job.
   *
   * @param name the name of the job in the database
   * @param perform runs the job. After an error with `isPermanent`, the job is dead and not retried
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

/** The class of a job, which the application instantiates. */
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
 * A function that runs before and after the handler, which it calls by `next`. Middleware for Koa can be used, too. Hooks are
 * properties of the function, or static members of a middleware class.
 */
export interface Middleware extends Hooks {
  (ctx: Context, next: Next): unknown
  /**
   * The middleware class that the function instantiates for each request.
   *
   * @internal
   */
  middlewareClass?: Function
}

/** The properties that a middleware can have. A session store can have them, too. */
export interface Hooks {
  /**
   * Whether the middleware runs before the body is read, when `ctx.request.body` and `ctx.tx` are not available. All other
   * middleware runs afterwards. Within both groups, the order is that of the declarations.
   */
  beforeBody?: boolean
  /** Whether the middleware also runs before the static files that are declared below it. Other middleware does not. */
  guardsFiles?: boolean
  /** Whether the middleware needs sessions. An API application has none, and does not start with such a middleware. */
  needsSession?: boolean
  /** The feature that needs the session secret even in an API application, for the message if there is none: `Signed tokens`. */
  needsSecret?: string
  /** Whether the middleware may call `next` again after a failure. Any other middleware may call `next` only once. */
  callsAgain?: boolean
  /** Whether the middleware sets `ctx.user`. Declare `idempotency()` below such a middleware, because a key belongs to a user. */
  setsUser?: boolean
  /** Whether the middleware recognizes requests that a client sends twice by a key, as `idempotency()` does. */
  recognizesKeys?: boolean
  /** The middleware's part of the OpenAPI document, for the routes that it runs for. */
  openapi?: MiddlewareDescription | ((route: DeclaredRoute, method: string) => MiddlewareDescription)
  /** The properties and methods that the middleware adds to the context of every request. Declare their types in `Context`. */
  contextMembers?: PropertyDescriptorMap & ThisType<Context>
  /**
   * Runs when the application starts.
   *
   * @param logger for warnings that do not stop the start
   * @param env the environment of the application
   */
  start?(logger: Logger, env: string): Promise<void>
  /**
   * Checks the routes that the middleware runs before. It is called at the start, when all middleware has started.
   *
   * @throws DeclarationError when a route cannot work with the middleware
   */
  checkRoutes?(routes: readonly DeclaredRoute[], logger: Logger, env: string): Promise<void>
  /** Runs when the application accepts requests, but not in the `test` environment. */
  listening?(logger: Logger): void
  /** Rejects if the middleware is not able to work. `GET /up` then returns 503. */
  check?(): Promise<void>
  /**
   * Finishes work when the application begins to shut down, while pending requests are finished, too.
   *
   * @param deadline the time at which the shutdown continues even if the work is not finished
   */
  finish?(deadline: Date): Promise<unknown>
  /** Runs when the application stops, to release resources. The middleware that was declared last stops first. */
  stop?(): Promise<void>
  /** Prepares the context of every request, including requests that no route matches. */
  begin?(ctx: Context): void
  /** Receives the object that runs work without a request. It is called before `start`. */
  background?(background: Background): void
  /** Runs around each run of a job, outside of its transaction. It calls `run` once. */
  aroundJob?(job: JobContext, run: () => Promise<void>): Promise<void>
  /** Further classes that the application instantiates, so that their dependencies are checked, and tests can replace them. */
  injects?: readonly JobConstructor[]
  /** The function that created the middleware, for example `jobQueue`. `app.uses` finds the middleware by it. */
  factory?: Function
}

/** A function that responds to a request. A returned Error is treated like a thrown one. */
export type Handler = (ctx: Context) => unknown
