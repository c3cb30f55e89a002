import { expect } from 'chai'
import { validate } from 'class-validator'
import { Comment } from '../../src/models/comment.js'

describe('Comment', () => {
  it('requires body', async () => {
    const errors = await validate(new Comment())
    expect(errors.map(({ property }) => property)).to.include('body')
  })
})
