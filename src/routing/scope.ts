import { resolve } from 'node:path'
import type { Handler, Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'
import type { Injector } from '../injection/injector.js'
import { checkMiddleware, type AnyMiddleware } from '../injection/middleware-class.js'
import { fromOptions } from './route-options.js'
import type { ResourceClass } from '../resources/resource.js'
import type { RouteOptions } from '../resources/route.js'
import type { DeclaredPolicy, PolicyClass } from '../policies/policy.js'
import { middlewareOf } from '../resources/decorations.js'
import { scanResource, type ResourceDefinition } from '../resources/scanner.js'
import { toMiddleware } from './handler.js'
import { resourceRoutes } from './resource-routes.js'
import type { DeclaredRoute } from './declared-route.js'
import { RouteTable } from './route-table.js'
import { HostPattern } from './host.js'
import { PathPattern } from './path.js'
import type { StaticMount } from './static-mount.js'

/** The declarations that all scopes of an application share. */
export class Declarations {
  readonly table = new RouteTable()
  readonly mounts: StaticMount[] = []
  /** Every registered middleware, once. */
  readonly middleware = new Set<Middleware>()
  /** The policy of each model: that of the first resource that declares one. */
  readonly policies = new Map<Function, PolicyClass>()
  /** The item scopes of each resource class, one for each declaration. */
  readonly items = new Map<ResourceClass, Scope[]>()

  constructor(readonly injector: Injector) {}
}

/** The host and path prefix of a scope. */
interface ScopePlace {
  prefix: string
  /** The path of the item that the scope belongs to. Empty outside of resources. */
  itemPath: string
  host?: string | undefined
  /** The foreign keys for the records in the prefix, the outermost first: `['post_id']`. Empty outside of resources. */
  parentKeys: readonly string[]
  /** The policies of the resources in the prefix. */
  policies: readonly DeclaredPolicy[]
}

/** The scope of the application itself. */
export const rootPlace: ScopePlace = { prefix: '', itemPath: '', parentKeys: [], policies: [] }

/**
 * A scope in which routes are declared: the application, a group, a virtual host, or the item of a resource. A route
 * runs the middleware registered above it.
 */
export class Scope {
  private readonly middleware: Middleware[]

  /** @internal */
  constructor(
    protected readonly declarations: Declarations,
    private readonly place: ScopePlace,
    middleware: readonly Middleware[],
  ) {
    this.middleware = [...middleware]
  }

  /**
   * Registers middleware for everything that is declared below: functions, or classes that are instantiated for each request.
   *
   * @throws DeclarationError when an argument is neither, or when a dependency of a class is wrong
   */
  use(...middleware: AnyMiddleware[]): this {
    checkMiddleware('app.use', middleware)
    for (const one of middleware) {
      const run = this.declarations.injector.toFunction(one)
      this.middleware.push(run)
      this.declarations.middleware.add(run)
    }
    return this
  }

  /** Declares a route for GET and HEAD: `app.get('/', home)`. */
  get(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('GET', path, handler, options)
  }

  /** Declares a route for POST. */
  post(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('POST', path, handler, options)
  }

  /** Declares a route for PUT. */
  put(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('PUT', path, handler, options)
  }

  /** Declares a route for PATCH. */
  patch(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('PATCH', path, handler, options)
  }

  /** Declares a route for DELETE. */
  delete(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('DELETE', path, handler, options)
  }

  /** Declares a route for HEAD. A route for GET handles HEAD as well. */
  head(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('HEAD', path, handler, options)
  }

  /** Declares a route for OPTIONS. Without one, an existing path returns 204 with the header `Allow`. */
  options(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('OPTIONS', path, handler, options)
  }

  /**
   * Redirects GET requests to another path, which may have the same parameters. The query is kept.
   *
   * @param to a path from the root, also within a group, or the URL of another site
   * @param status 301, 302, 303, 307 or 308
   * @throws DeclarationError when `to` has a parameter that `path` lacks
   */
  redirect(path: string, to: string, status = 301): DeclaredRoute {
    const [, origin = '', target = ''] = /^(https?:\/\/[^/]+)?(.*)$/.exec(to) ?? []
    const pattern = new PathPattern(target)
    const route = this.get(path, function redirect(ctx) {
      ctx.status = status
      ctx.redirect(
        origin +
          pattern.fill([Object.fromEntries(pattern.params.map((it) => [it, ctx.params[it]]))]) +
          ctx.search,
      )
    })
    const unknown = pattern.params.find((name) => !route.pattern.params.includes(name))
    if (unknown) {
      throw new DeclarationError(`${route.path} redirects to ${to}, but has no parameter "${unknown}".`)
    }
    return route
  }

  /** Creates a scope whose paths begin with a prefix, with its own middleware. */
  group(prefix: string, declare?: (group: Scope) => void): Scope {
    const place = { ...this.place, prefix: joinPaths(this.place.prefix, prefix) }
    const group = new Scope(this.declarations, place, this.middleware)
    declare?.(group)
    return group
  }

  /** Creates a scope for a virtual host: `app.host('{tenant}.example.com')`. */
  host(pattern: string, declare?: (host: Scope) => void): Scope {
    const scope = new Scope(this.declarations, { ...this.place, host: pattern }, this.middleware)
    declare?.(scope)
    return scope
  }

  /**
   * Declares the routes of a resource, at the path of its `@Resource` or at the given one. A class with
   * `@Parent` is mounted below its parent's item.
   *
   * @returns the scope of the item, for nested resources and further routes: `posts.post('/publish', publish)`
   * @throws DeclarationError when the resource has no path, lacks a handler or has two for one method and path, or its
   *   parent is not declared yet, or declared more than once
   */
  resource(resource: ResourceClass): Scope
  resource(path: string, resource: ResourceClass): Scope
  resource(...args: [ResourceClass] | [string, ResourceClass]): Scope {
    const [given, resource] = args.length === 1 ? [undefined, args[0]] : args
    const definition = scanResource(resource)
    const path = given ?? definition.path
    if (path === undefined) {
      throw new DeclarationError(
        `${resource.name} has no path. Decorate it with @Resource('/...'), or pass the path to resource().`,
      )
    }
    return this.scopeFor(definition).mount(definition, path)
  }

  /**
   * Serves the files of a folder to GET and HEAD. It matches every path below its own, so declare it last.
   *
   * @param folder relative to the working directory
   */
  static(path: string, folder: string): this {
    this.declarations.mounts.push({
      prefix: joinPaths(this.place.prefix, path),
      folder: resolve(folder),
      host: this.place.host === undefined ? undefined : new HostPattern(this.place.host),
      order: this.declarations.table.routes.length,
      middleware: this.middleware.filter((one) => one.guardsFiles === true),
    })
    return this
  }

  private route(method: string, path: string, handler: Handler, options: RouteOptions = {}): DeclaredRoute {
    if (typeof handler !== 'function') {
      throw new DeclarationError(`${method} ${path} expects a handler function, not ${String(handler)}.`)
    }
    const { prefix, host } = this.place
    const fullPath = joinPaths(prefix, path)
    const handlerName = handler.name || 'anonymous'
    return this.declarations.table.add({
      method,
      path: fullPath,
      host,
      aliases: (options.aliases ?? []).map((alias) => joinPaths(prefix, alias)),
      ...fromOptions(options, fullPath, `${method} ${fullPath}`),
      handlerName,
      middleware: [...this.middleware],
      handler: toMiddleware(handler, handlerName),
      declared: handler,
    })
  }

  private mount(definition: ResourceDefinition, path: string): Scope {
    const { table, items, injector } = this.declarations
    const { prefix, itemPath: parentPath, host, parentKeys } = this.place
    const place = { ...this.place, path: joinPaths(prefix, path), parentPath, middleware: this.middleware }
    const { itemPath, key, itemMiddleware, policies, routes } = resourceRoutes(definition, place, injector)
    for (const route of routes) table.add(route)
    for (const one of middlewareOf(definition.decorations)) {
      this.declarations.middleware.add(injector.toFunction(one))
    }

    for (const { model, policy } of policies)
      if (!this.declarations.policies.has(model)) this.declarations.policies.set(model, policy)
    const itemPlace = { prefix: itemPath, itemPath, host, parentKeys: [...parentKeys, key], policies }
    const item = new Scope(this.declarations, itemPlace, itemMiddleware)
    items.set(definition.resource, [...(items.get(definition.resource) ?? []), item])
    return item
  }

  /**
   * The scope in which a resource is mounted: this one, if the resource has no parent or this is the scope of an item;
   * else the scope of its parent's item, with the middleware of both.
   */
  private scopeFor({ resource, parent }: ResourceDefinition): Scope {
    if (!parent || this.place.parentKeys.length > 0) return this
    const all = this.declarations.items.get(parent) ?? []
    const [item, another] = all.filter((one) => this.contains(one))
    if (!item) {
      const where = all.length > 0 ? 'is declared elsewhere' : 'is not declared yet'
      throw new DeclarationError(
        `The parent of ${resource.name}, ${parent.name}, ${where}. Declare resource(${parent.name}) above it, in the same group or host.`,
      )
    }
    if (another) {
      throw new DeclarationError(
        `The parent of ${resource.name}, ${parent.name}, is declared more than once. Declare ${resource.name} on the return value of resource(${parent.name}).`,
      )
    }
    const added = this.middleware.filter((one) => !item.middleware.includes(one))
    return new Scope(this.declarations, item.place, [...item.middleware, ...added])
  }

  /** Whether another scope is within this one's prefix and host, so that nesting there loses neither. */
  private contains({ place }: Scope): boolean {
    const { prefix, host } = this.place
    return host === place.host && (prefix === '' || prefix === '/' || place.prefix.startsWith(`${prefix}/`))
  }
}

function joinPaths(prefix: string, path: string): string {
  return `/${prefix}/${path}`.replaceAll(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
}
