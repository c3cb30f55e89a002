import { Router, type Layer } from '@koa/router'
import { DeclarationError, UnknownRoute } from '../errors.js'
import { nearest } from '../names.js'
import { PathPattern, type PathArgument } from './path.js'
import { RouteIndex } from './route-index.js'
import { Route, type RouteOptions } from './route.js'

/** A route that matches the path of a request, and the parameters that it reads from there. */
export interface Match {
  route: Route
  params: Record<string, string>
}

interface Entry {
  route: Route
  layer: Layer
}

/** The routes of an application in the order of declaration. The one source for serving, listing and naming them. */
export class RouteTable {
  readonly routes: Route[] = []
  /** A path function for each name, as templates call it: `postPath(post)`. */
  readonly helpers: Record<string, (...args: PathArgument[]) => string> = {}
  private readonly lists = new Map<string, Route[]>()
  private readonly router = new Router({ sensitive: true })
  private readonly index = new RouteIndex<Entry>()
  private readonly named = new Map<string, Route>()

  /**
   * Appends a route.
   *
   * @throws DeclarationError when its name already belongs to another path
   */
  add(options: RouteOptions): Route {
    const route = new Route(this.withFreeName(options), this.routes.length)
    if (route.name !== undefined) this.claim(route.name, route)
    this.routes.push(route)
    if (route.resource?.action === 'list') this.addList(route)
    for (const pattern of [route.pattern, ...route.aliases]) this.register(pattern, route)
    return route
  }

  /** The routes, of whatever method, whose path and host match, in the order of declaration. */
  match(host: string, path: string): Match[] {
    const matches: Match[] = []
    for (const { route, layer } of this.index.candidates(path)) {
      const hostParams = route.host ? route.host.match(host) : {}
      if (hostParams && layer.match(path)) {
        matches.push({ route, params: { ...hostParams, ...layer.params(path, layer.captures(path)) } })
      }
    }
    return matches
  }

  /** The lists of the resources that are nested in an item's path; without one, of those that are nested in none. */
  collections(itemPath = ''): readonly Route[] {
    return this.lists.get(itemPath) ?? []
  }

  /**
   * The path of a named route.
   *
   * @throws UnknownRoute when there is no such name, MissingParameter when a parameter is not given
   */
  pathFor(name: string, ...args: PathArgument[]): string {
    const route = this.named.get(name)
    if (!route) throw new UnknownRoute(name, nearest(name, this.named.keys()))
    return route.url(...args)
  }

  private addList(route: Route): void {
    const itemPath = route.path.slice(0, route.path.lastIndexOf('}') + 1)
    this.lists.set(itemPath, [...(this.lists.get(itemPath) ?? []), route])
  }

  private register(pattern: PathPattern, route: Route): void {
    const layer = this.router.register(pattern.toRouterPath(), [route.method], [])
    // `register` answers the router itself only for a list of paths.
    if (layer instanceof Router) return
    this.index.add(pattern, { route, layer })
  }

  /** A name that was only derived from the path yields to one that is taken. */
  private withFreeName(options: RouteOptions): RouteOptions {
    if (!options.hasDefaultName || options.name === undefined) return options
    const taken = this.named.get(options.name)
    if (!taken || taken.path === new PathPattern(options.path).path) return options
    return { ...options, name: undefined }
  }

  private claim(name: string, route: Route): void {
    const taken = this.named.get(name)
    if (!taken || taken.hasDefaultName) {
      this.named.set(name, route)
      this.helpers[name] = (...args) => route.url(...args)
    } else if (taken.path !== route.path) {
      throw new DeclarationError(
        `Two routes are named "${name}": ${taken.path} (${taken.handlerName}) and ${route.path} (${route.handlerName}). Give one of them another name, or another path.`,
      )
    }
  }
}
