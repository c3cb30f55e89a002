import { DeclarationError } from '../errors.js'
import { PathPattern } from './path.js'

/**
 * Returns the full path of a `@Route`: `/drafts` becomes `/posts/drafts`, and `/{post_id}/publish` or `/{id}/publish`
 * becomes `/posts/{post_id}/publish`.
 *
 * @param collection the path of the resource: `/posts`
 * @param relative the path in the decorator
 * @param param the parameter of an item: `post_id`; undefined for a singular resource
 * @param handler `PostsResource.publish`, for error messages
 * @throws DeclarationError when the path begins with any other parameter
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
