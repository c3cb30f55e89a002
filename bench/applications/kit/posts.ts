import { BaseResource, Resource, type Context } from '../../../src/index.js'
import { Post } from './post.js'

/** The resource that `kit generate resource post title description:nulls.text` writes in an API application. */
@Resource('/posts')
export class PostsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records: posts } = await ctx.paginate(Post)
    return ctx.respond({ data: posts })
  }

  override async show(ctx: Context) {
    const post = await ctx.find(Post, ctx.params['post_id'])
    return ctx.respond({ data: post })
  }

  override async create(ctx: Context) {
    const post = ctx.bind(new Post())
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors)

    ctx.set('Location', ctx.pathFor('postPath', post))
    return ctx.respond(201, { data: post })
  }

  override async update(ctx: Context) {
    const post = ctx.bind(await ctx.find(Post, ctx.params['post_id']))
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors)

    return ctx.respond({ data: post })
  }

  override async destroy(ctx: Context) {
    const post = await ctx.find(Post, ctx.params['post_id'])
    await ctx.destroy(post)
    return ctx.respond({ data: post })
  }
}
