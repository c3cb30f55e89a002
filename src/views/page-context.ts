import type { Context, Middleware } from '../context.js'
import type { Assets } from '../http/static/assets.js'
import { pooledRandomBytes } from '../common/random.js'
import { submittedValue } from '../http/binder.js'
import { sentRowsOf } from '../http/sent-rows.js'
import { markSecret } from '../http/private-responses.js'
import type { DeclaredRoute } from '../routing/declared-route.js'
import type { RouteTable } from '../routing/route-table.js'
import type { Flash } from '../sessions/flash.js'
import type { Catalog } from '../translations/catalog.js'
import { collectionIds, singularIds } from '../naming/names.js'
import type { CollectionLink, ViewContext } from './view-context.js'

/**
 * The request's data for the helpers of templates. The session is only read by a page that shows messages.
 *
 * It is a class, because V8 keeps the closures of an object literal's getters, with request and page, until
 * the next major garbage collection.
 */
export class PageContext implements ViewContext {
  readonly submittedValue = submittedValue
  readonly sentRows = sentRowsOf
  readonly paths: ViewContext['paths']
  readonly currentUrl: string
  readonly locale: string
  private readonly catalog: Catalog
  private actions: readonly { action: string; path: string }[] | undefined

  constructor(
    private readonly ctx: Context,
    private readonly table: RouteTable,
    private readonly assets: Assets,
    readonly filesLimit?: number,
  ) {
    this.paths = table.helpers
    this.currentUrl = ctx.url
    // A page has about a hundred translations, so the data that they share is read once.
    this.locale = ctx.locale
    this.catalog = ctx.catalog
  }

  get fields(): readonly string[] | undefined {
    return this.ctx.route?.resource?.fields
  }

  get csrfToken(): string | undefined {
    return this.ctx.csrfToken
  }

  newKey(): string | undefined {
    if (!this.ctx.route?.recognizesKeys) return undefined
    // No cache may give one key to two visitors.
    markSecret(this.ctx)
    return pooledRandomBytes(16).toString('base64url')
  }

  get flash(): Flash {
    return this.ctx.takeFlash()
  }

  get timeZone(): string {
    return this.ctx.timeZone
  }

  asset(name: string): string {
    return this.assets.pathOf(name, this.ctx)
  }

  t(id: string, values?: Record<string, unknown>): string {
    return this.catalog.translate(this.locale, id, values) ?? id
  }

  can(ability: string, record: object): boolean {
    return this.ctx.canNow(ability, record)
  }

  bulkActions(): readonly { action: string; path: string }[] {
    return (this.actions ??= this.findActions())
  }

  get bulkKey(): string | undefined {
    return this.ctx.route?.resource?.itemKey
  }

  /** The actions of the `bulk` option, without those of no policy, and `update`, which needs a form. */
  private findActions(): readonly { action: string; path: string }[] {
    const { many, routes, model } = this.ctx.route?.resource ?? {}
    const [list] = [routes?.get('list')]
    return (many?.bulk ?? []).flatMap((action) => {
      const isOffered = action !== 'update' && list && model && this.ctx.hasAbility(action, model)
      return isOffered ? [{ action, path: `${list.url(this.ctx.params)}/bulk/${action}` }] : []
    })
  }

  has(id: string): boolean {
    return this.catalog.has(this.locale, id)
  }

  collections(record?: object): CollectionLink[] {
    // The pages below '' are not nested. A route without a resource has no item.
    const item = record ? this.ctx.route?.resource?.itemPath : ''
    if (item === undefined) return []
    return this.pagesOf(item).map((route) => ({
      name: route.resource?.plural ?? '',
      ids: route.resource?.isSingular ? singularIds(route.path) : collectionIds(route.path),
      path: record ? route.url(parentsOf(this.ctx, route), record) : route.url(),
    }))
  }

  /** The first pages that the visitor may open. That of an unknown path has all, without knowing the user. */
  private pagesOf(item: string): readonly DeclaredRoute[] {
    const pages = this.table.firstPagesOf(item)
    if (!this.ctx.route) return pages
    const admits = ({ extension }: Middleware): boolean => extension?.admits?.(this.ctx) ?? true
    return pages.filter(({ middleware }) => middleware.every(admits))
  }
}

/** The parents of a record of the request's resource, from the path. The record has its own id. */
function parentsOf({ params, route: { resource } }: Context, route: DeclaredRoute): Record<string, string> {
  const isParent = (name: string) => name !== resource?.param && route.path.includes(`{${name}}`)
  return Object.fromEntries(Object.entries(params).filter(([name]) => isParent(name)))
}
