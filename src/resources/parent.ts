import { describeResource } from './metadata.js'
import type { ResourceClass } from './resource.js'

/**
 * Nests a resource beneath an item of another: its routes begin with `/posts/{post_id}`.
 *
 * @example
 * \@Resource('/comments')
 * \@Parent(PostsResource)
 * export class CommentsResource extends BaseResource { ... }
 */
export function Parent(parent: ResourceClass) {
  return (target: ResourceClass): void => {
    describeResource(target, { parent })
  }
}
