import type Koa from 'koa'
import { hasStatus } from '../common/has-status.js'
import { ObservedPromise } from '../common/observed-promise.js'
import type { Context } from '../context.js'
import type { AttributeOf, BindOptions } from '../models/attributes/attribute-of.js'
import type { Pagination } from '../records/lists/pagination.js'
import { ValidationErrors } from '../errors.js'
import { bind, boundOf, unreadableOf, type UnreadableField } from './binder.js'
import { bodyKindOf, hasForm } from './body/body-kind.js'
import { addRejectedFiles, rejectUnreported, reportRejectedFiles } from './body/rejected-files.js'
import { fileReader } from './body/uploads.js'
import type { FormatName } from './formats/formats.js'
import { refererOfThisSite, urlOfThisSite } from './security/own-site.js'
import { expectHtml, rejectData } from './expected-html.js'
import { visitorCookies } from './private-responses.js'
import { setPageHeaders } from './page-headers.js'
import { compareVersion } from './preconditions.js'
import { chooseFormat, respond, type Responses } from './responder.js'
import { pathKeysOf, writableAttributes } from './writable-attributes.js'

declare module '../context.js' {
  interface ContextMembers extends HttpMembers {}
}

/** The members of a context that read the request's body, and respond. */
export interface HttpMembers {
  /** The format of responses to clients that prefer none: html, or json in an API application. */
  readonly defaultFormat: FormatName

  /**
   * Copies the request's body to a record. Only declared attributes are copied, and converted to the type of
   * their column. If the class is not an entity, its attributes are the properties with decorators of
   * class-validator. `save` and `validate` report a value that cannot be converted as an error of its field.
   *
   * For a record of the resource's model, these are the attributes that the `fields` option of `@Resource`
   * lists. Attributes that the path sets, such as `post_id`, are never copied.
   *
   * @param only the attributes that the request may set, or `{ from: object, fields }` to copy from an object
   *   instead of the body; without attributes, the request may set the `fields`, or all if there are none
   * @returns the record
   * @example ctx.bind(new Post())
   * @throws BadRequest (400) if the body is not an object
   * @throws UnlistedField (500) if `only` names an attribute that `fields` does not contain
   * @throws UnknownAttribute if `only` names a property that a request cannot set
   * @throws NoAttributes, UntypedAttribute if the class is not an entity and has no decorators that describe
   *   its properties
   */
  bind<T extends object>(record: T, only?: readonly AttributeOf<NoInfer<T>>[] | BindOptions<NoInfer<T>>): T

  /**
   * Responds in the format that the client prefers. `html` is a function that renders or redirects. `data` is
   * the value for JSON and XML, or a function that returns it; `json` and `xml` override it for their format.
   *
   * With the status 201 and a record of the resource's model as `data`, the `Location` header is the path of
   * the record, unless the handler has set the header.
   *
   * @example await ctx.respond(201, { html: () => ctx.seeOther(ctx.pathFor('postPath', post)), data: post })
   * @throws NotAcceptable (406) when the client accepts none of the formats
   */
  respond(responses: Responses): Promise<void>
  respond(status: number, responses: Responses): Promise<void>

  /**
   * Responds with the errors that `save` or `validate` returned: their status, and a problem document in JSON
   * and XML. `html` renders the form again.
   *
   * @example await ctx.respond(errors, { html: () => ctx.render('posts/new', { post, errors }) })
   */
  respond(errors: ValidationErrors, responses?: Responses): Promise<void>

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
   * Redirects to the page that the request was sent from (`Referer`), if the page belongs to this site, else
   * to `fallback`.
   *
   * @param fallback a path of this site, `/` by default
   * @throws BadRequest (400) when the fallback leads to another site
   */
  back(fallback?: string): void

  /**
   * The cookies of the request, and those that the response sets. A response for which a cookie is read is
   * not kept in shared caches (`Cache-Control: private, no-cache`), unless the handler sets another
   * `Cache-Control`.
   */
  readonly cookies: Koa.Context['cookies']

  /**
   * The fields of a bound record that could not be converted.
   *
   * @internal
   */
  unreadable(record: object): readonly UnreadableField[]

  /**
   * Compares the version of a saved record with the conditions of the request.
   *
   * @internal
   */
  compareVersion(record: object, attempt: object, foundBy?: object): 'stale' | 'matched' | undefined

  /**
   * The attributes that the path sets, and the content of the request cannot.
   *
   * @internal
   */
  readonly pathKeys: ReadonlySet<string>

