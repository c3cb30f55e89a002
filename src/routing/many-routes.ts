import type { Middleware } from '../context.js'
import type { AnyMiddleware } from '../injection/middleware-class.js'
import { defaultPathName } from '../naming/names.js'
import { handlerMiddleware } from '../resources/decorations.js'
import type { ResourceOptions } from '../resources/resource.js'
import type { ResourceDefinition } from '../resources/scanner.js'
import type { ForMany } from './declared-route.js'
import { toMiddleware } from './handler.js'
import type { HandlerRoute } from './mount-order.js'

/** Whether a resource has one of the options for many records at once. */
export function hasMany({ csv, import: imports, bulk }: ResourceOptions): boolean {
  return Boolean(csv ?? imports ?? bulk)
}

/** Returns the routes of an import and of bulk actions. That of an export is an alias of the list. */
export function listManyRoutes(
  { import: imports, bulk = [], pages = true }: ResourceOptions,
  collection: string,
): HandlerRoute[] {
  const route = (forMany: ForMany, handler: string, method: string, suffix: string): HandlerRoute => {
    const path = collection + suffix
    return { forMany, handler, method, path, name: defaultPathName(path), hasDefaultName: true }
  }
  return [
    ...(imports && pages ? [route('page', 'create', 'GET', '/import')] : []),
    ...(imports ? [route('import', 'create', 'POST', '/import')] : []),
    ...bulk.map((handler) => route('bulk', handler, 'POST', `/bulk/${handler}`)),
  ]
}

/** The middleware of a route for many records, which runs once: those of all its handlers. */
export function middlewareForMany(
  { decorations, options }: ResourceDefinition,
  handler: string,
  forMany: ForMany,
): AnyMiddleware[] {
  const updates = forMany !== 'bulk' && Object(options.import).key !== undefined
  const names = updates ? [handler, 'update'] : [handler]
  return [...new Set(names.flatMap((name) => handlerMiddleware(decorations, name)))]
}

/** Creates the handler of a route for many records. */
export function manyHandler(forMany: ForMany, name: string): Middleware {
  return toMiddleware((ctx) => ctx.respondForMany(forMany), name)
}

/** Wraps the handler of a list, which then also responds with a CSV file. */
export function withExport(list: Middleware): Middleware {
  const listOrExport: Middleware = (ctx, next) => ctx.listOrExport(list, next)
  return Object.defineProperty(listOrExport, 'name', { value: list.name })
}
