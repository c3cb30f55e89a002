import { BaseResource, Queryable, Resource, type Context } from 'resource-kit'
import { Post } from '../models/post.js'

// kit destroy and kit generate read the next line.
// kit generate resource post title description:nulls.text --filter title,created_at --sort title,created_at --search title,description --spec full

/** Serves /posts as HTML, JSON and XML. */
@Resource('/posts', { model: Post, fields: ['title', 'description'] })
export class PostsResource extends BaseResource {
  /** GET /posts: one page of posts, newest first. */
  @Queryable<Post>({
    filter: { title: ['prefix'], created_at: ['gte', 'lt'] },
    sort: ['title', 'created_at'],
    search: ['title', 'description'],
  })
  async list(ctx: Context) {
    const { records: posts, pagination, query } = await ctx.paginate(Post)
    return ctx.respond({ html: () => ctx.render('posts/index', { posts, pagination, query }), data: posts })
  }

  /** GET /posts/{post_id} */
  async show(ctx: Context) {
    const post = await this.findPost(ctx)
    return ctx.respond({ html: () => ctx.render('posts/show', { post }), data: post })
  }

  /** GET /posts/new: the form for a new post. */
  async new(ctx: Context) {
    const post = new Post()
    return ctx.respond({ html: () => ctx.render('posts/new', { post }) })
  }

  /** POST /posts */
  async create(ctx: Context) {
    const post = ctx.bind(new Post())
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
    return ctx.respond({ html: () => ctx.render('posts/edit', { post }) })
  }

  /** PUT or PATCH /posts/{post_id}: changes the attributes that are sent. */
  async update(ctx: Context) {
    const post = ctx.bind(await this.findPost(ctx))
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
