import { BaseResource, Queryable, Resource, type Context } from '../../../src/index.js'
import { Post } from './post.js'

/** A list that clients filter and sort. */
@Resource('/filtered', { model: Post })
export class FilteredResource extends BaseResource {
  @Queryable<Post>({ filter: { title: ['prefix'], created_at: ['gte'] }, sort: ['title', 'created_at'] })
  override async list(ctx: Context) {
    const { records: posts } = await ctx.paginate(Post)
    return ctx.respond({ data: posts })
  }
}

/** A list with cursor pages. */
@Resource('/feed', { model: Post })
export class FeedResource extends BaseResource {
  @Queryable<Post>({ pages: 'cursor', sort: ['created_at'] })
  override async list(ctx: Context) {
    const { records: posts } = await ctx.paginate(Post)
    return ctx.respond({ data: posts })
  }
}
