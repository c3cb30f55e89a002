import type { AnyMiddleware, Handler } from '../context.js'
import { DeclarationError } from '../errors.js'
import { defaultPathName } from '../names.js'
import type { ResourceClass } from '../resources/resource.js'
import { scanResource, type ResourceDefinition } from '../resources/scanner.js'
import { toMiddleware } from './handler.js'
import { resourceRoutes } from './resource-routes.js'
import type { Route } from './route.js'
import { RouteTable } from './route-table.js'
import type { StaticMount } from './shadowed.js'

/** What a route may be given beside its path and handler. */
export interface DeclareOptions {
  /** `loginPath`; by default derived from the path. */
  name?: string
  /** Other paths that lead to the same handler. */
  aliases?: string[]
}

/** What all scopes of an application declare into. */
export class Declarations {
  readonly table = new RouteTable()
  readonly mounts: StaticMount[] = []
  /** Every middleware that was used, once. */
  readonly middleware = new Set<AnyMiddleware>()
  readonly registrations = new Map<ResourceClass, Scope>()
}

/**
 * A place where routes are declared, top to bottom: the application, a group, a virtual host, or the item of a
 * resource. What is declared has the middleware that was used before it.
 */
export class Scope {
  private readonly middleware: AnyMiddleware[]

  constructor(
    protected readonly declarations: Declarations,
    private readonly prefix: string,
    private readonly hostName: string | undefined,
    middleware: readonly AnyMiddleware[],
  ) {
    this.middleware = [...middleware]
  }

  /** Adds middleware for everything that is declared afterwards. */
  use(...middleware: AnyMiddleware[]): this {
    for (const one of middleware) {
      if (typeof one !== 'function')
        throw new DeclarationError(`use() takes a middleware function, not ${String(one)}.`)
      this.middleware.push(one)
      this.declarations.middleware.add(one)
    }
    return this
  }

  /** Answers GET, and HEAD, at a path: `app.get('/', home)`. */
  get(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('GET', path, handler, options)
  }

  /** Answers POST at a path. */
  post(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('POST', path, handler, options)
  }

  /** Answers PUT at a path. */
  put(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('PUT', path, handler, options)
  }

  /** Answers PATCH at a path. */
  patch(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('PATCH', path, handler, options)
  }

  /** Answers DELETE at a path. */
  delete(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('DELETE', path, handler, options)
  }

  /** Answers HEAD at a path. Where there is a GET, it is answered without this. */
  head(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('HEAD', path, handler, options)
  }

  /** Answers OPTIONS at a path. Without this, a known path answers 204 with `Allow`. */
  options(path: string, handler: Handler, options?: DeclareOptions): Route {
    return this.route('OPTIONS', path, handler, options)
  }

  /**
   * Redirects GET requests of a path to another one, which may have the same parameters.
   *
   * @param status 301, 302, 303, 307 or 308
   */
  redirect(path: string, to: string, status = 301): Route {
    return this.get(path, function redirect(ctx) {
      ctx.status = status
      ctx.redirect(
        to.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ctx.params[name] ?? '')),
      )
    })
  }

  /** A scope whose paths begin with a prefix, and that has middleware of its own. */
  group(prefix: string, declare?: (group: Scope) => void): Scope {
    const group = new Scope(this.declarations, joinPaths(this.prefix, prefix), this.hostName, this.middleware)
    declare?.(group)
    return group
  }

  /** A scope for one virtual host: `app.host('{tenant}.example.com')`. */
  host(pattern: string, declare?: (host: Scope) => void): Scope {
    const scope = new Scope(this.declarations, this.prefix, pattern, this.middleware)
    declare?.(scope)
    return scope
  }

  /**
   * Declares the five to seven routes of a resource, at the path of its `@Resource` or at the one that is given. A
   * class with `@Parent` is mounted beneath its parent's item.
   *
   * @returns the scope of the item, for nested resources and further routes: `posts.get('/publish', publish)`
   * @throws DeclarationError when the resource has no path, lacks a handler, or its parent is not declared yet
   */
  resource(resource: ResourceClass): Scope
  resource(path: string, resource: ResourceClass): Scope
  resource(...args: [ResourceClass] | [string, ResourceClass]): Scope {
    const [given, resource] = args.length === 1 ? [undefined, args[0]] : args
    const definition = scanResource(resource)
    const path = given ?? definition.path
    if (path === undefined) {
      throw new DeclarationError(
        `${resource.name} has no path. Mark it with @Resource('/...'), or give the path to resource().`,
      )
    }
    const scope = this.scopeFor(definition)
    return scope.mount(definition, joinPaths(scope.prefix, path))
  }

  /**
   * Serves the files of a folder to GET and HEAD. It takes every path beneath its own, so declare it last.
   *
   * @param folder relative to the folder that the application was started in
   */
  static(path: string, folder: string): this {
    const prefix = joinPaths(this.prefix, path)
    this.declarations.mounts.push({ prefix, folder, order: this.declarations.table.routes.length })
    return this
  }

  private route(method: string, path: string, handler: Handler, options: DeclareOptions = {}): Route {
    if (typeof handler !== 'function') {
      throw new DeclarationError(`${method} ${path} takes a handler function, not ${String(handler)}.`)
    }
    const fullPath = joinPaths(this.prefix, path)
    const handlerName = handler.name || 'anonymous'
    return this.declarations.table.add({
      method,
      path: fullPath,
      host: this.hostName,
      aliases: (options.aliases ?? []).map((alias) => joinPaths(this.prefix, alias)),
      name: options.name ?? defaultPathName(fullPath),
      hasDefaultName: options.name === undefined,
      handlerName,
      middleware: [...this.middleware],
      handler: toMiddleware(handler, handlerName),
    })
  }

  private mount(definition: ResourceDefinition, path: string): Scope {
    const { table, middleware, registrations } = this.declarations
    for (const one of definition.options.middleware ?? []) middleware.add(one)
    const { itemPath, routes } = resourceRoutes(definition, {
      path,
      host: this.hostName,
      middleware: this.middleware,
    })
    for (const route of routes) table.add(route)
    const item = new Scope(
      this.declarations,
      itemPath,
      this.hostName,
      routes[0]?.middleware ?? this.middleware,
    )
    registrations.set(definition.resource, item)
    return item
  }

  /** Where a resource is mounted: beneath its parent's item, with the middleware of both, or right here. */
  private scopeFor({ resource, parent }: ResourceDefinition): Scope {
    if (!parent || [...this.declarations.registrations.values()].includes(this)) return this
    const registration = this.declarations.registrations.get(parent)
    if (!registration) {
      throw new DeclarationError(
        `The parent of ${resource.name}, ${parent.name}, is not declared yet. Declare app.resource(${parent.name}) above it.`,
      )
    }
    const added = this.middleware.filter((one) => !registration.middleware.includes(one))
    return new Scope(this.declarations, registration.prefix, registration.hostName, [
      ...registration.middleware,
      ...added,
    ])
  }
}

function joinPaths(prefix: string, path: string): string {
  return `/${prefix}/${path}`.replaceAll(/\/{2,}/g, '/').replace(/(.)\/$/, '$1')
}
