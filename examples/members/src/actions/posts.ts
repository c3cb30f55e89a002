import { BaseResource, Resource, type Context } from 'resource-kit'
import { userOf } from '../authentication.js'
import { Post } from '../models/post.js'
import { PostPolicy } from '../policies/post.js'

// kit destroy and kit generate read the next line.
// kit generate resource post title body:nulls.text --owner user

/** Serves /posts as HTML, JSON and XML. */
@Resource('/posts', { model: Post, fields: ['title', 'body'], policy: PostPolicy })
export class PostsResource extends BaseResource {
  /** GET /posts: one page of posts, newest first. */
  async list(ctx: Context) {
    const { records: posts, pagination } = await ctx.paginate(Post)
    return ctx.respond({ html: () => ctx.render('posts/index', { posts, pagination }), data: posts })
  }

  /** GET /posts/{post_id} */
  async show(ctx: Context) {
    const post = await this.findPost(ctx)
    return ctx.respond({ html: () => ctx.render('posts/show', { post }), data: post })
  }

  /** GET /posts/new: the form for a new post. */
  async new(ctx: Context) {
    const post = new Post()
    post.user_id = userOf(ctx).id
    await ctx.authorize(post)
    return ctx.respond({ html: () => ctx.render('posts/new', { post }) })
  }

  /** POST /posts */
  async create(ctx: Context) {
    const post = ctx.bind(new Post())
    post.user_id = userOf(ctx).id
    await ctx.authorize(post)
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('posts/new', { post, errors }) })

    return ctx.respond(201, {
      html: () => ctx.seeOther(ctx.pathFor('postPath', post), { success: ctx.t('post.created.success') }),
      data: post,
    })
  }

  /** GET /posts/{post_id}/edit: the form to edit a post. */
  async edit(ctx: Context) {
    const post = await this.findPost(ctx)
    await ctx.authorize(post)
    return ctx.respond({ html: () => ctx.render('posts/edit', { post }) })
  }

  /** PUT or PATCH /posts/{post_id}: changes the attributes that are sent. */
  async update(ctx: Context) {
    const post = await this.findPost(ctx)
    await ctx.authorize(post)
    ctx.bind(post)
    const errors = await ctx.save(post)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('posts/edit', { post, errors }) })

    return ctx.respond({
      html: () => ctx.seeOther(ctx.pathFor('postPath', post), { success: ctx.t('post.updated.success') }),
      data: post,
    })
  }

  /** DELETE /posts/{post_id} */
  async destroy(ctx: Context) {
    const post = await this.findPost(ctx)
    await ctx.authorize(post)
    await ctx.destroy(post)
    return ctx.respond({
      html: () => ctx.seeOther(ctx.pathFor('postsPath'), { success: ctx.t('post.destroyed.success') }),
      data: post,
    })
  }

  /** Finds the post by the id in the path. If there is none, the response is 404. */
  private findPost(ctx: Context) {
    return ctx.find(Post, ctx.params.post_id)
  }
}
