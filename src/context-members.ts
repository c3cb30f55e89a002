import type Koa from 'koa'
import type { Context, ContextMembers } from './context.js'
import { attributesOf, isEntity } from './data/attributes.js'
import { loadRelations } from './data/loading.js'
import type { FindRecordOptions } from './data/locking.js'
import type { Model } from './data/model.js'
import { linkHeader, paginate } from './data/pagination.js'
import { destroyRecord, findRecord, findRecordBy, saveRecord } from './data/records.js'
import { transactionOf } from './data/transactions/request-transaction.js'
import { track } from './data/transactions/transaction-manager.js'
import { attributeName, messageOf, validate, type Translate } from './data/validation.js'
import { LockWhileReading, NoSession, NotAnEntity, NoTransaction, ValidationErrors } from './errors.js'
import { bind, unreadableOf } from './http/binder.js'
import { hasForm } from './http/body.js'
import { parameterFilter } from './logging/filter.js'
import { READING } from './http/methods.js'
import type { Format } from './http/negotiation.js'
import { pageBefore, urlOfThisSite } from './http/own-site.js'
import { tokenOfPage } from './sessions/request-token.js'
import { respond, type Responses } from './http/responder.js'
import { loggerOf } from './logging/request-logger.js'
import { PageContext } from './page-context.js'
import { canonicalPath } from './routing/path.js'
import type { RouteTable } from './routing/route-table.js'
import { frameworkCatalogue } from './translations/catalogue.js'
import { defaultLocale } from './translations/formatters.js'
import { chooseLocale } from './translations/locale-choice.js'
import { withChoices } from './translations/interpolation.js'
import { assignLocale, catalogueOf, requestLocale, setCatalogue } from './translations/request-locale.js'
import { viewHelpers } from './views/helpers.js'
import type { Renderer } from './views/renderer.js'

/** The parts of the application that the context's members need. */
export interface ContextServices {
  table: RouteTable
  renderer: Renderer
  defaultFormat: Format
  hasSession: boolean
}

/** Adds the framework's members to the context of an application. */
export function extendContext(context: Koa['context'], services: ContextServices): void {
  Object.defineProperties(context, Object.getOwnPropertyDescriptors(membersOf(services)))
}

/** Creates the functions that every template can call, for one request. */
export function helpersOf(ctx: Context, table: RouteTable): object {
  ctx.set('Content-Language', ctx.locale)
  return viewHelpers(new PageContext(ctx, table))
}

type Members = Pick<
  ContextMembers,
  | 'locale'
  | 'csrfToken'
  | 'log'
  | 'catalogue'
  | 'defaultFormat'
  | 'filterParameters'
  | 'tx'
  | 'afterCommit'
  | 't'
  | 'flash'
  | 'takeFlash'
  | 'session'
  | 'hasSession'
  | 'renewSession'
  | 'bind'
  | 'find'
  | 'findOneBy'
  | 'load'
  | 'paginate'
  | 'validate'
  | 'save'
  | 'destroy'
  | 'respond'
  | 'render'
  | 'seeOther'
  | 'back'
  | 'pathFor'
>

