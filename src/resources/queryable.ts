import type { Queryable as Declaration } from '../data/lists/declaration.js'
import { DeclarationError } from '../errors.js'
import { checkMethod, recordMethod, type MethodDecoration } from './decorations.js'

/** The declaration of a list: its filters, sort keys, search and included relations. */
// The model is known where it is given: `Queryable<Post>`.
// oxlint-disable-next-line no-explicit-any
export type Queryable<T = any> = Declaration<T>

/**
 * Declares what clients may request of the list of a handler. `ctx.paginate` reads the request's query by it. Nothing is
 * allowed that is not declared. The resource needs its model: `@Resource('/posts', { model: Post })`.
 *
 * @example
 * \@Resource('/posts', { model: Post })
 * export class PostsResource extends BaseResource {
 *   \@Queryable<Post>({
 *     filter: { title: ['prefix', 'contains'], created_at: ['gte', 'lt'] },
 *     sort: ['-created_at', 'title'],
 *     search: ['title', 'description'],
 *   })
 *   async list(ctx: Context) {
 *     const { records: posts } = await ctx.paginate(Post)
 *     return ctx.respond({ data: posts })
 *   }
 * }
 *
 * @throws DeclarationError when the member is static or is not a method, or when it has two declarations. The start throws
 *   one when the declaration does not fit the model, or when a column is hidden
 */
export function Queryable<T>(queryable: Declaration<T>): MethodDecoration {
  return (target, name, descriptor) => {
    const handler = checkMethod('@Queryable', target, name, descriptor)
    recordMethod(target, name, (method) => {
      if (method.queryable)
        throw new DeclarationError(`${handler} has @Queryable twice. Merge them into one.`)
      return { queryable }
    })
  }
}
