import type { Context } from '../context.js'

/** Whether a request came over https: to us, or to a proxy in front of us, which says so in `X-Forwarded-Proto`. */
export function isSecure(ctx: Context): boolean {
  const [forwarded = ''] = ctx.get('X-Forwarded-Proto').split(',')
  return ctx.secure || forwarded.trim().toLowerCase() === 'https'
}
