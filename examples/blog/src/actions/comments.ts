import { BaseResource, Parent, Resource, type Context } from 'resource-kit'
import { Comment } from '../models/comment.js'
import { Post } from '../models/post.js'
import { Notifier } from '../services/notifier.js'
import { PostsResource } from './posts.js'

// kit destroy and kit generate read the next line.
// kit generate resource comment body:text --parent post --spec full

/** Serves /posts/{post_id}/comments as HTML, JSON and XML. */
@Resource('/comments', { model: Comment, fields: ['body'] })
@Parent(PostsResource)
export class CommentsResource extends BaseResource {
  constructor(private readonly notifier: Notifier) {
    super()
  }

  /** GET /posts/{post_id}/comments: one page of comments, newest first. */
  async list(ctx: Context) {
    const post = await this.findPost(ctx)
    const where = { post_id: post.id }
    const { records: comments, pagination } = await ctx.paginate(Comment, { where })
    return ctx.respond({
      html: () => ctx.render('comments/index', { post, comments, pagination }),
      data: comments,
    })
  }

  /** GET /posts/{post_id}/comments/{comment_id} */
  async show(ctx: Context) {
    const comment = await this.findComment(ctx)
    return ctx.respond({ html: () => ctx.render('comments/show', { comment }), data: comment })
  }

  /** GET /posts/{post_id}/comments/new: the form for a new comment. */
  async new(ctx: Context) {
    const post = await this.findPost(ctx)
    const comment = new Comment()
    return ctx.respond({ html: () => ctx.render('comments/new', { post, comment }) })
  }

  /** POST /posts/{post_id}/comments */
  async create(ctx: Context) {
    const post = await this.findPost(ctx)
    const comment = ctx.bind(new Comment())
    comment.post_id = post.id
    const errors = await ctx.save(comment)
    if (errors) {
      return ctx.respond(errors, { html: () => ctx.render('comments/new', { post, comment, errors }) })
    }
    ctx.afterCommit(() => this.notifier.send(`Comment on "${post.title}": ${comment.body}`))

    return ctx.respond(201, {
      html: () =>
        ctx.seeOther(ctx.pathFor('postCommentPath', comment), { success: ctx.t('comment.created.success') }),
      data: comment,
    })
  }

  /** GET /posts/{post_id}/comments/{comment_id}/edit: the form to edit a comment. */
  async edit(ctx: Context) {
    const comment = await this.findComment(ctx)
    return ctx.respond({ html: () => ctx.render('comments/edit', { comment }) })
  }

  /** PUT or PATCH /posts/{post_id}/comments/{comment_id}: changes the attributes that are sent. */
  async update(ctx: Context) {
    const comment = ctx.bind(await this.findComment(ctx))
    const errors = await ctx.save(comment)
    if (errors) return ctx.respond(errors, { html: () => ctx.render('comments/edit', { comment, errors }) })

    return ctx.respond({
      html: () =>
        ctx.seeOther(ctx.pathFor('postCommentPath', comment), { success: ctx.t('comment.updated.success') }),
      data: comment,
    })
  }

  /** DELETE /posts/{post_id}/comments/{comment_id} */
  async destroy(ctx: Context) {
    const comment = await this.findComment(ctx)
    await ctx.destroy(comment)
    return ctx.respond({
      html: () =>
        ctx.seeOther(ctx.pathFor('postCommentsPath', { post_id: comment.post_id }), {
          success: ctx.t('comment.destroyed.success'),
        }),
      data: comment,
    })
  }

  /** Finds the post by the id in the path. If there is none, the response is 404. */
  private findPost(ctx: Context) {
    return ctx.find(Post, ctx.params.post_id)
  }

  /** Finds the comment of the post by the id in the path. If there is none, the response is 404. */
  private findComment(ctx: Context) {
    const { post_id, comment_id } = ctx.params
    return ctx.findOneBy(Comment, { id: comment_id, post_id })
  }
}
