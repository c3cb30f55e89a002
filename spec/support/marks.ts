import type { Context, Middleware } from '../../src/index.js'

/** Middleware that adds its name to a header, so that a response shows which middleware ran, and in which order. */
export function mark(name: string): Middleware {
  return async function mark(ctx, next) {
    ctx.append('X-Marks', name)
    await next()
  }
}

/** A handler that responds with a text. */
export function text(body: string) {
  return function text(ctx: Context): void {
    ctx.body = body
  }
}
