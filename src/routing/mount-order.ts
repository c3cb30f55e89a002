import { DeclarationError } from '../errors.js'
import type { ForMany, RouteDeclaration } from './declared-route.js'
import { PathPattern } from './path.js'

/** A route of a resource, before it is mounted. `handler` is the name of its method. */
export interface HandlerRoute extends Pick<
  RouteDeclaration,
  'method' | 'path' | 'aliases' | 'name' | 'hasDefaultName' | 'includesPatch' | 'readsBody' | 'description'
> {
  handler: string
  /** The kind of the route, if it is for many records at once. */
  forMany?: ForMany
}

/** The paths of a resource, and its name for messages. */
export interface ResourcePaths {
  resource: string
  /** `/posts` */
  collection: string
  /** `/posts/{post_id}` */
  item: string
}

/**
 * Returns the routes of a resource in the order in which they are mounted, so that none of the seven handlers
 * receives the requests of a `@Route`: `/posts/drafts` precedes `/posts/{post_id}`. `update` handles PATCH,
 * too, unless a `@Route` does.
 *
 * @throws DeclarationError when two handlers have the same method and path
 */
export function sortForMounting(routes: readonly HandlerRoute[], paths: ResourcePaths): HandlerRoute[] {
  rejectDuplicates(routes, paths.resource)
  const includesPatch = !routes.some((route) => isPatchOf(paths.item, route))
  return routes
    .map((route) => (route.handler === 'update' && !route.forMany ? { ...route, includesPatch } : route))
    .toSorted((left, right) => rankOf(left, paths) - rankOf(right, paths))
}

/** The ranks of the seven handlers. A `@Route` has a rank between or after them. */
const ranks = new Map(Object.entries({ list: 0, create: 0, new: 2, show: 2, update: 4, destroy: 4, edit: 4 }))

/** Returns the rank of a route. Lower ranks are mounted first; one rank keeps the declared order. */
function rankOf(route: HandlerRoute, { collection, item }: ResourcePaths): number {
  const rank = route.forMany ? undefined : ranks.get(route.handler)
  if (rank !== undefined) return rank
  const continuesWithText = /^\/[^{]/.test(route.path.slice(collection.length))
  // `show` could receive its requests: `drafts` would be a `post_id`.
  if (continuesWithText) return 1
  // The table lists a PATCH of the item beside `update`, which then does not handle PATCH.
  return isPatchOf(item, route) ? 3 : 5
}

/** Whether a route handles the PATCH requests that `update` would handle otherwise. */
function isPatchOf(item: string, route: HandlerRoute): boolean {
  return route.method === 'PATCH' && pathsOf(route).includes(item)
}

function rejectDuplicates(routes: readonly HandlerRoute[], resource: string): void {
  const handlers = new Map<string, string>()
  for (const route of routes) {
    for (const path of pathsOf(route)) {
      const request = `${route.method} ${path}`
      const other = handlers.get(request)
      if (other) {
        throw new DeclarationError(
          `${resource}.${other} and ${resource}.${route.handler} both handle ${request}. Change the method or the path of @Route.`,
        )
      }
      handlers.set(request, route.handler)
    }
  }
}

function pathsOf({ path, aliases = [] }: HandlerRoute): string[] {
  return [path, ...aliases].map((alias) => new PathPattern(alias).path)
}
