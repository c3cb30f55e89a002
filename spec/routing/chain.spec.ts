import { expect } from 'chai'
import type { Context, Middleware } from '../../src/context.js'
import { chain } from '../../src/routing/chain.js'
import { failure } from '../support/failure.js'

// This middleware does not use the context.
const ctx = {} as Context

describe('chain(middleware)', () => {
  it('runs earlier middleware around later middleware', async () => {
    const steps: string[] = []
    const around =
      (name: string): Middleware =>
      async (_ctx, next) => {
        steps.push(`${name} in`)
        await next()
        steps.push(`${name} out`)
      }
    await chain([around('a'), around('b'), () => steps.push('handler')])(ctx)
    expect(steps).to.deep.equal(['a in', 'b in', 'handler', 'b out', 'a out'])
  })

  it('rejects with a synchronous error', async () => {
    const error = new Error('at once')
    const run = chain([
      () => {
        throw error
      },
    ])
    expect(await failure(run(ctx))).to.equal(error)
  })

  it('rejects a second call of next', async () => {
    const twice: Middleware = async (_ctx, next) => {
      await next()
      await next()
    }
    expect(String(await failure(chain([twice, () => undefined])(ctx)))).to.contain(
      'next() called multiple times',
    )
  })

  it('allows a middleware with `callsAgain` to call all of the middleware below it again', async () => {
    let calls = 0
    const again: Middleware = Object.assign(
      async (_ctx: Context, next: () => Promise<unknown>) => {
        await next().catch(() => undefined)
        await next()
      },
      { callsAgain: true },
    )
    await chain([again, (_ctx, next) => next(), () => (calls += 1)])(ctx)
    expect(calls).to.equal(2)
  })
})
