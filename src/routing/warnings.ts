import { DeclarationError } from '../errors.js'
import type { PathPattern } from './path.js'
import type { DeclaredRoute } from './declared-route.js'
import type { RouteTable } from './route-table.js'

/**
 * Returns a warning for each path that no request reaches, because an earlier declaration matches the same requests.
 *
 * @throws DeclarationError when two resources are at one path
 */
export function shadowedRoutes(table: RouteTable): string[] {
  return table.routes.flatMap((route) =>
    [route.pattern, ...route.aliases].flatMap((pattern) => {
      const reason = reasonOf(route, pattern, table)
      return reason
        ? `${route.method} ${pattern.path} (${route.handlerName}) is never reached: ${reason}`
        : []
    }),
  )
}

/** Explains why no request reaches a path; undefined if requests do. */
function reasonOf(route: DeclaredRoute, pattern: PathPattern, table: RouteTable): string | undefined {
  if (route.method === 'GET' && pattern.path === '/up')
    return 'the framework uses this path for its health check.'
  const hostname = route.host?.sample ?? ''
  const [folder] = route.method === 'GET' ? table.foldersOf(pattern.path, { hostname }, route) : []
  if (folder) return `the static files at ${folder.prefix} are declared before it. Declare them last.`
  const earlier = table
    .match(hostname, samplePath(pattern))
    .find((match) => match.route.handles(route.method))?.route
  if (!earlier || earlier === route) return undefined
  rejectSecondResource(route, earlier)
  return `${earlier.method} ${earlier.path} (${earlier.handlerName}) is declared before it and matches the same requests.`
}

/** A resource has routes for all seven actions, so a second one at its path gets no request. */
function rejectSecondResource(route: DeclaredRoute, earlier: DeclaredRoute): void {
  const [one, other] = [earlier.resource, route.resource]
  if (!one || !other || route.host?.pattern !== earlier.host?.pattern) return
  const isSame = one.class === other.class
  if (shapeOf(one.itemPath) !== shapeOf(other.itemPath) || (isSame && one.action !== other.action)) return
  const [first, second] = [earlier, route].map(({ handlerName }) => handlerName.split('.')[0])
  throw new DeclarationError(
    `Two resources are declared at ${route.path}: ${first} and ${isSame ? 'the same class again' : second}. No request ` +
      'reaches the second one. Remove one of them, or give it another path.',
  )
}

/** A path without the names of its parameters: `/posts/{}`. */
function shapeOf(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}')
}

/** Returns a path that matches the pattern. Its parameters have a value that static segments are unlikely to have. */
function samplePath(pattern: PathPattern): string {
  return pattern.fill([Object.fromEntries(pattern.params.map((name) => [name, '~sample~']))])
}
