import type { Handler, Middleware } from '../context.js'
import { SAFE_METHODS } from '../common/methods.js'
import { DeclarationError } from '../errors.js'
import type { Injector } from '../injection/injector.js'
import type { AnyMiddleware } from '../injection/middleware-class.js'
import { defaultPathName, pathNames, resourceNames } from '../naming/names.js'
import { handlerMiddleware, nestedMiddleware } from '../resources/decorations.js'
import { descriptionOf } from '../resources/describe.js'
import type { RouteOptions } from '../resources/decorations.js'
import type { ResourceDefinition } from '../resources/scanner.js'
import type { DeclaredRoute, RouteDeclaration } from './declared-route.js'
import { toMiddleware } from './handler.js'
import { hasMany, listManyRoutes, manyHandler, middlewareForMany, withExport } from './many-routes.js'
import type { Mount } from './mount.js'
import { PathPattern } from './path.js'
import { sortForMounting, type HandlerRoute, type ResourcePaths } from './mount-order.js'

/**
 * Creates the routes of a resource in mount order, for the seven handlers and for each `@Route`, and the
 * mount of its item, in which further routes may be declared.
 *
 * @param path the path of the collection, including its parents'
 * @throws DeclarationError when the path does not end in a word that names the resource, when the path of a
 *   `@Route` is wrong, or when a dependency of the resource or of a middleware class cannot be injected
 */
export function createResourceRoutes(
  definition: ResourceDefinition,
  mount: Mount,
  path: string,
  injector: Injector,
): { item: Mount; routes: RouteDeclaration[]; routesByHandler: Map<string, DeclaredRoute> } {
  const { resource, options, decorations } = definition
  checkPath(path, resource.name)
  const { singular: isSingular = false, model, policy } = options
  const names = resourceNames(path, isSingular)
  const param = options.param ?? names.param
  const itemKey = param === names.param ? undefined : param
  const itemPath = isSingular ? path : `${path}/{${param}}`
  const paths = { resource: resource.name, collection: path, item: itemPath }
  const policies = model && policy ? [...mount.policies, { model, policy }] : mount.policies
  const handle = handlerFactory(definition, injector, policies.length > 0)
  const appendMiddleware = (middleware: AnyMiddleware[]) => [
    ...mount.middleware,
    ...middleware.map((item) => injector.toFunction(item)),
  ]
  const handlerRoutes = [
    ...listActionRoutes(definition, paths),
    ...listDecoratedRoutes(definition, path, isSingular ? undefined : param),
    ...listManyRoutes(options, path),
  ]
  const routesByHandler = new Map<string, DeclaredRoute>()
  const { plural, singular } = names
  const own = { plural, singular, isSingular, param, itemKey, itemPath, policies, routes: routesByHandler }
  const shared = { ...own, ...resourceOf(definition, mount, path) }
  const routes = sortForMounting(handlerRoutes, paths).map(({ handler, forMany, ...route }) => ({
    ...route,
    host: mount.host,
    scopes: mount.scopes,
    parents: mount.parents,
    handlerName: `${resource.name}.${handler}`,
    resource: { ...shared, action: handler, queryable: decorations.methods.get(handler)?.queryable, forMany },
    middleware: appendMiddleware(
      forMany ? middlewareForMany(definition, handler, forMany) : handlerMiddleware(decorations, handler),
    ),
    handler: forMany ? manyHandler(forMany, `${resource.name}.${handler}`) : handle(handler, route.method),
    declared: Reflect.get(resource.prototype, handler),
  }))
  const key = { param: isSingular ? undefined : param, property: itemKey ?? 'id' }
  const parents = [...mount.parents, { key: names.param, model, ...key }]
  const middleware = appendMiddleware(nestedMiddleware(decorations))
  const item = mount.with({ path: itemPath, itemPath, parents, policies, middleware })
  return { item, routes, routesByHandler }
}

/** The part of a resource that does not depend on the names of its paths. */
function resourceOf({ resource, options }: ResourceDefinition, mount: Mount, path: string) {
  const { model, fields, pages: hasPages = true, requireMatch: requiresMatch } = options
  return {
    class: resource,
    model,
    fields,
    hasPages,
    requiresMatch,
    many: hasMany(options) ? options : undefined,
    parentKeys: mount.parents.map(({ key }) => key),
    parentPath: parentPathOf(path, mount.itemPath),
  }
}

/** @throws DeclarationError when the last segment of the path isn't a word */
function checkPath(path: string, name: string): void {
  if (/[\p{L}][^/{}]*$/u.test(path)) return
  throw new DeclarationError(
    `${name} is mounted at "${path}", which does not end in a word that can name its routes. Use a path like "/posts".`,
  )
}

