import { expect } from 'chai'
import { validate } from 'class-validator'
import { database } from '../../src/database.js'
import { Comment } from '../../src/models/comment.js'
import { factory, isolate } from '../support/app.js'

describe('Comment', () => {
  isolate()

  it('can be saved and found', async () => {
    const { id } = await factory.make(Comment)
    expect(await database.manager.existsBy(Comment, { id })).to.equal(true)
  })

  it('requires body', async () => {
    const errors = await validate(new Comment())
    expect(errors.map(({ property }) => property)).to.include('body')
  })
})
