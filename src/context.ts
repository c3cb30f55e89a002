import type { DefaultState, Next, ParameterizedContext, Request } from 'koa'
import type { Logger } from 'pino'
import type { EntityManager, EntityTarget } from 'typeorm'
import type { Where } from './data/conditions.js'
import type { RelationOf } from './data/loading.js'
import type { Page, PageOptions } from './data/pagination.js'
import type { Model } from './data/model.js'
import type { ValidationErrors } from './errors.js'
import type { ParameterFilter } from './http/filter.js'
import type { Flash, FlashType } from './http/flash.js'
import type { Format } from './http/negotiation.js'
import type { Responses } from './http/responder.js'
import type { PathArgument } from './routing/path.js'
import type { Route } from './routing/route.js'
import type { Catalogue } from './translations/catalogue.js'

/**
 * What a handler and a middleware are given: Koa's context, and what the framework adds to it. An application declares
 * members of its own.
 *
 * @example
 * declare module 'resource-kit' {
 *   interface Context {
 *     user: { name: string }
 *   }
 * }
 */
export interface Context extends ParameterizedContext<DefaultState, ContextMembers> {}

/** What the framework adds to Koa's context. */
export interface ContextMembers {
  /** Koa's request, with the body that was parsed and the files that were uploaded. */
  request: Request & { body?: unknown; files?: Record<string, UploadedFile | UploadedFile[]> | undefined }

  /** The parameters of the path, by name: `{ post_id: '...' }`. */
  params: Record<string, string>

  /** The route that answers this request. */
  readonly route: Route

  /** The method that the client sent, before a form's `_method` took its place. */
  readonly originalMethod: string

  /** The format of answers to clients that name none: html, or json in an API application. */
  readonly defaultFormat: Format

  /** The id of this request, which is in the answer's `X-Request-Id`, in the log and in problem documents. */
  readonly requestId: string

  /** A logger whose lines carry the request's id. */
  readonly log: Logger

  /**
   * The request's transaction, as a TypeORM EntityManager. It begins with its first query.
   *
   * @throws NoTransaction when no `transaction()` middleware was declared before the route
   */
  readonly tx: EntityManager

  /** Runs `work` once the request's transaction has been committed; never when it is rolled back. */
  afterCommit(work: () => unknown): void

  /**
   * The values of the request's session, kept over requests: what JSON can hold. `ctx.session = null` ends it, and what
   * is put into it afterwards begins another one.
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
   * Gives the session another id, where a store keeps it, and another secret of `csrf()`; the rest of its content stays.
   * Call it when somebody signs in, so that an id or a token which was known before is worth nothing.
   */
  renewSession(): void

  /** The token that forms carry, where the `csrf()` middleware is used. Each page has another one. */
  readonly csrfToken: string | undefined

  /**
   * Copies parameters for the log and for error pages, with `[FILTERED]` in the place of secrets.
   *
   * @internal
   */
  filterParameters: ParameterFilter

  /**
   * The locale of this request, `en-US` unless the `translations()` middleware chose another. What is assigned counts as
   * the closest of the locales that there are, else as the fallback: it may come from a user.
   */
  locale: string

  /**
   * The texts that `t` looks in.
   *
   * @internal
   */
  catalogue: Catalogue

  /** The text of a translation id in this request's locale; an id without a translation shows as itself. */
  t(id: string, values?: Record<string, unknown>): string

  /**
   * Keeps a message for the next page that is shown: `ctx.flash('success', 'Saved.')`. It is lost when the request fails
   * with an error.
   *
   * @param type `success`, `info`, `warning`, `danger`, or a word of one's own
   */
  flash(type: FlashType, message: string): void

  /** Takes the messages that wait to be shown. Afterwards they are gone. */
  takeFlash(): Flash

  /**
   * Copies the request's body onto a record: its declared attributes only, read as their column's type. What cannot be
   * read is remembered, and reported by `save` and `validate` as an error of its field.
   *
   * @returns the record
   */
  bind<T extends object>(record: T): T

  /**
   * Finds the record of a model that has this id.
   *
   * @example await ctx.find(Post, ctx.params.post_id)
   * @throws RecordNotFound (404) if there is none, also if the id is not text or not a UUID
   */
  find<T extends Model>(model: EntityTarget<T>, id: string | null | undefined): Promise<T>

