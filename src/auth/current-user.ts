import type { Context } from '../context.js'
import type { Account } from './account.js'

/** The user of a request. Applications declare the member `user` of the context with their own model. */
export function currentUser(ctx: Context): Account | undefined {
  return Reflect.get(ctx, 'user')
}

/** Sets `ctx.user`, and the variable `currentUser` of templates. */
export function setUser(ctx: Context, user: Account | undefined): void {
  Object.assign(ctx, { user })
  ctx.state['currentUser'] = user
}
