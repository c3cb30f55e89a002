import { DeclarationError } from '../errors.js'
import { PathPattern } from './path.js'

/**
 * Returns the full path of a `@Route`. A path that begins with a parameter begins with that of the resource's item, for
 * which `{id}` stands in every resource.
 *
 * @param param the parameter of the item; undefined for a singular resource
 * @param handler `PostsResource.publish`, for the message
 * @throws DeclarationError when the path begins with another parameter
 */
export function decoratedPath(
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
