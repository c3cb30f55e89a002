import type { DefaultState, Next, ParameterizedContext, Request } from 'koa'
import type { Logger } from 'pino'
import type { EntityManager, EntityTarget } from 'typeorm'
import type { Where } from './data/conditions.js'
import type { FindRecordOptions } from './data/locking.js'
import type { RelationOf } from './data/loading.js'
import type { Page, PageOptions } from './data/pagination.js'
import type { Model } from './data/model.js'
import type { ValidationErrors } from './errors.js'
import type { ParameterFilter } from './logging/filter.js'
import type { Flash, FlashType } from './sessions/flash.js'
import type { Format } from './http/negotiation.js'
import type { Responses } from './http/responder.js'
import type { PathArgument } from './routing/path.js'
import type { Route } from './routing/route.js'
import type { Catalogue } from './translations/catalogue.js'

/**
 * The context of a request: Koa's context with the framework's members. An application can declare members of its own.
 *
 * @example
 * declare module 'resource-kit' {
 *   interface Context {
 *     user: { name: string }
 *   }
 * }
 */
export interface Context extends ParameterizedContext<DefaultState, ContextMembers> {}

/** The members that the framework adds to Koa's context. */
export interface ContextMembers {
  /** Koa's request, with the parsed body and the uploaded files. */
  request: Request & { body?: unknown; files?: Record<string, UploadedFile | UploadedFile[]> | undefined }

  /** The parameters of the path, by name: `{ post_id: '...' }`. */
  params: Record<string, string>

  /** The route of this request. */
  readonly route: Route

  /** The method that the client sent. A form's `_method` overrides `ctx.method`. */
  readonly originalMethod: string

  /** The format of responses to clients that do not ask for one: html, or json in an API application. */
  readonly defaultFormat: Format

  /** The id of this request. It is in the header `X-Request-Id` of the response, in the log and in problem documents. */
  readonly requestId: string

  /** A logger whose lines carry the request's id. */
  readonly log: Logger

  /**
   * The request's transaction, as a TypeORM EntityManager. It begins with its first query.
   *
   * @throws NoTransaction when no `transaction()` middleware was declared before the route
   */
  readonly tx: EntityManager

  /** Runs `work` after the request's transaction is committed. It does not run if the transaction is rolled back. */
  afterCommit(work: () => unknown): void

  /**
   * The session: values that are kept across the requests of a visitor. They must be representable as JSON.
   * `ctx.session = null` ends the session. A value that is set afterwards begins a new one.
   *
   * @throws NoSession in an API application, which has no sessions
   */
  get session(): Record<string, unknown>
  set session(values: Record<string, unknown> | null)

  /**
   * Whether the application has sessions.
   *
   * @internal
   */
  readonly hasSession: boolean

  /**
   * Replaces the id of the session, if it is in a store, and its `csrf()` secret. The other values are kept. Call it when
   * a user signs in, to prevent session fixation: an id or token that was known before becomes worthless.
   */
  renewSession(): void

  /** The token of forms that the `csrf()` middleware verifies. Each page has a different one. */
  readonly csrfToken: string | undefined

  /**
   * Copies parameters for the log and for error pages, with `[FILTERED]` instead of secrets.
   *
   * @internal
   */
  filterParameters: ParameterFilter

  /**
   * The locale of this request: `en-US`, or the one chosen by the `translations()` middleware. If you assign a locale, the
   * closest existing one is used, else the fallback. So the value may come from a user.
   */
  locale: string

  /**
   * The texts of `t`.
   *
   * @internal
   */
  catalogue: Catalogue

  /** Translates an id into this request's locale. Returns the id if it has no translation. */
  t(id: string, values?: Record<string, unknown>): string

  /**
   * Keeps a message for the next page: `ctx.flash('success', 'Saved.')`. The message is dropped if the request fails with
   * an error.
   *
   * @param type `success`, `info`, `warning`, `danger`, or a type of your own
   */
  flash(type: FlashType, message: string): void

  /** Returns the pending messages and removes them. */
  takeFlash(): Flash

  /**
   * Copies the request's body to a record. Only declared attributes are copied, and converted to the type of their
   * column. `save` and `validate` report a value that cannot be converted as an error of its field.
   *
   * @returns the record
   */
  bind<T extends object>(record: T): T

  /**
   * Finds the record of a model by its id.
   *
   * @example await ctx.find(Post, ctx.params.post_id)
   * @throws RecordNotFound (404) if there is none, or if the id is not text or not a UUID
   * @throws LockWhileReading if `lock` is true in a request that only reads
   */
  find<T extends Model>(
    model: EntityTarget<T>,
    id: string | null | undefined,
    options?: FindRecordOptions,
  ): Promise<T>

