import type { Router } from '@koa/router'
import type { Context } from '../context.js'
import { memoize } from '../common/memoize.js'
import { PerRequest } from '../common/per-request.js'
import { applicationUrl } from './base-url.js'
import { canonicalPath, PathPattern } from './path.js'
import type { PathArguments, PathName } from './path-types.js'
import type { RouteLayer, RouteTable } from './route-table.js'

/** The layer of @koa/router for the route of a request. */
export const matchedLayer = new PerRequest<RouteLayer>()

declare module '../context.js' {
  interface ContextMembers extends RoutingMembers {}
}

/** The context's methods that build paths, and the properties that tools for @koa/router read. */
export interface RoutingMembers {
  /**
   * The router that has all routes of the application.
   *
   * @internal
   */
  readonly router: Router

  /**
   * A list of the router's layer for the route of the request; empty if no route was found.
   *
   * @internal
   */
  readonly matched: readonly RouteLayer[]

  /**
   * The path of the route in the syntax of @koa/router: `/posts/:post_id`.
   *
   * @internal
   */
  readonly _matchedRoute: string | RegExp | undefined

  /**
   * Returns the path of a named route: `ctx.pathFor('postPath', post)`,
   * `ctx.pathFor('postsPath', { page: 2 })`.
   *
   * @throws UnknownRoute when there is no route with this name, MissingParameter when a parameter is missing
   */
  pathFor<Name extends PathName>(name: Name, ...args: PathArguments<Name>): string

  /**
   * Returns the URL of a named route, for example for a mail: `ctx.urlFor('postPath', post)`. It begins with
   * `BASE_URL`, or with the origin of the request if `BASE_URL` is not set, except in production.
   *
   * @throws UnknownRoute, MissingParameter, MissingBaseUrl in production when `BASE_URL` is not set,
   *   BadBaseUrl
   */
  urlFor<Name extends PathName>(name: Name, ...args: PathArguments<Name>): string

  /**
   * Returns the path of a record of the request's resource, below the same parents; undefined for other
   * values, and for a record without an id.
   *
   * @internal
   */
  recordPath(value: unknown): string | undefined

  /**
   * Returns the path and query of the request, changed for another page of its list.
   *
   * @param position the parameters that select the page, such as `page` or `after`; undefined removes a
   *   parameter
   * @internal
   */
  pageUrl(position: Record<string, string | undefined>): string
}

export function routingMembers(table: RouteTable): RoutingMembers & ThisType<Context> {
  return {
    router: table.router,

    get matched() {
      const layer = matchedLayer.get(this)
      return layer ? [layer] : []
    },

    get _matchedRoute() {
      return matchedLayer.get(this)?.path
    },

    pathFor: (name, ...args) => table.pathFor(name, ...args),

    urlFor(name, ...args) {
      return applicationUrl(this) + table.pathFor(name, ...args)
    },

    recordPath(value) {
      const { resource } = this.route
      if (!resource?.model || !(value instanceof resource.model)) return undefined
      const { itemPath, param, itemKey = 'id' } = resource
      const pattern = patternOf(itemPath)
      const key: unknown = Reflect.get(value, itemKey)
      const values = pattern.params.map((name) => (name === param ? String(key ?? '') : this.params[name]))
      return values.every(Boolean) ? pattern.fill(values) : undefined
    },

    pageUrl(position) {
      const query = new URLSearchParams(this.querystring)
      for (const [name, value] of Object.entries(position)) {
        if (value === undefined) query.delete(name)
        else query.set(name, value)
      }
      return query.size > 0 ? `${encodeReference(this.path)}?${query}` : encodeReference(this.path)
    },
  }
}

/** Parses the path of a resource's item: `/posts/{post_id}`. */
const patternOf = memoize((path) => new PathPattern(path))

/**
 * Returns a request's path as a relative reference (RFC 3986, section 4.2): percent-encoded, and never
 * beginning with two slashes, which would lead to another host.
 */
function encodeReference(path: string): string {
  const encoded = canonicalPath(path)
  return encoded.startsWith('//') ? `/.${encoded}` : encoded
}
