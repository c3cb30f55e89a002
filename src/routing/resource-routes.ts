import type { Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'
import { pathNames, resourceNames } from '../names.js'
import type { Action } from '../resources/actions.js'
import { resourceFactory, type WithResource } from '../resources/injection.js'
import type { ResourceDefinition } from '../resources/scanner.js'
import { toMiddleware } from './handler.js'
import type { RouteOptions } from './route.js'

/** The place in which a resource is mounted. */
export interface Place {
  /** The path of the collection, including its parents'. */
  path: string
  host: string | undefined
  /** The foreign keys of the parents in the path. */
  parentKeys: readonly string[]
  /** The middleware registered above the resource, and its own. */
  middleware: readonly Middleware[]
}

/** The routes of a resource, and the path of its item, below which more routes can be declared. */
export interface ResourceRoutes {
  itemPath: string
  /** The foreign key of a nested record: `post_id`, independent of the path's parameter. */
  key: string
  routes: RouteOptions[]
}

/**
 * Creates the five to seven routes of a resource.
 *
 * @throws DeclarationError when the path does not end in a word that names the resource
 */
export function resourceRoutes(definition: ResourceDefinition, place: Place): ResourceRoutes {
  const { resource, options } = definition
  if (!/[\p{L}][^/{}]*$/u.test(place.path)) {
    throw new DeclarationError(
      `${resource.name} is mounted at "${place.path}", which does not end in a word that can name its routes. Use a path like "/posts".`,
    )
  }
  const words = resourceNames(place.path)
  const names = pathNames(place.path)
  const param = options.param ?? words.param
  const paths = { collection: place.path, item: `${place.path}/{${param}}` }
  const withResource = resourceFactory(resource)
  const routes = definition.actions.map((action): RouteOptions => {
    const handlerName = `${resource.name}.${action.handler}`
    return {
      method: action.method,
      path: paths[action.on] + action.suffix,
      host: place.host,
      name: names[action.name],
      handlerName,
      resource: {
        plural: words.plural,
        singular: words.singular,
        param,
        parentKeys: place.parentKeys,
        itemPath: paths.item,
        action: action.handler,
      },
      middleware: place.middleware,
      handler: callAction(withResource, action, handlerName),
      declared: Reflect.get(resource.prototype, action.handler),
    }
  })
  return { itemPath: paths.item, key: words.param, routes }
}

function callAction(withResource: WithResource, action: Action, handlerName: string): Middleware {
  return toMiddleware((ctx) => withResource((resource) => resource[action.handler]?.(ctx)), handlerName)
}
