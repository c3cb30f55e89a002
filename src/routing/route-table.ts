import { Router, type Layer } from '@koa/router'
import type { Context } from '../context.js'
import { DeclarationError, UnknownRoute } from '../errors.js'
import { nearest } from '../naming/spelling.js'
import { actions } from '../resources/actions.js'
import type { PathArgument, PathPattern } from './path.js'
import type { PathParams } from './path-types.js'
import { RouteIndex } from './route-index.js'
import { DeclaredRoute, type RouteDeclaration } from './declared-route.js'
import type { StaticFolder } from './static-folder.js'

/** A layer of the router: a path of a route, and what runs it. Tracing tools wrap that. */
export interface RouteLayer extends Pick<Layer, 'path' | 'regexp' | 'paramNames'> {
  stack: Array<(ctx: Context) => Promise<unknown>>
}

/** A route that matches a request, and the parameters in its path. */
export interface Match {
  route: DeclaredRoute
  params: PathParams
  /** @internal */
  layer: RouteLayer
}

/** The routes of one path, which have the same parameters. */
interface PathEntry {
  /** The layer of the first route. If it matches a path, so do the layers of the others. */
  layer: RouteLayer
  targets: Pick<Match, 'route' | 'layer'>[]
}

/** The routes of an application in the order of declaration, for serving, listing and naming them. */
export class RouteTable {
  readonly routes: DeclaredRoute[] = []
  /** The static folders, with the number of routes that precede each of them. */
  private readonly folders: { folder: StaticFolder; order: number }[] = []
  /** Whether any route depends on the host of a request. */
  hasHosts = false
  /** A path helper for each route name, as templates call it: `postPath(post)`. */
  readonly helpers: Record<string, (...args: PathArgument[]) => string> = {}
  /** The first page of each resource, for links, by `parentPath` of the resource. */
  private readonly firstPages = new Map<string, DeclaredRoute[]>()
  /** The router with a layer for each path of each route, in declared order. Tools for Koa read it. */
  readonly router = new Router({ sensitive: true })
  private readonly index = new RouteIndex<PathEntry>()
  /** The entries of the index by their path in the router's syntax. */
  private readonly entries = new Map<string, PathEntry>()
  private readonly routesByName = new Map<string, DeclaredRoute>()

  /**
   * Adds a route after the existing ones.
   *
   * @throws DeclarationError when the route is malformed, or when its name already belongs to another path
   */
  add(options: RouteDeclaration): DeclaredRoute {
    const route = new DeclaredRoute(options, this.routes.length)
    if (route.name !== undefined) this.claimName(route.name, route)
    this.routes.push(route)
    this.hasHosts ||= route.host !== undefined
    const parent = route.resource?.parentPath
    if (parent !== undefined && isFirstPage(route))
      this.firstPages.set(parent, [...this.firstPagesOf(parent), route])
    for (const pattern of [route.pattern, ...route.aliases]) this.register(pattern, route)
    return route
  }

  /** Adds a static folder after the existing routes, which take precedence over its files. */
  addFolder(folder: StaticFolder): void {
    this.folders.push({ folder, order: this.routes.length })
  }

  /** Whether a static folder depends on the host of a request. */
  get hasFolderHosts(): boolean {
    return this.folders.some(({ folder }) => folder.host !== undefined)
  }

  /** Finds the static folders that a path leads to: those declared before a route, or all of them. */
  foldersOf(path: string, request: { readonly hostname: string }, route?: DeclaredRoute): StaticFolder[] {
    return this.folders
      .filter(({ folder, order }) => order <= (route?.order ?? Infinity) && folder.contains(path, request))
      .map(({ folder }) => folder)
  }