/** Returns a function that creates the middleware of a handler, with a guard if it has policies. */
function handlerFactory({ resource, options }: ResourceDefinition, injector: Injector, hasPolicies: boolean) {
  const callWithResource = injector.factory<object>(resource)
  return (name: string, method: string): Middleware => {
    // The scanner and `@Route` have checked that each handler is a method, so `?.` is for the compiler only.
    const call: Handler = (ctx) =>
      callWithResource(ctx, (instance) => (instance as Record<string, Handler>)[name]?.(ctx))
    const middleware = toMiddleware(call, `${resource.name}.${name}`)
    if (name === 'list' && options.csv) return withExport(middleware)
    return hasPolicies && !SAFE_METHODS.includes(method) ? guard(middleware) : middleware
  }
}

/** Wraps a handler so that a successful request without a call of ctx.authorize is rejected. */
function guard(handler: Middleware): Middleware {
  const check: Middleware = async (ctx, next) => {
    await handler(ctx, next)
    if (ctx.status < 400) ctx.checkAuthorized()
  }
  return Object.defineProperty(check, 'name', { value: handler.name })
}

/** The path of the parent's item, or a longer one up to the last parameter of a group below it. */
function parentPathOf(path: string, parentItem: string): string {
  const end = path.lastIndexOf('}') + 1
  return end > parentItem.length ? path.slice(0, end) : parentItem
}

function listActionRoutes(definition: ResourceDefinition, paths: ResourcePaths): HandlerRoute[] {
  const { actions, options, resource } = definition
  const names = pathNames(paths.collection, options.singular)
  return actions.map(({ handler, method, on, suffix, name }) => {
    const description = descriptionOf(resource.prototype, handler) || {}
    const path = paths[on] + suffix
    const aliases = handler === 'list' && options.csv ? [`${path}.csv`] : []
    // A DELETE that describes a body reads it.
    const readsBody = description.body ? true : undefined
    return { handler, method, path, aliases, name: names[name], readsBody, description }
  })
}

function listDecoratedRoutes(
  definition: ResourceDefinition,
  collection: string,
  param: string | undefined,
): HandlerRoute[] {
  const { resource, decorations } = definition
  return [...decorations.methods].flatMap(([handler, { routes }]) =>
    routes.map(({ method, path: relative, options }) => {
      const toAbsolute = (path: string) => resolvePath(collection, path, param, `${resource.name}.${handler}`)
      const path = toAbsolute(relative)
      const aliases = (options.aliases ?? []).map(toAbsolute)
      return { handler, method, path, aliases, ...convertOptions(options, path) }
    }),
  )
}

/**
 * Returns the full path of a `@Route`: `/drafts` becomes `/posts/drafts`, and `/{post_id}/publish` or
 * `/{id}/publish` becomes `/posts/{post_id}/publish`.
 *
 * @param param the parameter of an item: `post_id`; undefined for a singular resource
 * @throws DeclarationError when the path begins with any other parameter
 */
function resolvePath(
  collection: string,
  relative: string,
  param: string | undefined,
  handler: string,
): string {
  const { path, segments } = new PathPattern(relative)
  const first = segments[0]?.[0]
  if (!first) return collection
  if (first.kind === 'text') return collection + path
  const rest = path.replace(/^\/(\{\*?\w+\}|:\w+)/, '')
  if (param === undefined) {
    throw new DeclarationError(
      `The path "${relative}" of ${handler} begins with the parameter "${first.name}", but a singular resource has no id. ` +
        `Write ${rest ? `"${rest}"` : 'a path like "/publish"'}.`,
    )
  }
  if (first.kind === 'param' && (first.name === param || first.name === 'id'))
    return `${collection}/{${param}}${rest}`
  throw new DeclarationError(
    `The path "${relative}" of ${handler} begins with the parameter "${first.name}", but the parameter of its item is ` +
      `"${param}". Write "/{${param}}${rest}", or "/{id}${rest}" if the class is mounted in several places.`,
  )
}

/** Converts the options of a route, except for its aliases, to properties of its declaration. */
export function convertOptions(
  options: RouteOptions,
  path: string,
): Pick<RouteDeclaration, 'name' | 'hasDefaultName' | 'readsBody' | 'description'> {
  const { name, aliases: _, ...description } = options
  const { body } = description
  return {
    name: name ?? defaultPathName(path),
    hasDefaultName: name === undefined,
    readsBody: body === undefined ? undefined : Boolean(body),
    description,
  }
}