  /**
   * Finds one record of a model by the values of its columns.
   *
   * @example await ctx.findOneBy(Comment, { id: ctx.params.comment_id, post_id: ctx.params.post_id })
   * @throws RecordNotFound (404) if there is none, or if there are no conditions
   * @throws LockWhileReading if `lock` is true in a request that only reads
   */
  findOneBy<T extends Model>(
    model: EntityTarget<T>,
    conditions: Where<T>,
    options?: FindRecordOptions,
  ): Promise<T>

  /**
   * Reads one page of records, newest first. The query parameters `page` and `per_page` select the page. Sets the headers
   * `Link` and `X-Total-Count`.
   */
  paginate<T extends Model>(model: EntityTarget<T>, options?: PageOptions<T>): Promise<Page<T>>

  /**
   * Loads relations of a record or a list of records, with one query for each relation: `posts: await ctx.load(posts,
   * 'author')`. JSON and XML contain the loaded relations, so load them where a page is rendered.
   *
   * Saving a record does not write a loaded relation, unless it has been changed.
   *
   * @returns the records
   * @throws UnknownRelation if the model has no such relation
   */
  load<R extends Model | readonly Model[]>(records: R, ...relations: RelationOf<R>[]): Promise<R>

  /** Validates a record without saving it. */
  validate(record: object): Promise<ValidationErrors | undefined>

  /**
   * Validates a record, and inserts or updates it if it is valid. A violated constraint of the database is an error of
   * its field, too.
   *
   * @returns the errors, or undefined if the record was saved
   */
  save(record: Model): Promise<ValidationErrors | undefined>

  /**
   * Deletes a record. The object keeps its id, so that the response can show it.
   *
   * @throws ValidationErrors (409) when another record refers to it
   */
  destroy(record: Model): Promise<void>

  /**
   * Responds in the format that the client prefers. `html` is a function that renders or redirects. `json` and `xml` are
   * the value to serialize, or a function that returns it.
   *
   * @example await ctx.respond(201, { html: () => ctx.seeOther(path), json: post, xml: post })
   * @throws NotAcceptable (406) when the client accepts none of them
   */
  respond(responses: Responses): Promise<void>
  respond(status: number, responses: Responses): Promise<void>

  /** Responds with a template of the `templates` folder: `ctx.render('posts/show', { post })`. */
  render(view: string, locals?: Record<string, unknown>): void

  /**
   * Redirects with 303 See Other: the browser requests the URL with GET (RFC 9110, section 15.4.4).
   *
   * @param url a path of this site, which prevents open redirects; `ctx.redirect` accepts any URL
   * @param flash messages for the next page, by type
   * @example ctx.seeOther(path, { success: ctx.t('post.created.success') })
   * @throws BadRequest (400) when the URL leads to another site
   */
  seeOther(url: string, flash?: Record<string, string>): void

  /**
   * Redirects to the page that the request was sent from (`Referer`), if the page belongs to this site, else to
   * `fallback`.
   *
   * @param fallback a path of this site, `/` by default
   * @throws BadRequest (400) when the fallback leads to another site
   */
  back(fallback?: string): void

  /**
   * Returns the path of a named route: `ctx.pathFor('postPath', post)`, `ctx.pathFor('postsPath', { page: 2 })`.
   *
   * @throws UnknownRoute when there is no route with this name, MissingParameter when a parameter is missing
   */
  pathFor(name: string, ...args: PathArgument[]): string
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
}

/** A function that runs before and after the handler, which it calls by `next`. Koa's middleware can be used, too. */
export interface Middleware {
  (ctx: Context, next: Next): unknown
  /** Whether it also runs before static files that are declared below it. Other middleware does not. */
  guardsFiles?: boolean
  /** Whether it needs sessions. An API application has none, and does not start with such a middleware. */
  needsSession?: boolean
  /** Whether it may call `next` again after a failure. Any other middleware calls `next` once. */
  callsAgain?: boolean
  /**
   * Runs when the application starts.
   *
   * @param logger for warnings that do not stop the start
   */
  start?(logger: Logger): Promise<void>
  /** Runs when the application stops, to release resources. */
  stop?(): Promise<void>
  /** Rejects if the middleware is not able to work. `GET /up` then returns 503. */
  check?(): Promise<void>
  /** Prepares the context of every request, including requests that no route matches. */
  begin?(ctx: Context): void
}

/** A function that responds to a request. A returned Error is treated as thrown. */
export type Handler = (ctx: Context) => unknown
