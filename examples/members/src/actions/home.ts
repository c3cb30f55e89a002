import type { Context } from 'resource-kit'

/** GET /: the home page. */
export function home(ctx: Context) {
  return ctx.respond({ html: () => ctx.render('home') })
}
