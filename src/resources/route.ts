import type { Handler } from '../context.js'
import { DeclarationError } from '../errors.js'
import { actions } from './actions.js'
import {
  checkMethod,
  recordMethod,
  type MethodDecoration,
  type RouteMethod,
  type RouteOptions,
} from './decorations.js'

const methods: readonly RouteMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

/**
 * Declares a route for a method of a resource class. A method can have several routes. A subclass that
 * overrides the method inherits them, unless it declares routes again.
 *
 * @example
 * \@Resource('/posts')
 * export class PostsResource extends BaseResource {
 *   \@Route('POST', '/{post_id}/publish')
 *   async publish(ctx: Context) {
 *     return ctx.seeOther(ctx.pathFor('postPath', ctx.params))
 *   }
 * }
 *
 * @param path the path below that of the resource. It can begin with the parameter of the item: `{post_id}`,
 *   or `{id}` in a class that is mounted in several places
 * @throws DeclarationError when `method` is none of the HTTP methods, or when the decorated member is static,
 *   is not a method, or is one of the seven handlers. Mounting throws one when the path begins with the
 *   parameter of another resource, when another handler has the same HTTP method and path, or when `summary`,
 *   `body`, `responses` or `files` is wrong
 */
export function Route(method: RouteMethod, path: string, options: RouteOptions = {}): MethodDecoration {
  return <H extends Handler>(target: object, name: string, descriptor: TypedPropertyDescriptor<H>): void => {
    const handler = checkMethod('@Route', target, name, descriptor)
    if (!methods.includes(method)) {
      throw new DeclarationError(
        `@Route of ${handler} received the method "${method}". Use one of ${methods.join(', ')}.`,
      )
    }
    if (actions.some((action) => action.handler === name)) {
      throw new DeclarationError(
        `${handler} is one of the seven handlers, whose routes are fixed. Remove @Route, or rename the method.`,
      )
    }
    recordMethod(target, name, ({ routes }) => ({ routes: [{ method, path, options }, ...routes] }))
  }
}
