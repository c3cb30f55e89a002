import { resolve } from 'node:path'
import type { Extension, Handler, Hooks, Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'
import type { Injector } from '../injection/injector.js'
import { checkExtension, checkMiddleware, type AnyMiddleware } from '../injection/middleware-class.js'
import type { ResourceClass } from '../resources/resource.js'
import type { RouteOptions } from '../resources/decorations.js'
import type { PolicyClass } from '../policies/policy.js'
import { middlewareOf } from '../resources/decorations.js'
import { scanResource, type ResourceDefinition } from '../resources/scanner.js'
import { toMiddleware } from './handler.js'
import { convertOptions, createResourceRoutes } from './resource-routes.js'
import type { DeclaredRoute } from './declared-route.js'
import { Mount } from './mount.js'
import { RouteTable } from './route-table.js'
import { PathPattern } from './path.js'
import { StaticFolder } from './static-folder.js'

declare module '../context.js' {
  interface Extension {
    /**
     * Declares routes and middleware in the scope that is extended: the application, a group or a host. Each
     * scope can have its own extension of this kind.
     */
    declare?(scope: Scope): void
  }
}

/** A parameter in the query or the fragment of a redirect's target. */
const parameter = /\{\*?([A-Za-z_]\w*)\}/g

/** The declarations that all scopes of an application share. */
export class Declarations {
  readonly table = new RouteTable()
  /** Every registered middleware, once. */
  readonly middleware = new Set<Middleware>()
  /** The policy of each model, which the first resource with a policy for it declares. */
  readonly policies = new Map<Function, PolicyClass>()
  /** The item scopes of each resource class, one for each declaration. */
  readonly items = new Map<ResourceClass, Scope[]>()
  /** The extensions that `extend` has added, and those of the middleware, each with its middleware. */
  readonly extensions = new Map<Hooks | Extension, Middleware | undefined>()

  constructor(
    readonly injector: Injector,
    readonly options: { api?: boolean; sessionName?: string } = {},
  ) {}

  /** Adds a middleware, and its extension. */
  addMiddleware(middleware: Middleware): void {
    this.middleware.add(middleware)
    const { extension } = middleware
    if (extension && !this.extensions.has(extension)) this.addHooks(extension, middleware)
  }

  /** @throws DeclarationError for another extension of its name, unless it declares routes */
  addExtension(extension: Extension): void {
    const { name, middleware, declare } = extension
    const isTaken = [...this.extensions.keys()].some((other) => 'name' in other && other.name === name)
    if (isTaken && !declare)
      throw new DeclarationError(
        `The application has two extensions with the name ${name}. Remove one of the two calls of extend(), or give both the same object.`,
      )
    this.addHooks(extension, middleware)
  }

  private addHooks(hooks: Hooks, middleware: Middleware | undefined): void {
    this.extensions.set(hooks, middleware)
    // Checks the dependencies of what is instantiated later, such as jobs.
    for (const target of hooks.injects ?? []) this.injector.factory(target)
  }
}

/**
 * A scope in which routes are declared: the application, a group, a virtual host, or the item of a resource.
 * A route runs the middleware registered above it.
 */
export class Scope {
  /** @internal */
  constructor(
    /** @internal */
    readonly declarations: Declarations,
    private mount = new Mount(),
  ) {}

  /**
   * Registers middleware for everything that is declared below: functions, or classes that are instantiated
   * for each request.
   *
   * @throws DeclarationError when an argument is neither, or when a dependency of a class is wrong
   */
  use(...middleware: AnyMiddleware[]): this {
    checkMiddleware('app.use', middleware)
    const functions = middleware.map((item) => this.declarations.injector.toFunction(item))
    for (const fn of functions) this.declarations.addMiddleware(fn)
    this.mount = this.mount.with({ middleware: [...this.mount.middleware, ...functions] })
    return this
  }

  /**
   * Adds extensions, which belong to the application for as long as it lives: `app.extend(jobs)`. An
   * extension that was added already changes nothing.
   *
   * @throws DeclarationError when an argument is not an extension, when the application has another extension
   *   of its name, or when a dependency of a class is wrong
   */
  extend(...extensions: Extension[]): this {
    for (const extension of extensions) {
      checkExtension(extension)
      if (this.declarations.extensions.has(extension)) continue
      this.declarations.addExtension(extension)
      if (extension.middleware) this.use(extension.middleware)
      extension.declare?.(this)
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

  /** Declares a route for OPTIONS. Else an existing path returns 204 with the `Allow` header. */
  options(path: string, handler: Handler, options?: RouteOptions): DeclaredRoute {
    return this.route('OPTIONS', path, handler, options)
  }

  /**
   * Redirects GET requests to another path, which may have the same parameters, also in its query and its
   * fragment. Keeps the query of the request.
   *
   * @param to a path from the root, also within a group, or the URL of another site
   * @param status 301, 302, 303, 307 or 308
   * @throws DeclarationError when `to` has a parameter that `path` lacks, or when the status is none of these
   */
  redirect(path: string, to: string, status = 301): DeclaredRoute {
    if (![301, 302, 303, 307, 308].includes(status))
      throw new DeclarationError(
        `${path} redirects with the status ${status}. Use 301, 302, 303, 307 or 308.`,
      )
    const [, origin = '', target = '', query = '', fragment = ''] =
      /^(https?:\/\/[^/?#]+)?([^?#]*)(\?[^#]*)?(#.*)?$/.exec(to) ?? []
    const pattern = new PathPattern(target)
    const route = this.get(path, function redirect(ctx) {
      const filled = pattern.fill([
        Object.fromEntries(pattern.params.map((name) => [name, ctx.params[name]])),
      ])
      const fillIn = (text: string) =>
        text.replaceAll(parameter, (_, name: string) => encodeURIComponent(ctx.params[name] ?? ''))
      const search = query ? fillIn(query) + ctx.search.replace('?', '&') : ctx.search
      ctx.status = status
      ctx.redirect(origin + filled + search + fillIn(fragment))
    })
    const names = [...(query + fragment).matchAll(parameter)].map(([, name = '']) => name)
    const unknownName = [...pattern.params, ...names].find((name) => !route.pattern.params.includes(name))
    if (unknownName) {
      throw new DeclarationError(`${route.path} redirects to ${to}, but has no parameter "${unknownName}".`)
    }
    return route
  }

  /** Creates a scope whose paths begin with a prefix, with its own middleware. */
  group(prefix: string, declare?: (group: Scope) => void): Scope {
    return this.createScope({ path: this.mount.pathOf(prefix) }, declare)
  }

  /** Creates a scope for a virtual host: `app.host('{tenant}.example.com')`. */
  host(pattern: string, declare?: (host: Scope) => void): Scope {
    return this.createScope({ host: pattern }, declare)
  }

  /**
   * Declares the routes of a resource, at the path of its `@Resource` or at the given one. A class with
   * `@Parent` is mounted below its parent's item.
   *
   * @returns the scope of the item, for nested resources and further routes:
   *   `posts.post('/publish', publish)`
   * @throws DeclarationError when the resource has no path, lacks a handler or has two for one method and
   *   path, or its parent is not declared yet, or declared more than once
   */
  resource(resource: ResourceClass): Scope
  resource(path: string, resource: ResourceClass): Scope
  resource(...args: [ResourceClass] | [string, ResourceClass]): Scope {
    const [explicitPath, resource] = args.length === 1 ? [undefined, args[0]] : args
    const definition = scanResource(resource)
    const path = explicitPath ?? definition.path
    if (path === undefined) {
      throw new DeclarationError(
        `${resource.name} has no path. Decorate it with @Resource('/...'), or pass the path to resource().`,
      )
    }
    return this.mountResource(definition, path, this.mountFor(definition))
  }

  /**
   * Serves the files of a folder to GET and HEAD. The folder matches every path below its own, so declare it
   * last.
   *
   * @param folder relative to the working directory
   */
  static(path: string, folder: string): this {
    const { host, middleware } = this.mount
    const guards = middleware.filter((fn) => fn.guardsFiles === true)
    const staticFolder = new StaticFolder(this.mount.pathOf(path), resolve(folder), host, guards)
    this.declarations.table.addFolder(staticFolder)
    return this
  }

  private route(method: string, path: string, handler: Handler, options: RouteOptions = {}): DeclaredRoute {
    if (typeof handler !== 'function') {
      throw new DeclarationError(`${method} ${path} expects a handler function, not ${String(handler)}.`)
    }
    const { mount } = this
    const fullPath = mount.pathOf(path)
    const handlerName = handler.name || 'anonymous'
    return this.declarations.table.add({
      method,
      path: fullPath,
      host: mount.host,
      aliases: (options.aliases ?? []).map((alias) => mount.pathOf(alias)),
      ...convertOptions(options, fullPath),
      scopes: mount.scopes,
      handlerName,
      middleware: mount.middleware,
      parents: mount.parents,
      handler: toMiddleware(handler, handlerName),
      declared: handler,
    })
  }

  private createScope(changes: Partial<Mount>, declare?: (scope: Scope) => void): Scope {
    // The new object identifies the scope.
    const scopes = [...this.mount.scopes, {}]
    const scope = new Scope(this.declarations, this.mount.with({ ...changes, scopes }))
    declare?.(scope)
    return scope
  }

  private mountResource(definition: ResourceDefinition, path: string, mount: Mount): Scope {
    const { resource, decorations } = definition
    const { table, items, injector, policies } = this.declarations
    const resourceRoutes = createResourceRoutes(definition, mount, mount.pathOf(path), injector)
    const { item, routes, routesByHandler } = resourceRoutes
    for (const route of routes) {
      const { action = '', forMany } = route.resource ?? {}
      // An API application has no pages.
      if (forMany === 'page' && this.declarations.options.api) continue
      const declared = table.add(route)
      if (!forMany) routesByHandler.set(action, declared)
    }
    for (const used of middlewareOf(decorations)) this.declarations.addMiddleware(injector.toFunction(used))
    for (const { model, policy } of item.policies) if (!policies.has(model)) policies.set(model, policy)
    const scope = new Scope(this.declarations, item)
    items.set(resource, [...(items.get(resource) ?? []), scope])
    return scope
  }

  /**
   * Returns where a resource is mounted: in this scope, if the resource has no parent or the scope belongs to
   * an item; else in the item of its parent, with the middleware of both.
   */
  private mountFor({ resource, parent }: ResourceDefinition): Mount {
    if (!parent || this.mount.parents.length > 0) return this.mount
    const scopes = this.declarations.items.get(parent) ?? []
    const [item, another] = scopes.filter((scope) => this.mount.contains(scope.mount))
    if (!item) {
      const problem = scopes.length > 0 ? 'is declared elsewhere' : 'is not declared yet'
      throw new DeclarationError(
        `The parent of ${resource.name}, ${parent.name}, ${problem}. Declare resource(${parent.name}) above it, in the same group or host.`,
      )
    }
    if (another) {
      throw new DeclarationError(
        `The parent of ${resource.name}, ${parent.name}, is declared more than once. Declare ${resource.name} on the return value of resource(${parent.name}).`,
      )
    }
    const { middleware } = item.mount
    const added = this.mount.middleware.filter((fn) => !middleware.includes(fn))
    return item.mount.with({ middleware: [...middleware, ...added], scopes: this.mount.scopes })
  }
}
