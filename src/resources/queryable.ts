import type { Queryable as Declaration } from '../records/lists/declaration.js'
import { DeclarationError } from '../errors.js'
import { checkMethod, recordMethod, type MethodDecoration } from './decorations.js'

/** The declaration of a list: its filters, sort keys, search and included relations. */
// Without a model, the type accepts the declaration of any model.
// oxlint-disable-next-line no-explicit-any
export type Queryable<T = any> = Declaration<T>

/**
 * Declares how clients may filter, sort and search the list that a handler returns. `ctx.paginate` applies
 * only the declared parameters of the request's query. The resource needs its model:
 * `@Resource('/posts', { model: Post })`.
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
 * @throws DeclarationError when the member is static or is not a method, or when it has two declarations. The
 *   start of the application throws one when the declaration does not fit the model, or when a column is
 *   hidden
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
