import { DeclarationError } from '../errors.js'
import { actions, singularActions, type Action } from './actions.js'
import { decorationsOf, type Decorations } from './decorations.js'
import {
  BaseResource,
  resourceMetadata,
  type Resource,
  type ResourceClass,
  type ResourceOptions,
} from './resource.js'

/** The declarations of a resource class, before it is mounted. */
export interface ResourceDefinition {
  resource: ResourceClass
  /** The path of `@Resource`. */
  path: string | undefined
  options: ResourceOptions
  /** The class of `@Parent`. */
  parent: ResourceClass | undefined
  /** The actions with a route, in mount order: five, and new and edit if implemented. */
  actions: Action[]
  /** The routes and middleware of its decorators. */
  decorations: Decorations
}

/**
 * Reads the metadata of a resource class, and finds the handlers that it does not inherit from
 * `BaseResource`.
 *
 * @throws DeclarationError when the class lacks a required handler, when a handler is not a method, when an
 *   option or `@Queryable` requires a model that is missing, when a singular resource has a list or a
 *   parameter, or when no route calls a decorated method
 */
export function scanResource(resource: ResourceClass): ResourceDefinition {
  if (typeof resource !== 'function') {
    throw new DeclarationError(`resource() expects a resource class, not ${String(resource)}.`)
  }
  const missing = actionsOf(resource).filter((action) => !action.optional && !handlerOf(resource, action))
  if (missing.length > 0) {
    const names = missing.map((action) => action.handler).join(', ')
    throw new DeclarationError(
      `${resource.name} does not have the required handler ${names}. Write it as a method, or extend BaseResource, which returns 404.`,
    )
  }
  const { path, options = {}, parent } = resourceMetadata(resource)
  if (options.singular) rejectPlural(resource, options)
  const modelOption = options.policy ? `the policy ${options.policy.name}` : options.fields && 'fields'
  if (modelOption && !options.model) {
    throw new DeclarationError(
      `${resource.name} has ${modelOption}, but no model. Add it: @Resource('/...', { model: Post }).`,
    )
  }
  const decorations = decorationsOf(resource.prototype)
  checkMethods(resource, options, decorations)
  return {
    resource,
    path,
    options,
    parent,
    actions: actionsOf(resource).filter((action) => !action.optional || isImplemented(resource, action)),
    decorations,
  }
}

/** The actions that a class can have: those of a singular resource, or all seven. */
export function actionsOf(resource: ResourceClass): readonly Action[] {
  return resourceMetadata(resource).options?.singular ? singularActions : actions
}

/** @throws DeclarationError when a singular resource has a list or a `param` option */
function rejectPlural(resource: ResourceClass, { param }: ResourceOptions): void {
  if (actions.some((action) => action.handler === 'list' && isImplemented(resource, action))) {
    throw new DeclarationError(
      `${resource.name} is a singular resource, which has no list. Remove the handler list, or the option "singular".`,
    )
  }
  if (param !== undefined) {
    throw new DeclarationError(
      `${resource.name} is a singular resource, whose path has no parameter. Remove the option "param" or "singular".`,
    )
  }
}

/** @throws DeclarationError when no route calls a decorated method, or when a list has no model */
function checkMethods(resource: ResourceClass, { model }: ResourceOptions, { methods }: Decorations): void {
  for (const [name, { routes, middleware, queryable }] of methods) {
    const handler = `${resource.name}.${name}`
    if (routes.length === 0 && !actions.some((action) => action.handler === name)) {
      const decorator = middleware.length > 0 ? '@Use' : '@Queryable'
      throw new DeclarationError(
        `${handler} has ${decorator}, but no route calls it. Decorate it with @Route, or remove ${decorator}.`,
      )
    }
    if (queryable && !model) {
      throw new DeclarationError(
        `${handler} has @Queryable, but its resource has no model. Add it: @Resource('/...', { model: Post }).`,
      )
    }
  }
}

/** Whether a class has a handler that it does not inherit from `BaseResource`. */
export function isImplemented(resource: ResourceClass, action: Action): boolean {
  const handler = handlerOf(resource, action)
  return handler !== undefined && handler !== BaseResource.prototype[action.handler]
}

/** @throws DeclarationError when the class has a property with the name of the action that is not a method */
function handlerOf(resource: ResourceClass, action: Action): Resource[Action['handler']] {
  const prototype: Partial<Resource> = resource.prototype
  const handler = prototype[action.handler]
  if (handler === undefined || typeof handler === 'function') return handler
  throw new DeclarationError(
    `${resource.name}.${action.handler} is not a method. Write each handler as a method.`,
  )
}
