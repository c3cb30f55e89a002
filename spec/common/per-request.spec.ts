import { expect } from 'chai'
import { PerRequest } from '../../src/common/per-request.js'

describe('PerRequest', () => {
  it('keeps one value of each kind for each context', () => {
    const [one, other] = [new PerRequest<string>(), new PerRequest<string | undefined>()]
    const ctx = {}
    expect(one.has(ctx)).to.equal(false)
    one.set(ctx, 'a')
    other.set(ctx, undefined)
    expect([one.get(ctx), other.get(ctx), one.get({})]).to.deep.equal(['a', undefined, undefined])
    expect([one.has(ctx), other.has(ctx), one.has({})]).to.deep.equal([true, true, false])
    one.delete(ctx)
    expect([one.has(ctx), one.get(ctx), other.has(ctx)]).to.deep.equal([false, undefined, true])
  })

  it('reads the values of the original context from a derived one, and does not change them', () => {
    const [one, other] = [new PerRequest<string>(), new PerRequest<string>()]
    const ctx = {}
    one.set(ctx, 'a')
    const derived = Object.create(ctx) as object
    expect([one.get(derived), one.has(derived)]).to.deep.equal(['a', false])
    one.set(derived, 'b')
    one.delete(derived)
    other.set(derived, 'c')
    one.set(ctx, 'd')
    expect([one.get(ctx), one.get(derived), other.get(ctx)]).to.deep.equal(['d', 'd', undefined])
  })

  it('adds one member to a context', () => {
    const ctx = {}
    for (let count = 0; count < 30; count++) new PerRequest<number>().set(ctx, count)
    expect(Reflect.ownKeys(ctx)).to.have.length(1)
  })
})
