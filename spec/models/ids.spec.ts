import { expect } from 'chai'
import { validate, version } from 'uuid'
import { newId } from '../../src/models/ids.js'

describe('newId()', () => {
  const ids = Array.from({ length: 20_000 }, newId)

  it('returns a different UUID of version 7 each time', () => {
    expect(ids.every((id) => validate(id) && version(id) === 7)).to.equal(true)
    expect(new Set(ids).size).to.equal(ids.length)
  })

  it('returns UUIDs in the order of creation, also within a millisecond', () => {
    expect(ids).to.deep.equal(ids.toSorted())
  })

  it('begins with the time', () => {
    const before = Date.now()
    const time = Number.parseInt(newId().replace('-', '').slice(0, 12), 16)
    expect(time).to.be.within(before, Date.now())
  })
})