function membersOf(services: ContextServices): Members & ThisType<Context> {
  const { table, renderer, defaultFormat, hasSession } = services
  return {
    get locale() {
      return requestLocale(this) ?? defaultLocale
    },

    set locale(chosen) {
      const { locales } = this.catalogue
      assignLocale(this, chosen, (wanted) =>
        chooseLocale(locales, { chosen: [wanted], accept: '' }, defaultLocale),
      )
    },

    get log() {
      const log = loggerOf(this)
      if (!log) throw new Error('A request has a log as soon as it has begun.')
      return log
    },

    get csrfToken() {
      return tokenOfPage(this)
    },

    get catalogue() {
      return catalogueOf(this) ?? frameworkCatalogue()
    },

    set catalogue(catalogue) {
      setCatalogue(this, catalogue)
    },

    defaultFormat,
    filterParameters: parameterFilter(),

    get tx() {
      const transaction = transactionOf(this)
      if (!transaction) throw new NoTransaction()
      return transaction.manager
    },

    afterCommit(work) {
      const transaction = transactionOf(this)
      if (!transaction) throw new NoTransaction()
      transaction.hooks.push(work)
    },

    t(id, values) {
      return this.catalogue.translate(this.locale, id, values) ?? id
    },

    /** If there are sessions, `SessionContents` replaces this member and `renewSession`. */
    get session(): Record<string, unknown> {
      throw new NoSession()
    },

    set session(_values) {
      throw new NoSession()
    },

    renewSession() {},

    hasSession,

    /** If there are sessions, `FlashCookie` replaces this member and `takeFlash`. */
    flash() {},

    takeFlash() {
      return []
    },

    bind(record) {
      const { resource } = this.route
      const parents = new Set([...Object.keys(this.params), ...(resource?.parentKeys ?? [])])
      parents.delete(resource?.param ?? '')
      const attributes = attributesOf(entityOf(record)).filter(({ name }) => !parents.has(name))
      return bind(record, attributes, {
        body: this.request.body,
        isJson: /[/+]json$/.test(this.request.type),
        isForm: hasForm(this),
      })
    },

    find(model, id, options) {
      const { tx } = this
      refuseLockWhileReading(this, options)
      return track(tx, () => findRecord(tx, model, id, options))
    },

    findOneBy(model, conditions, options) {
      const { tx } = this
      refuseLockWhileReading(this, options)
      return track(tx, () => findRecordBy(tx, model, conditions, options))
    },

    async paginate(model, options) {
      const page = await track(this.tx, () => paginate(this.tx, model, this.query, options))
      if (page.pagination.isTotalKnown) this.set('X-Total-Count', String(page.pagination.total))
      this.set(
        'Link',
        linkHeader(page.pagination, (number) => pageUrl(this, number, page.pagination.perPage)),
      )
      return page
    },

    async load<R extends Model | readonly Model[]>(records: R, ...relations: string[]): Promise<R> {
      const list: Model[] = [records].flat()
      await track(this.tx, () => loadRelations(this.tx, list, relations))
      return records
    },

    async validate(record) {
      return speaking(this, await validate(record, translator(this), unreadErrors(this, record)))
    },

    async save(record) {
      const errors = await track(this.tx, () =>
        saveRecord(this.tx, record, translator(this), unreadErrors(this, record)),
      )
      return speaking(this, errors)
    },

    destroy(record) {
      return track(this.tx, () => destroyRecord(this.tx, record, translator(this)))
    },

    respond(...args: [Responses] | [number, Responses]) {
      const [status, responses] = args.length === 2 ? args : [200, args[0]]
      return respond(this, status, responses)
    },

    render(view, locals) {
      this.type = 'html'
      this.body = renderer.render(view, Object.assign(helpersOf(this, table), locals))
    },

    seeOther(url, flash = {}) {
      const path = urlOfThisSite(url)
      for (const [type, message] of Object.entries(flash)) this.flash(type, message)
      this.status = 303
      this.redirect(path)
    },

    back(fallback = '/') {
      this.redirect(pageBefore(this) ?? urlOfThisSite(fallback))
    },

    pathFor(name, ...args) {
      return table.pathFor(name, ...args)
    },
  }
}

/** The class of a record that has columns. */
function entityOf(record: object): Function {
  const { constructor }: { constructor?: unknown } = record
  if (typeof constructor === 'function' && (attributesOf(constructor).length > 0 || isEntity(constructor)))
    return constructor
  throw new NotAnEntity(typeof constructor === 'function' ? constructor.name : 'An object without a class')
}

/** Returns errors for the fields of a record that could not be read. */
function unreadErrors(ctx: Context, record: object): ValidationErrors | undefined {
  const fields = unreadableOf(record)
  if (fields.length === 0) return undefined
  const errors = new ValidationErrors()
  for (const { attribute, value } of fields) {
    const isBlank = value === null || (typeof value === 'string' && value.trim() === '')
    const rule = isBlank ? 'present' : `type.${attribute.kind}`
    const name = attributeName(record.constructor, attribute.name, translator(ctx))
    const values = { attribute: name, values: attribute.values }
    const own = isBlank ? `${name} cannot be blank.` : `${name} is not a ${attribute.kind}.`
    errors.add(
      attribute.name,
      rule,
      messageOf(record.constructor, attribute.name, rule, values, { own }, translator(ctx)),
      values,
    )
  }
  return errors
}

/** A request that only reads does not wait on SQLite for those that write, so it cannot lock anything. */
function refuseLockWhileReading({ method }: Context, options?: FindRecordOptions): void {
  if (options?.lock && READING.includes(method)) throw new LockWhileReading(method)
}

function translator(ctx: Context): Translate {
  return (id, values, source) =>
    ctx.catalogue.translate(ctx.locale, id, withChoices(values, ctx.locale), source)
}

/** Sets the header for the language of the messages. */
function speaking(ctx: Context, errors: ValidationErrors | undefined): ValidationErrors | undefined {
  if (errors) ctx.set('Content-Language', ctx.locale)
  return errors
}

/** The request's own path and query, for another page. If the query is too long for a header, only the page size is kept. */
function pageUrl(ctx: Context, page: number, perPage: number): string {
  const query = new URLSearchParams(
    ctx.querystring.length > 1000 ? { per_page: String(perPage) } : ctx.querystring,
  )
  query.set('page', String(page))
  return `${referenceTo(ctx.path)}?${query}`
}

/**
 * Returns a request's path as a relative reference (RFC 3986, section 4.2): percent-encoded, and never beginning with two
 * slashes, which would lead to another host.
 */
function referenceTo(path: string): string {
  const encoded = canonicalPath(path)
  return encoded.startsWith('//') ? `/.${encoded}` : encoded
}