  /**
   * Finds one record of a model by the values of its columns.
   *
   * @example await ctx.findOneBy(Comment, { id: ctx.params.comment_id, post_id: ctx.params.post_id })
   * @throws RecordNotFound (404) if there is none, also if there are no conditions
   */
  findOneBy<T extends Model>(model: EntityTarget<T>, conditions: Where<T>): Promise<T>

  /**
   * Reads one page of records, newest first, as the query's `page` and `per_page` say, and sets the headers `Link` and
   * `X-Total-Count`.
   */
  paginate<T extends Model>(model: EntityTarget<T>, options?: PageOptions<T>): Promise<Page<T>>

  /**
   * Loads what a record or a list of records refers to, with one query for each relation: `posts: await ctx.load(posts,
   * 'author')`. JSON and XML show what is loaded, so it belongs where a page is rendered.
   *
   * Saving a record does not write what was loaded, unless it has been changed.
   *
   * @returns the records
   * @throws UnknownRelation if the model has no such relation
   */
  load<R extends Model | readonly Model[]>(records: R, ...relations: RelationOf<R>[]): Promise<R>

  /** Validates a record without saving it. */
  validate(record: object): Promise<ValidationErrors | undefined>

  /**
   * Validates a record and, when nothing is wrong, inserts or updates it. A constraint of the database that refuses
   * it counts as an error of the field.
   *
   * @returns what is wrong, or undefined when the record has been saved
   */
  save(record: Model): Promise<ValidationErrors | undefined>

  /**
   * Deletes a record. It keeps its id, so that it can be shown once more.
   *
   * @throws ValidationErrors (409) when something else still refers to it
   */
  destroy(record: Model): Promise<void>

  /**
   * Answers in the format that the client asks for, among those that are given. `html` is a function that renders or
   * redirects; `json` and `xml` are the value to show, or a function that returns it.
   *
   * @example await ctx.respond(201, { html: () => ctx.seeOther(path), json: post, xml: post })
   * @throws NotAcceptable (406) when the client accepts none of them
   */
  respond(responses: Responses): Promise<void>
  respond(status: number, responses: Responses): Promise<void>

  /** Renders a template of the `templates` folder as the answer: `ctx.render('posts/show', { post })`. */
  render(view: string, locals?: Record<string, unknown>): void

  /**
   * Redirects with 303 See Other: the browser goes there with GET (RFC 9110, section 15.4.4).
   *
   * @param url a path of this site, so that what a visitor sends cannot lead elsewhere; `ctx.redirect` goes anywhere
   * @param flash messages for the page there, by type
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
   * The path of a named route: `ctx.pathFor('postPath', post)`, `ctx.pathFor('postsPath', { page: 2 })`.
   *
   * @throws UnknownRoute when there is no route of this name, MissingParameter when a parameter is not given
   */
  pathFor(name: string, ...args: PathArgument[]): string
}

/** A file of a multipart form. It is deleted when the request has been answered. */
export interface UploadedFile {
  /** Where it is kept. */
  filepath: string
  /** What its sender calls it. */
  originalFilename: string | null
  mimetype: string | null
  /** Bytes. */
  size: number
}

/** A function between the request and the handler: does its part, calls `next`, and does the rest. Koa's fit, too. */
export interface Middleware {
  (ctx: Context, next: Next): unknown
  /** Whether it also runs before the static files that are declared beneath it, which have no middleware otherwise. */
  guardsFiles?: boolean
  /** Whether it cannot do without sessions: an API application, which has none, then does not start. */
  needsSession?: boolean
  /** Whether it may call what is beneath it again, once that has failed. Any other middleware calls `next` once. */
  callsAgain?: boolean
  /**
   * Prepares what the middleware needs, when the application starts.
   *
   * @param logger for what should be known, and does not stop the start
   */
  start?(logger: Logger): Promise<void>
  /** Gives up what the middleware holds, when the application stops. */
  stop?(): Promise<void>
  /** Rejects when the middleware could not do its work now: `GET /up` then answers 503. */
  check?(): Promise<void>
  /** Prepares the context of every request, also of one that no route answers and that ends with an error page. */
  begin?(ctx: Context): void
}

/** Answers a request. A returned Error counts as thrown. */
export type Handler = (ctx: Context) => unknown
