import { DeclarationError } from '../errors.js'
import type { RouteDeclaration } from './declared-route.js'
import { PathPattern } from './path.js'

/** A route of a resource, before it is mounted. */
export interface HandlerRoute extends Pick<
  RouteDeclaration,
  'method' | 'path' | 'aliases' | 'name' | 'hasDefaultName' | 'includesPatch' | 'readsBody' | 'description'
> {
  /** The name of the method. */
  handler: string
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
 * Returns the routes of a resource in the order in which they are mounted, so that none of the seven actions takes the
 * requests of a `@Route`: `/posts/drafts` precedes `/posts/{post_id}`.
 *
 * @throws DeclarationError when two handlers have the same method and path
 */
export function inMountOrder(
  actions: readonly HandlerRoute[],
  decorated: readonly HandlerRoute[],
  paths: ResourcePaths,
): HandlerRoute[] {
  rejectDuplicates([...actions, ...decorated], paths.resource)
  const action = (...handlers: string[]) => actions.filter(({ handler }) => handlers.includes(handler))
  const group = (name: Group) => decorated.filter((route) => groupOf(route, paths) === name)
  const includesPatch = !decorated.some((route) => isPatchOf(paths.item, route))
  return [
    ...action('list', 'create'),
    ...group('collection'),
    ...action('new', 'show'),
    ...group('patch'),
    ...action('update').map((route) => ({ ...route, includesPatch })),
    ...action('destroy', 'edit'),
    ...group('other'),
  ]
}

/** `collection`: the path continues with text. `patch`: PATCH at the item, which the action `update` otherwise handles. */
type Group = 'collection' | 'patch' | 'other'

function groupOf(route: HandlerRoute, { collection, item }: ResourcePaths): Group {
  if (/^\/[^{]/.test(route.path.slice(collection.length))) return 'collection'
  return isPatchOf(item, route) ? 'patch' : 'other'
}

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
  return [path, ...aliases].map((one) => new PathPattern(one).path)
}
