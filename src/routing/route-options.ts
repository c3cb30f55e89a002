import { defaultPathName } from '../naming/names.js'
import { describeRoute } from '../resources/route-description.js'
import type { RouteOptions } from '../resources/route.js'
import type { RouteDeclaration } from './declared-route.js'

/**
 * Converts the options of a route, except for its aliases, to the members of its declaration.
 *
 * @param path the full path, from which the name is derived
 * @param handler the name of the route's handler, for error messages
 * @throws DeclarationError when an option is wrong
 */
export function fromOptions(
  options: RouteOptions,
  path: string,
  handler: string,
): Pick<RouteDeclaration, 'name' | 'hasDefaultName' | 'readsBody' | 'description'> {
  const { name, body } = options
  return {
    name: name ?? defaultPathName(path),
    hasDefaultName: name === undefined,
    readsBody: body === undefined ? undefined : Boolean(body),
    description: describeRoute(options, handler),
  }
}
