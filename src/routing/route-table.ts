import { Router, type Layer } from '@koa/router'
import { DeclarationError, UnknownRoute } from '../errors.js'
import { nearest } from '../words/spelling.js'
import { actions } from '../resources/actions.js'
import { BaseResource } from '../resources/resource.js'
import { PathPattern, type PathArgument } from './path.js'
import { RouteIndex } from './route-index.js'
import { DeclaredRoute, type RouteDeclaration } from './declared-route.js'

/** A route that matches a request, and the parameters in its path. */
export interface Match {
  route: DeclaredRoute
  params: Record<string, string>
}

/** The routes of one path, which have the same parameters. */
interface PathEntry {
  /** The first of the routes. Its position orders the entries of the index. */
  route: DeclaredRoute
  routes: DeclaredRoute[]
  /** The path as a regular expression. */
  layer: Layer
}

/** The routes of an application in the order of declaration, for serving, listing and naming them. */
export class RouteTable {
  readonly routes: DeclaredRoute[] = []
  /** Whether any route depends on the host of a request. */
  hasHosts = false
  /** A path helper for each route name, as templates call it: `postPath(post)`. */
  readonly helpers: Record<string, (...args: PathArgument[]) => string> = {}
  /** The first page of each resource, for links. The key is the path of the item that the resource is nested in, or ''. */
  private readonly firstPages = new Map<string, DeclaredRoute[]>()
  /** Compiles paths to regular expressions. It serves no requests. */
  private readonly router = new Router({ sensitive: true })
  private readonly index = new RouteIndex<PathEntry>()
  private readonly entries = new Map<string, PathEntry>()
  private readonly named = new Map<string, DeclaredRoute>()

  /**
   * Adds a route after the existing ones.
   *
   * @throws DeclarationError when its name already belongs to another path
   */
  add(options: RouteDeclaration): DeclaredRoute {
    const route = new DeclaredRoute(this.withoutTakenName(options), this.routes.length)
    if (route.name !== undefined) this.claim(route.name, route)
    this.routes.push(route)
    this.hasHosts ||= route.host !== undefined
    if (route.resource && isFirstPage(route)) this.addFirstPage(route, route.resource.parentPath)
    for (const pattern of [route.pattern, ...route.aliases]) this.register(pattern, route)
    return route
  }

  /** Finds the routes whose path and host match, whatever their method is, in the order of declaration. */
  match(host: string, path: string): Match[] {
    const matches: Match[] = []
    const entries = this.index.candidates(path)
    for (const { routes, layer } of entries) {
      const captures = layer.regexp.exec(path)
      if (!captures) continue
      const params = paramsOf(layer, captures)
      for (const route of routes) {
        const hostParams = route.host?.match(host)
        if (!route.host) matches.push({ route, params })
        else if (hostParams) matches.push({ route, params: { ...hostParams, ...params } })
      }
    }
    return entries.length > 1 ? matches.toSorted((a, b) => a.route.order - b.route.order) : matches
  }

  /** Returns the first page of each resource that is nested in an item, or by default of each resource that isn't nested. */
  firstPagesOf(itemPath = ''): readonly DeclaredRoute[] {
    return this.firstPages.get(itemPath) ?? []
  }

  /**
   * Returns the path of a named route.
   *
   * @throws UnknownRoute when there is no such name, MissingParameter when a parameter is missing
   */
  pathFor(name: string, ...args: PathArgument[]): string {
    const route = this.named.get(name)
    if (!route) throw new UnknownRoute(name, nearest(name, this.named.keys()))
    return route.url(...args)
  }

  private addFirstPage(route: DeclaredRoute, parentPath: string): void {
    this.firstPages.set(parentPath, [...this.firstPagesOf(parentPath), route])
  }

  private register(pattern: PathPattern, route: DeclaredRoute): void {
    const path = pattern.toRouterPath()
    const known = this.entries.get(path)
    if (known) {
      known.routes.push(route)
      return
    }
    const layer = this.router.register(path, [route.method], [])
    // `register` returns the router itself only for a list of paths.
    if (layer instanceof Router) return
    const entry = { route, routes: [route], layer }
    this.entries.set(path, entry)
    this.index.add(pattern, entry)
  }

  /** Removes the default name of a route if a route with another path already has this name. */
  private withoutTakenName(options: RouteDeclaration): RouteDeclaration {
    if (!options.hasDefaultName || options.name === undefined) return options
    const taken = this.named.get(options.name)
    if (!taken || taken.path === new PathPattern(options.path).path) return options
    return { ...options, name: undefined }
  }

  private claim(name: string, route: DeclaredRoute): void {
    const taken = this.named.get(name)
    if (!taken || taken.hasDefaultName) {
      if (taken && taken.path !== route.path) this.removeName(name)
      this.named.set(name, route)
      this.helpers[name] = (...args) => route.pattern.fill(args, route.name)
    } else if (taken.path !== route.path) {
      throw new DeclarationError(
        `Two routes are named "${name}": ${taken.path} (${taken.handlerName}) and ${route.path} (${route.handlerName}). ` +
          (isMountedTwice(taken, route)
            ? 'Remove the option "name" of @Route. Each place where the class is mounted then derives a name from its path.'
            : 'Change the name or the path of one of them.'),
      )
    }
  }

  /** Removes a default name from its routes. */
  private removeName(name: string): void {
    for (const route of this.routes) if (route.name === name) route.name = undefined
  }
}

/** Whether a route is the first page of its resource: the list, or the page of a singular resource that has one. */
function isFirstPage({ resource, declared }: DeclaredRoute): boolean {
  if (!resource?.hasPages) return false
  if (!resource.isSingular) return resource.action === 'list'
  return resource.action === 'show' && declared !== BaseResource.prototype.show
}

/** Whether two routes come from the same `@Route`, which a base class may contain. */
function isMountedTwice({ resource }: DeclaredRoute, other: DeclaredRoute): boolean {
  if (!resource || resource.action !== other.resource?.action) return false
  return !actions.some(({ handler }) => handler === resource.action)
}

/** The decoded parameters of a path. Decoding cannot fail, because `canonicalPath` has encoded the path. */
function paramsOf({ paramNames }: Layer, captures: RegExpExecArray): Record<string, string> {
  const params: Record<string, string> = {}
  for (let index = 0; index < paramNames.length; index++) {
    const name = paramNames[index]?.name
    // The first capture is the whole path.
    const value = captures[index + 1]
    if (name !== undefined && value) params[name] = value.includes('%') ? decodeURIComponent(value) : value
  }
  return params
}