  /**
   * Whether the client prefers HTML to JSON and XML.
   *
   * @param errors returns the errors of the request, which an HTML page shows. If the handler responds in
   *   another format, `rejectData` throws them
   * @internal
   */
  prefersHtml(errors: () => ValidationErrors | undefined): boolean

  /**
   * Sets the headers of a page of a list.
   *
   * @internal
   */
  setPageHeaders(pagination: Pagination): void

  /**
   * Rejects a request that has errors, if the handler has responded in another format than HTML, and one
   * whose files are too large, if the handler has responded without errors.
   *
   * @throws ContentTooLarge (413) when the files are too large
   * @throws ValidationErrors the first errors that a function passed to `prefersHtml` returns
   * @internal
   */
  rejectData(): void

  /**
   * The fields whose files are too large, which the handler reports as errors, and the limit of all files.
   *
   * @internal
   */
  reportRejectedFiles(): { fields: readonly string[]; max: string } | undefined

  /**
   * The attributes of a record that the request has set, with the values that they had before.
   *
   * @internal
   */
  bound(record: object): ReadonlyMap<string, unknown>
}

export function httpMembers(defaultFormat: FormatName): HttpMembers & ThisType<Context> {
  return {
    defaultFormat,
    unreadable: unreadableOf,
    bound: boundOf,

    reportRejectedFiles() {
      return reportRejectedFiles(this)
    },

    get cookies() {
      return visitorCookies(this)
    },

    compareVersion(record, attempt, foundBy) {
      return compareVersion(this, record, attempt, foundBy)
    },

    prefersHtml(errors) {
      const isHtml = chooseFormat(this) === 'html'
      if (isHtml) expectHtml(this, errors)
      return isHtml
    },

    setPageHeaders(pagination) {
      setPageHeaders(this, pagination)
    },

    rejectData() {
      rejectUnreported(this)
      rejectData(this)
    },

    get pathKeys() {
      return pathKeysOf(Object.keys(this.params), this.route.resource)
    },

    bind(record, only) {
      return bindBody(this, record, only)
    },

    respond(first: Responses | ValidationErrors | number, responses: Responses = {}) {
      return ObservedPromise.from(send(this, first, responses), new LostResponse(this))
    },

    seeOther(url, flash = {}) {
      const path = urlOfThisSite(url)
      for (const [type, message] of Object.entries(flash)) this.flash(type, message)
      this.status = 303
      this.redirect(path)
    },

    back(fallback = '/') {
      this.redirect(refererOfThisSite(this) ?? urlOfThisSite(fallback))
    },
  }
}

function bindBody<T extends object>(
  ctx: Context,
  record: T,
  only: readonly string[] | { from: object; fields?: readonly string[] } | undefined,
) {
  if (only && 'from' in only) return bindFrom(ctx, record, only)
  const keys = ctx.pathKeys
  const isForm = hasForm(ctx)
  const attributes = writableAttributes(record, only, ctx.route).filter(({ name }) => !keys.has(name))
  return bind(record, attributes, {
    body: ctx.request.body,
    isJson: bodyKindOf(ctx) === 'json',
    isForm,
    timeZone: isForm ? ctx.timeZone : 'UTC',
    readFiles: fileReader.get(ctx),
  })
}

/** Copies an object, as the body of JSON that contains it. A job has no route. */
function bindFrom<T extends object>(
  ctx: Partial<Context>,
  record: T,
  { from, fields }: { from: object; fields?: readonly string[] },
): T {
  const route = ctx.route ?? { resource: undefined, handlerName: 'The job' }
  const keys = ctx.route ? ctx.pathKeys : undefined
  const attributes = writableAttributes(record, fields, route).filter(({ name }) => !keys?.has(name))
  return bind(record, attributes, { body: from, isJson: true, isForm: false, timeZone: 'UTC' })
}

function send(
  ctx: Context,
  first: Responses | ValidationErrors | number,
  responses: Responses,
): Promise<void> {
  if (first instanceof ValidationErrors) {
    addRejectedFiles(ctx, first)
    ctx.translateErrors(first)
    return respond(ctx, first.status, { data: first, ...responses })
  }
  return typeof first === 'number'
    ? respond(ctx, first, responses)
    : respond(ctx, hasStatus(ctx) ? ctx.status : 200, first)
}

/** The owner of a `ctx.respond` that was not awaited: it logs the error instead of ending the process. */
class LostResponse {
  constructor(private readonly ctx: Context) {}

  lose(error: unknown): void {
    this.ctx.log.error({ err: error }, 'ctx.respond failed, and was not awaited')
  }
}
