import type { Context } from 'resource-kit'

/** GET /: the first page that people see. */
export function home(ctx: Context) {
  return ctx.respond({ html: () => ctx.render('home') })
}
