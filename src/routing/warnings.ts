import { DeclarationError } from '../errors.js'
import { isOneLetterOff } from '../naming/spelling.js'
import { decorationsOf } from '../resources/decorations.js'
import { BaseResource, type ResourceClass } from '../resources/resource.js'
import { actionsOf, isImplemented } from '../resources/scanner.js'
import type { DeclaredRoute } from './declared-route.js'
import type { PathPattern } from './path.js'
import type { RouteTable } from './route-table.js'

/**
 * Returns a warning for each path that no request reaches, because an earlier declaration matches the same
 * requests.
 *
 * @throws DeclarationError when two resources are at one path
 */
export function findShadowedRoutes(table: RouteTable): string[] {
  return table.routes.flatMap((route) =>
    [route.pattern, ...route.aliases].flatMap((pattern) => {
      const reason = explainShadow(route, pattern, table)
      return reason
        ? `${route.method} ${pattern.path} (${route.handlerName}) is never reached: ${reason}`
        : []
    }),
  )
}

/**
 * Explains why no request reaches a path; undefined if requests do.
 *
 * @throws DeclarationError when its resource is the second at the path
 */
function explainShadow(route: DeclaredRoute, pattern: PathPattern, table: RouteTable): string | undefined {
  if (route.method === 'GET' && pattern.path === '/up')
    return 'the framework uses this path for its health check.'
  const hostname = route.host?.sample ?? ''
  const [folder] = route.method === 'GET' ? table.foldersOf(pattern.path, { hostname }, route) : []
  if (folder) return `the static files at ${folder.prefix} are declared before it. Declare them last.`
  // No static segment of an earlier route has this value, so only routes that match every value match the
  // sample.
  const sample = pattern.fill([Object.fromEntries(pattern.params.map((name) => [name, '~sample~']))])
  const earlier = table.match(hostname, sample).find((match) => match.route.handles(route.method))?.route
  if (!earlier || earlier === route) return undefined
  rejectSecondResource(route, earlier)
  return `${earlier.method} ${earlier.path} (${earlier.handlerName}) is declared before it and matches the same requests.`
}

/** Rejects a second resource at the same path, because the first one takes all its requests. */
function rejectSecondResource(route: DeclaredRoute, earlier: DeclaredRoute): void {
  const [left, right] = [earlier.resource, route.resource]
  if (!left || !right || route.host?.pattern !== earlier.host?.pattern) return
  // Two handlers of one class can have one path, which is only a warning.
  const isSame = left.class === right.class
  if (shapeOf(left.itemPath) !== shapeOf(right.itemPath) || (isSame && left.action !== right.action)) return
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

/** Returns a warning for each method whose name is a letter away from a handler that its class lacks. */
export function findMisspelledHandlers(resources: Iterable<ResourceClass>): string[] {
  return [...resources].flatMap((resource) => {
    const missing = actionsOf(resource).filter((action) => !isImplemented(resource, action))
    const methods = undecoratedMethodsOf(resource)
    return missing.flatMap(({ handler }) =>
      methods
        .filter((method) => isOneLetterOff(method, handler))
        .map(
          (method) =>
            `${resource.name} has a method "${method}", but no handler "${handler}". ` +
            `If "${method}" is a misspelling, rename it, because no route calls it.`,
        ),
    )
  })
}

/** The methods without decorators of a class and its superclasses below `BaseResource`, with handlers. */
function undecoratedMethodsOf(resource: ResourceClass): string[] {
  const { methods: decorated } = decorationsOf(resource.prototype)
  const methods: string[] = []
  let prototype: object = resource.prototype
  while (prototype !== BaseResource.prototype && prototype !== Object.prototype) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(prototype)))
      if (typeof value === 'function' && !decorated.has(name)) methods.push(name)
    prototype = Object.getPrototypeOf(prototype)
  }
  return methods
}
