import type { Context } from './context.js'
import type { Assets } from './http/assets.js'
import { submittedValue } from './http/binder.js'
import type { Flash } from './sessions/flash.js'
import type { DeclaredRoute } from './routing/declared-route.js'
import type { RouteTable } from './routing/route-table.js'
import type { Catalogue } from './translations/catalogue.js'
import { collectionIds, singularIds } from './words/names.js'
import { UnknownRoute } from './errors.js'
import { nearest } from './words/spelling.js'
import { viewHelpers } from './views/helpers.js'
import { Renderer, type RendererOptions } from './views/renderer.js'
import type { CollectionLink, ViewContext } from './views/view-context.js'

/** The members of a context that render templates. */
export interface PageMembers {
  /** Responds with a template of the `templates` folder: `ctx.render('posts/show', { post })`. */
  render(view: string, locals?: Record<string, unknown>): void

  /** Returns the text of a template, for example for a mail. The response does not change. */
  renderToString(view: string, locals?: Record<string, unknown>): string
}

export function pageMembers(pages: Pages): PageMembers & ThisType<Context> {
  return {
    render(view, locals) {
      this.type = 'html'
      this.body = pages.render(this, view, locals)
    },

    renderToString(view, locals) {
      return pages.renderToString(this, view, locals)
    },
  }
}

/** A function that every template can call without its first argument. */
// The arguments are those of the template, which has no types.
// oxlint-disable-next-line no-explicit-any
export type Helper = (ctx: Context, ...args: any[]) => unknown

/** Renders the templates of an application. */
export class Pages {
  private readonly renderer: Renderer

  constructor(
    private readonly table: RouteTable,
    private readonly assets: Assets,
    private readonly helpers: Record<string, Helper>,
    options: Pick<RendererOptions, 'folders' | 'cache'>,
  ) {
    this.renderer = new Renderer({ ...options, explain: (error) => explained(error, table) })
  }

  /** Renders the page of a response, which gets its `Content-Language`. */
  render(ctx: Context, view: string, locals?: object): string {
    ctx.set('Content-Language', ctx.locale)
    return this.renderToString(ctx, view, locals)
  }

  /**
   * Renders a template. If several of its variables have the same name, the first of these is used: locals, `ctx.state`, the
   * application's helpers, the framework's helpers, path helpers.
   */
  renderToString(ctx: Context, view: string, locals?: object): string {
    const helpers = viewHelpers(new PageContext(ctx, this.table, this.assets))
    return this.renderer.render(view, Object.assign(helpers, this.helpersFor(ctx), ctx.state, locals))
  }

  private helpersFor(ctx: Context): Record<string, (...args: unknown[]) => unknown> {
    const bound: Record<string, (...args: unknown[]) => unknown> = {}
    for (const [name, helper] of Object.entries(this.helpers)) bound[name] = (...args) => helper(ctx, ...args)
    return bound
  }
}

/** Explains the call of a path helper that does not exist. */
function explained(error: Error, { helpers }: RouteTable): Error {
  const name = /^(\w+Path) is not a function$/.exec(error.message)?.[1]
  if (name === undefined || name in helpers) return error
  return Object.assign(new UnknownRoute(name, nearest(name, Object.keys(helpers))), { cause: error })
}

/**
 * The request's data for the helpers of templates. The session is only read by a page that shows messages.
 *
 * It is a class, because V8 keeps the closures of an object literal's getters, with request and page, until the next major
 * garbage collection.
 */
export class PageContext implements ViewContext {
  readonly submittedValue = submittedValue
  readonly paths: ViewContext['paths']
  readonly currentUrl: string
  readonly locale: string
  private readonly catalogue: Catalogue

  constructor(
    private readonly ctx: Context,
    private readonly table: RouteTable,
    private readonly assets: Assets,
  ) {
    this.paths = table.helpers
    this.currentUrl = ctx.url
    // A page has about a hundred texts, so the data they share is read once.
    this.locale = ctx.locale
    this.catalogue = ctx.catalogue
  }

  get csrfToken(): string | undefined {
    return this.ctx.csrfToken
  }

  get flash(): Flash {
    return this.ctx.takeFlash()
  }

  get timeZone(): string {
    return this.ctx.timeZone
  }

  asset(name: string): string {
    return this.assets.pathOf(name, this.ctx.hostname)
  }

  t(id: string, values?: Record<string, unknown>): string {
    return this.catalogue.translate(this.locale, id, values) ?? id
  }

  can(ability: string, record: object): boolean {
    return this.ctx.can(ability, record)
  }

  has(id: string): boolean {
    return this.catalogue.has(this.locale, id)
  }

  collections(record?: object): CollectionLink[] {
    const item = record ? this.ctx.route.resource?.itemPath : ''
    return this.table.entriesOf(item).map((route) => ({
      name: route.resource?.plural ?? '',
      ids: route.resource?.isSingular ? singularIds(route.path) : collectionIds(route.path),
      path: record ? route.url(parentsOf(this.ctx, route), record) : route.url(),
    }))
  }
}

/** The parents of a record of the request's resource, from the path. The record itself provides its own id. */
function parentsOf({ params, route: { resource } }: Context, route: DeclaredRoute): Record<string, string> {
  const isParent = (name: string) => name !== resource?.param && route.path.includes(`{${name}}`)
  return Object.fromEntries(Object.entries(params).filter(([name]) => isParent(name)))
}
