import { nothing, Policy } from 'resource-kit'
import type { Post } from '../models/post.js'
import type { User } from '../models/user.js'

/** Says which posts a user sees, and who may change them. */
export class PostPolicy extends Policy<Post> {
  /** Users see their own posts. */
  scope(user?: User) {
    return user ? { user_id: user.id } : nothing
  }

  create(user: User | undefined) {
    return user !== undefined
  }

  update(user: User | undefined, post: Post) {
    return post.user_id === user?.id
  }

  destroy(user: User | undefined, post: Post) {
    return this.update(user, post)
  }
}
