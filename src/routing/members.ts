import type { Context } from '../context.js'
import { canonicalPath, type PathArgument } from './path.js'
import type { RouteTable } from './route-table.js'

/** The context's methods that build paths. */
export interface RoutingMembers {
  /**
   * Returns the path of a named route: `ctx.pathFor('postPath', post)`, `ctx.pathFor('postsPath', { page: 2 })`.
   *
   * @throws UnknownRoute when there is no route with this name, MissingParameter when a parameter is missing
   */
  pathFor(name: string, ...args: PathArgument[]): string

  /**
   * Returns the path and query of the request with another page number.
   *
   * @internal
   */
  pageUrl(page: number, perPage: number): string
}

export function routingMembers(table: RouteTable): RoutingMembers & ThisType<Context> {
  return {
    pathFor: (name, ...args) => table.pathFor(name, ...args),

    pageUrl(page, perPage) {
      // A long query would make the `Link` header too long, so only the page size is kept.
      const query = new URLSearchParams(
        this.querystring.length > 1000 ? { per_page: String(perPage) } : this.querystring,
      )
      query.set('page', String(page))
      return `${referenceTo(this.path)}?${query}`
    },
  }
}

/**
 * Returns a request's path as a relative reference (RFC 3986, section 4.2): percent-encoded, and never beginning with two
 * slashes, which would lead to another host.
 */
function referenceTo(path: string): string {
  const encoded = canonicalPath(path)
  return encoded.startsWith('//') ? `/.${encoded}` : encoded
}
