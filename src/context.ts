import type { Next, ParameterizedContext, Request } from 'koa'
import type { Logger } from 'pino'
import type { MiddlewareDescription } from './resources/route-description.js'
import type { PathParams } from './routing/path-types.js'
import type { DeclaredRoute } from './routing/declared-route.js'

/**
 * The context of a request: Koa's context with the framework's members. An application can declare its own
 * members.
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
 * The data of a request that middleware, handlers and templates share: `ctx.state`. Templates, including
 * error pages, read its members as variables. An application can declare their types.
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
 * The members that the framework adds to Koa's context. Each folder of the framework adds its members by
 * `declare module` in its `members.ts`.
 */
export interface ContextMembers {
  /** Koa's request, with the parsed body and the uploaded files. */
  request: Request & { body?: unknown; files?: Record<string, UploadedFile | UploadedFile[]> | undefined }

  /** The application's environment: `AppOptions.env`, else `GO_ENV`, else `NODE_ENV`, else `development`. */
  readonly env: string

  /** The parameters of the path, by name: `{ post_id: '...' }`. */
  params: PathParams

  /** The route of this request. */
  readonly route: DeclaredRoute

  /** The method that the client sent. A form's `_method` overrides `ctx.method`. */
  readonly originalMethod: string

  /** The id of this request. It is in the `X-Request-Id` header, in the log and in problems. */
  readonly requestId: string
}

/** A file of a multipart form. It is deleted after the response. */
export interface UploadedFile {
  /** The path of the temporary file. */
  filepath: string
  /** The name that the client sent. */
  originalFilename: string | null
  mimetype: string | null
  /** The size in bytes. */
  size: number
  /** The SHA-256 of the content in hexadecimal digits, on routes that store files. */
  sha256?: string
}

/**
 * A function that runs before and after the handler, which it calls by `next`. Middleware for Koa can be
 * used, too. A middleware class has the properties as static members.
 */
export interface Middleware extends MiddlewareOptions {
  (ctx: Context, next: Next): unknown
}

/** The properties of a middleware: when it runs, and what it needs. */
export interface MiddlewareOptions {
  /**
   * Whether the middleware runs before the body is read, when `ctx.request.body` and `ctx.tx` are not
   * available. All other middleware runs afterwards. Within both groups, the order is that of the
   * declarations.
   */
  beforeBody?: boolean
  /** Whether the middleware also runs before the static files below it. Others do not. */
  guardsFiles?: boolean
  /** Whether the middleware needs sessions. An API application has none, and rejects such a middleware. */
  needsSession?: boolean
  /** Whether the middleware may call `next` again after a failure. Any other may call it once. */
  callsAgain?: boolean
  /** The middleware's part of the OpenAPI document, for the routes that it runs for. */
  openapi?: MiddlewareDescription | ((route: DeclaredRoute, method: string) => MiddlewareDescription)
  /** The hooks that the middleware needs for the application's life: `transaction()` opens its database. */
  extension?: Hooks
}

/**
 * Something that belongs to an application for as long as it lives, such as a queue of jobs:
 * `app.extend(jobs)`. A middleware belongs to requests instead. Its member `declare` is in routing/scope.ts.
 */
export interface Extension extends Hooks {
  /** The name of the function that creates the extension: `jobQueue`. A name is unique in an application. */
  readonly name: string
  /** The middleware for everything that is declared below `app.extend`. */
  readonly middleware?: Middleware
}

/**
 * The hooks of an application: what runs at certain times. Extensions, middleware (as its `extension`) and
 * session stores have these members, all of which are optional. Those for jobs are in background.ts.
 */
export interface Hooks {
  /** Properties and methods that are added to the context of every request. Declare them in `Context`. */
  members?: PropertyDescriptorMap & ThisType<Context>
  /** The feature that needs the session secret even in an API application: `Signed tokens`. */
  needsSecret?: string
  /** Whether the middleware sets `ctx.user`. `idempotency()` belongs below it: a key belongs to a user. */
  setsUser?: boolean
  /**
   * Whether the middleware lets the visitor of a request pass. The navigation (`collectionLinks()`) leaves
   * out the resources below a middleware that does not. Without this function, everybody may pass.
   */
  admits?(ctx: Context): boolean
  /** Whether the middleware recognizes repeated requests by a key, as `idempotency()` does. */
  recognizesKeys?: boolean
  /** Whether the middleware stores the files of requests, as that of `storedFiles()` does. */
  storesFiles?: boolean
  /**
   * Runs when the application starts.
   *
   * @param logger for warnings that do not stop the start
   * @param env the environment of the application
   */
  start?(logger: Logger, env: string): Promise<void>
  /**
   * Checks routes at the start, when everything has started.
   *
   * @param routes those that the middleware runs before; without a middleware, all routes
   * @throws DeclarationError when a route cannot work
   */
  checkRoutes?(routes: readonly DeclaredRoute[], logger: Logger, env: string): Promise<void>
  /** Runs when the application accepts requests, but not in the `test` environment. */
  listening?(logger: Logger): void
  /** Prepares the context of every request, including requests that no route matches. */
  begin?(ctx: Context): void
  /** Rejects if a request could not be handled. `GET /up` then returns 503. */
  check?(): Promise<void>
  /**
   * Finishes work when the application begins to shut down, while pending requests are finished, too.
   *
   * @param deadline the time at which the shutdown continues even if the work is not finished
   */
  finish?(deadline: Date): Promise<unknown>
  /** Runs when the application stops, to release resources. The last one that was declared stops first. */
  stop?(): Promise<void>
}

/** A function that responds to a request. A returned Error is treated like a thrown one. */
export type Handler = (ctx: Context) => unknown
