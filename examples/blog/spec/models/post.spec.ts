import { expect } from 'chai'
import { validate } from 'class-validator'
import { Post } from '../../src/models/post.js'

describe('Post', () => {
  it('requires title', async () => {
    const errors = await validate(new Post())
    expect(errors.map(({ property }) => property)).to.include('title')
  })
})
