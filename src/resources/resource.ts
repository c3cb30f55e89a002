import { injectable } from 'tsyringe'
import type { Middleware, Context } from '../context.js'
import { ResourceNotImplemented } from '../errors.js'
import { describeResource } from './metadata.js'

/**
 * The handlers of a resource (contract, section 2). Each answers the request, or throws; a returned Error counts as
 * thrown.
 */
export interface Resource {
  /** GET /posts: the collection. */
  list(ctx: Context): unknown
  /** POST /posts: adds an item. */
  create(ctx: Context): unknown
  /** GET /posts/{post_id}: one item. */
  show(ctx: Context): unknown
  /** PUT /posts/{post_id}: changes an item. */
  update(ctx: Context): unknown
  /** DELETE /posts/{post_id}: deletes an item. */
  destroy(ctx: Context): unknown
  /** GET /posts/new: the form for a new item. */
  'new'?(ctx: Context): unknown
  /** GET /posts/{post_id}/edit: the form for changing an item. */
  edit?(ctx: Context): unknown
}

/** A class whose instances are resources: one for each request. */
// tsyringe calls the constructor with what it resolves, whatever that is.
// oxlint-disable-next-line no-explicit-any
export type ResourceClass = new (...dependencies: any[]) => Resource

/** What `@Resource` takes beside the path. */
export interface ResourceOptions {
  /** The name of the item's parameter; by default the singular and `_id`: `post_id`. */
  param?: string
  /** Middleware of this resource, and of what is nested in it, run after that which was declared before it. */
  middleware?: Middleware[]
}

/**
 * Marks a class as a resource that is mounted at a path.
 *
 * @example
 * \@Resource('/posts')
 * export class PostsResource extends BaseResource {
 *   async list(ctx: Context) {
 *     return ctx.respond({ json: await ctx.tx.find(Post) })
 *   }
 * }
 */
export function Resource(path: string, options: ResourceOptions = {}) {
  return (target: ResourceClass): void => {
    describeResource(target, { path, options })
    injectable()(target)
  }
}

/** Every handler answers 404 "resource not implemented"; a resource overrides those that it needs. */
export class BaseResource implements Resource {
  list(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }

  create(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }

  show(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }

  update(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }

  destroy(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }

  new(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }

  edit(_ctx: Context): unknown {
    throw new ResourceNotImplemented()
  }
}