  /** Finds the routes whose path and host match, whatever their method is, in the order of declaration. */
  match(host: string, path: string): Match[] {
    const matches: Match[] = []
    const entries = this.index.findCandidates(path)
    for (const entry of entries) {
      const captures = entry.layer.regexp.exec(path)
      if (!captures) continue
      const params = decodeParams(entry.layer, captures)
      for (const { route, layer } of entry.targets) {
        const hostParams = route.host?.match(host)
        if (!route.host) matches.push({ route, layer, params })
        else if (hostParams) matches.push({ route, layer, params: { ...hostParams, ...params } })
      }
    }
    return entries.length > 1 ? matches.toSorted((a, b) => a.route.order - b.route.order) : matches
  }

  /** Returns the first page of each resource in an item; without an item, of those that aren't nested. */
  firstPagesOf(itemPath = ''): readonly DeclaredRoute[] {
    return this.firstPages.get(itemPath) ?? []
  }

  /**
   * Returns the path of a named route.
   *
   * @throws UnknownRoute when there is no such name, MissingParameter when a parameter is missing
   */
  pathFor(name: string, ...args: PathArgument[]): string {
    const route = this.routesByName.get(name)
    if (!route) throw new UnknownRoute(name, nearest(name, this.routesByName.keys()))
    return route.url(...args)
  }

  private register(pattern: PathPattern, route: DeclaredRoute): void {
    const path = pattern.toRouterPath()
    const run = (ctx: unknown): Promise<unknown> => route.run(ctx as Context)
    // The router calls the function with our context. `register` returns a layer for one path, and the router
    // for a list.
    const layer = this.router.register(path, [...route.methods], run) as unknown as RouteLayer
    const existing = this.entries.get(path)
    if (existing) {
      existing.targets.push({ route, layer })
      return
    }
    const entry = { layer, targets: [{ route, layer }] }
    this.entries.set(path, entry)
    this.index.add(pattern, entry)
  }

  /** Registers the name of a route. A default name belongs to the first path, unless another declares it. */
  private claimName(name: string, route: DeclaredRoute): void {
    const owner = this.routesByName.get(name)
    if (owner && owner.path !== route.path) {
      if (route.hasDefaultName) {
        route.name = undefined
        return
      }
      if (!owner.hasDefaultName) throw createNameError(name, owner, route)
      for (const other of this.routes) if (other.name === name) other.name = undefined
    } else if (owner && !owner.hasDefaultName) return
    this.routesByName.set(name, route)
    this.helpers[name] = (...args) => route.pattern.fill(args, route.name)
  }
}

function createNameError(name: string, owner: DeclaredRoute, route: DeclaredRoute): DeclarationError {
  return new DeclarationError(
    `Two routes are named "${name}": ${owner.path} (${owner.handlerName}) and ${route.path} (${route.handlerName}). ` +
      (isMountedTwice(owner, route)
        ? 'Remove the option "name" of @Route. Each place where the class is mounted then derives a name from its path.'
        : 'Change the name or the path of one of them.'),
  )
}

/** Whether a route is its resource's first page: the list, or the page of a singular resource with one. */
function isFirstPage({ resource, isWritten }: DeclaredRoute): boolean {
  return (
    isWritten && resource?.hasPages === true && resource.action === (resource.isSingular ? 'show' : 'list')
  )
}

/** Whether routes have a `@Route` method of the same name. Usually it is one, mounted twice or inherited. */
function isMountedTwice({ resource }: DeclaredRoute, other: DeclaredRoute): boolean {
  if (!resource || resource.action !== other.resource?.action) return false
  return !actions.some(({ handler }) => handler === resource.action)
}

/** Decodes the parameters of a path. Decoding cannot fail, because `canonicalPath` has encoded the path. */
function decodeParams({ paramNames }: RouteLayer, captures: RegExpExecArray): PathParams {
  const params: Record<string, string> = {}
  for (let index = 0; index < paramNames.length; index++) {
    const name = paramNames[index]?.name
    // The first capture is the whole path.
    const value = captures[index + 1]
    if (name !== undefined && value) params[name] = value.includes('%') ? decodeURIComponent(value) : value
  }
  // The mark of the type exists for the compiler only.
  return params as PathParams
}
