import type { Context, Middleware } from '../context.js'

/**
 * Composes middleware like koa-compose, except that a middleware with `callsAgain` may call `next` several
 * times, for example to retry a transaction.
 */
export function chain(middleware: readonly Middleware[]): (ctx: Context) => Promise<unknown> {
  return function run(ctx) {
    return call(0)

    function call(index: number): Promise<unknown> {
      const current = middleware[index]
      if (!current) return Promise.resolve()
      let isCalled = false
      const next = (): Promise<unknown> => {
        if (isCalled && !current.callsAgain) return Promise.reject(new Error('next() called multiple times'))
        isCalled = true
        return call(index + 1)
      }
      try {
        return Promise.resolve(current(ctx, next))
      } catch (error) {
        return Promise.reject(error)
      }
    }
  }
}
