import type { Next } from 'koa'
import type { Context, Middleware } from '../../context.js'
import type { BeginOptions } from '../../database/transactions/opening.js'
import { environmentOf } from '../../common/environment.js'
import { transactionOf } from '../../database/transactions/request-transaction.js'
import { NoTransaction } from '../../errors.js'

/**
 * Sets how the transaction of a request begins. Register it below `transaction()`, for example for one
 * handler.
 *
 * @example
 * \@Resource('/accounts')
 * export class AccountsResource extends BaseResource {
 *   \@Use(transactionOptions({ isolation: 'SERIALIZABLE' }))
 *   async update(ctx: Context) {
 *     // ...
 *   }
 *
 *   \@Use(transactionOptions({ replica: false }))
 *   async show(ctx: Context) {
 *     // ...
 *   }
 * }
 *
 * @throws NoTransaction when there is no `transaction()` above it, TransactionAlreadyBegun when the request
 *   has already sent a
 * query
 */
export function transactionOptions(options: BeginOptions): Middleware {
  return function transactionOptions(ctx: Context, next: Next) {
    const transaction = transactionOf(ctx)
    if (!transaction) throw new NoTransaction(environmentOf(ctx) === 'development')
    transaction.configure(options)
    return next()
  }
}
