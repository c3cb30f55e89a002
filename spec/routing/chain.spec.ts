import { expect } from 'chai'
import type { Context, Middleware } from '../../src/context.js'
import { chain } from '../../src/routing/chain.js'
import { failure } from '../support/failure.js'

// What is composed here looks at no context.
const ctx = {} as Context

describe('chain(middleware)', () => {
  it('runs what was declared first around what comes after it', async () => {
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

  it('rejects with what is thrown at once', async () => {
    const error = new Error('at once')
    const run = chain([
      () => {
        throw error
      },
    ])
    expect(await failure(run(ctx))).to.equal(error)
  })

  it('refuses a second call of next', async () => {
    const twice: Middleware = async (_ctx, next) => {
      await next()
      await next()
    }
    expect(String(await failure(chain([twice, () => undefined])(ctx)))).to.contain(
      'next() called multiple times',
    )
  })

  it('lets a middleware that says so call what is beneath it again, all of it', async () => {
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
