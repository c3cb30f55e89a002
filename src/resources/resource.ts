import 'reflect-metadata'
import { injectable } from 'tsyringe'
import type { Context, Handler } from '../context.js'
import type { AttributeOf } from '../models/attributes/attribute-of.js'
import { DeclarationError, ResourceNotImplemented } from '../errors.js'
import type { PolicyClass } from '../policies/policy.js'
import type { ManyOptions } from './many-options.js'

/** The handlers of a resource. Each responds to the request or throws. A returned Error is thrown. */
export interface Resource extends SingularResource {
  /** GET /posts: the collection. */
  list(ctx: Context): unknown
}

/** The handlers of a singular resource, which has no list. */
export interface SingularResource {
  /** POST /posts: adds an item. */
  create(ctx: Context): unknown
  /** GET /posts/{post_id}: one item. */
  show(ctx: Context): unknown
  /** PUT /posts/{post_id}: updates an item. */
  update(ctx: Context): unknown
  /** DELETE /posts/{post_id}: deletes an item. */
  destroy(ctx: Context): unknown
  /** GET /posts/new: the form for a new item. */
  'new'?(ctx: Context): unknown
  /** GET /posts/{post_id}/edit: the form to edit an item. */
  edit?(ctx: Context): unknown
}

/** A class with an instance for each request. By default without `list`, for singular resources, too. */
// tsyringe calls the constructor with the dependencies it resolves, of any type.
// oxlint-disable-next-line no-explicit-any
export type ResourceClass<Handlers = SingularResource> = new (...dependencies: any[]) => Handlers

/** The options of `@Resource`. */
// Without a model, the type accepts the options of any model.
// oxlint-disable-next-line no-explicit-any
export interface ResourceOptions<M extends object = any, Action extends string = string> extends ManyOptions<
  M,
  Action
> {
  /** The name of the item's parameter, with this property of the record. The default is `post_id`. */
  param?: string
  /** Whether there is only one item, which has no id: `/session`, not `/sessions/{session_id}`. */
  singular?: boolean
  /** The model of the records that the resource serves: `Post`. */
  model?: new () => M
  /**
   * The attributes of the model that requests may set: all that `ctx.bind(record)` copies. A handler can pass
   * a shorter list to `ctx.bind`, and no longer one.
   */
  fields?: readonly AttributeOf<NoInfer<M>>[]
  /**
   * Whether PUT, PATCH and DELETE requests must contain the version of the record that the client has seen
   * (no), in `If-Match` or in the body. A request without it gets a 428, except from a form. The model needs
   * a `@VersionColumn()`.
   */
  requireMatch?: boolean
  /** The policy of the model: who may see and change its records. */
  policy?: PolicyClass
  /** Whether the resource has HTML pages (yes). If not, the `collectionLinks()` of templates leave it out. */
  pages?: boolean
}

/**
 * Declares a class as a resource with a path.
 *
 * @example
 * \@Resource('/posts', { model: Post, fields: ['title', 'description'] })
 * export class PostsResource extends BaseResource {
 *   async list(ctx: Context) {
 *     const { records: posts } = await ctx.paginate(Post)
 *     return ctx.respond({ data: posts })
 *   }
 * }
 */
export function Resource<M extends object>(
  path: string,
  options: ResourceOptions<M> & { singular: true },
): (target: ResourceClass) => void
export function Resource<M extends object, Action extends string = never>(
  path: string,
  options?: ResourceOptions<M, Action>,
): (target: ResourceClass<Resource & Record<NoInfer<Action>, Handler>>) => void
export function Resource(path: string, options: ResourceOptions = {}) {
  return (target: ResourceClass): void => {
    describeResource(target, { path, options })
    injectable()(target)
  }
}

/**
 * Nests a resource in the items of another one: its routes begin with `/posts/{post_id}`.
 *
 * @example
 * \@Resource('/comments')
 * \@Parent(PostsResource)
 * export class CommentsResource extends BaseResource {}
 *
 * @throws DeclarationError when `parent` is not a class, for example because of files that import each other
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

/** The metadata that `@Resource` and `@Parent` record for a class. */
interface ResourceMetadata {
  path?: string
  options?: ResourceOptions
  parent?: ResourceClass
}

const key = Symbol('resource-kit:resource')

/** Adds metadata to a class, and copies what it inherits. */
function describeResource(target: object, metadata: ResourceMetadata): void {
  Reflect.defineMetadata(key, { ...resourceMetadata(target), ...metadata }, target)
}

/** The metadata of a class, including that of the classes that it extends. */
export function resourceMetadata(target: object): ResourceMetadata {
  return Reflect.getMetadata(key, target) ?? {}
}

/** A resource whose handlers all return 404 "resource not implemented". Override the ones that you need. */
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
