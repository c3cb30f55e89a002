import { expect } from 'chai'
import { isTooDeep } from '../../../src/models/attributes/json-limits.js'

function nested(levels: number): unknown {
  return levels === 0 ? 1 : { a: [nested(levels - 1)] }
}

describe('isTooDeep(value)', () => {
  it('is false for a value without depth', () => {
    for (const value of [null, undefined, 1, 'text', [], {}]) expect(isTooDeep(value)).to.equal(false)
  })

  it('is false for 100 levels of lists and objects', () => {
    expect(isTooDeep(nested(50))).to.equal(false)
  })

  it('is true for more levels', () => {
    expect(isTooDeep(nested(51))).to.equal(true)
    expect(isTooDeep(JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)))).to.equal(true)
  })
})
