import type Koa from 'koa'
import type { Context, ContextMembers } from './context.js'
import { attributesOf } from './data/attributes.js'
import { linkHeader, paginate } from './data/pagination.js'
import { destroyRecord, findRecord, saveRecord } from './data/records.js'
import { track } from './data/transaction-manager.js'
import { attributeName, messageOf, validate, type Translate } from './data/validation.js'
import { BadRequest, NoTransaction, ValidationErrors } from './errors.js'
import { bind, submittedValue, unreadableOf } from './http/binder.js'
import { parameterFilter } from './http/filter.js'
import { addFlash, readFlash, takeFlash } from './http/flash.js'
import type { Format } from './http/negotiation.js'
import { respond, type Responses } from './http/responder.js'
import type { RouteTable } from './routing/route-table.js'
import { defaultLocale, frameworkCatalogue } from './translations/catalogue.js'
import { chooseLocale } from './translations/locale-choice.js'
import { withChoices } from './translations/interpolation.js'
import { viewHelpers } from './views/helpers.js'
import type { Renderer } from './views/renderer.js'
import type { CollectionLink, ViewContext } from './views/view-context.js'

/** What the context's members work with. */
export interface ContextServices {
  table: RouteTable
  renderer: Renderer
  defaultFormat: Format
}

/** Puts the framework's members on the context that an application gives to its handlers. */
export function extendContext(context: Koa['context'], services: ContextServices): void {
  Object.defineProperties(context, Object.getOwnPropertyDescriptors(membersOf(services)))
}

/** The functions that every template can call, for one request. */
export function helpersOf(ctx: Context, table: RouteTable): object {
  ctx.set('Content-Language', ctx.locale)
  return viewHelpers(viewContext(ctx, table))
}

type Members = Pick<
  ContextMembers,
  | 'locale'
  | 'catalogue'
  | 'defaultFormat'
  | 'filterParameters'
  | 'tx'
  | 'afterCommit'
  | 't'
  | 'flash'
  | 'takeFlash'
  | 'renewSession'
  | 'bind'
  | 'find'
  | 'paginate'
  | 'validate'
  | 'save'
  | 'destroy'
  | 'respond'
  | 'render'
  | 'seeOther'
  | 'pathFor'
>

function membersOf({ table, renderer, defaultFormat }: ContextServices): Members & ThisType<Context> {
  return {
    get locale() {
      return locales.get(this) ?? defaultLocale
    },

    set locale(chosen) {
      const { locales: known } = this.catalogue
      locales.set(this, chooseLocale(known, { chosen: [chosen], accept: '' }, defaultLocale))
    },

    catalogue: frameworkCatalogue(),
    defaultFormat,
    filterParameters: parameterFilter(),

    get tx(): never {
      throw new NoTransaction()
    },

    afterCommit() {
      throw new NoTransaction()
    },

    t(id, values) {
      return this.catalogue.translate(this.locale, id, values) ?? id
    },

    flash(type, message) {
      if (hasSession(this)) addFlash(this.session, type, message)
    },

    takeFlash() {
      if (!hasSession(this)) return []
      // Nobody sees the page that HEAD asks for.
      return this.method === 'HEAD' ? readFlash(this.session) : takeFlash(this.session)
    },

    renewSession() {},

    bind(record) {
      const { resource } = this.route
      const parents = new Set([...Object.keys(this.params), ...(resource?.parentKeys ?? [])])
      parents.delete(resource?.param ?? '')
      const attributes = attributesOf(record.constructor).filter(({ name }) => !parents.has(name))
      return bind(record, attributes, {
        body: this.request.body,
        isJson: /[/+]json$/.test(this.request.type),
      })
    },

    find(model, where) {
      return track(this.tx, () => findRecord(this.tx, model, where))
    },

    async paginate(model, options) {
      const page = await track(this.tx, () => paginate(this.tx, model, this.query, options))
      this.set('X-Total-Count', String(page.pagination.total))
      this.set(
        'Link',
        linkHeader(page.pagination, (number) => pageUrl(this, number, page.pagination.perPage)),
      )
      return page
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
      if (!isOfThisSite(url)) throw new BadRequest('the address to go on to is not one of this site')
      for (const [type, message] of Object.entries(flash)) this.flash(type, message)
      this.status = 303
      this.redirect(url)
    },

    pathFor(name, ...args) {
      return table.pathFor(name, ...args)
    },
  }
}

/** Whether the application has sessions: an API application has none. */
function hasSession(ctx: Context): boolean {
  return 'session' in ctx
}

/** What was assigned to `ctx.locale`, where no middleware chooses it. */
const locales = new WeakMap<Context, string>()

/** What is said of the fields of a record that could not be read. */
function unreadErrors(ctx: Context, record: object): ValidationErrors {
  const errors = new ValidationErrors()
  for (const { attribute } of unreadableOf(record)) {
    const rule = `type.${attribute.kind}`
    const name = attributeName(record.constructor, attribute.name, translator(ctx))
    const values = { attribute: name, values: attribute.values }
    const own = `${name} is not a ${attribute.kind}.`
    errors.add(
      attribute.name,
      rule,
      messageOf(record.constructor, attribute.name, rule, values, { own }, translator(ctx)),
      values,
    )
  }
  return errors
}

function translator(ctx: Context): Translate {
  return (id, values) => ctx.catalogue.translate(ctx.locale, id, withChoices(values, ctx.locale))
}

/** Says in which language the messages are. */
function speaking(ctx: Context, errors: ValidationErrors | undefined): ValidationErrors | undefined {
  if (errors) ctx.set('Content-Language', ctx.locale)
  return errors
}

/** Whether a browser that follows a URL stays on the site that sent it there. */
function isOfThisSite(url: string): boolean {
  const site = 'http://this-site.invalid'
  return URL.canParse(url, site) && new URL(url, site).origin === site
}

/** The request's own path and query, with another page. Of a query that is too long for a header, the size of a page stays. */
function pageUrl(ctx: Context, page: number, perPage: number): string {
  const query = new URLSearchParams(
    ctx.querystring.length > 1000 ? { per_page: String(perPage) } : ctx.querystring,
  )
  query.set('page', String(page))
  return `${ctx.path}?${query}`
}

/** What a template's helpers ask of the request. The session is read only by a page that shows messages. */
function viewContext(ctx: Context, table: RouteTable): ViewContext {
  return {
    t: (id, values) => ctx.t(id, values),
    has: (id) => ctx.catalogue.has(ctx.locale, id),
    get locale() {
      return ctx.locale
    },
    get csrfToken() {
      return ctx.csrfToken
    },
    paths: table.helpers,
    get flash() {
      return ctx.takeFlash()
    },
    currentUrl: ctx.url,
    collections: (record) => collectionLinks(ctx, table, record),
    submittedValue,
  }
}

function collectionLinks(ctx: Context, table: RouteTable, record?: object): CollectionLink[] {
  const item = record ? ctx.route.resource?.itemPath : ''
  return table.collections(item).map((route) => ({
    name: route.resource?.plural ?? '',
    path: record ? route.url(record) : route.url(),
  }))
}
