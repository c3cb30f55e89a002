import { DeclarationError } from '../errors.js'
import { describeResource } from './metadata.js'
import type { ResourceClass } from './resource.js'

/**
 * Nests a resource in the items of another one: its routes begin with `/posts/{post_id}`.
 *
 * @example
 * \@Resource('/comments')
 * \@Parent(PostsResource)
 * export class CommentsResource extends BaseResource {}
 */
export function Parent(parent: ResourceClass) {
  if (typeof parent !== 'function') {
    throw new DeclarationError(
      '@Parent received undefined instead of a class. When two resource files import each other, one of them is not loaded yet. Nest the resource with parent.resource() instead.',
    )
  }
  return (target: ResourceClass): void => {
    describeResource(target, { parent })
  }
}
