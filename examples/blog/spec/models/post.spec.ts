import { expect } from 'chai'
import { validate } from 'class-validator'
import { database } from '../../src/database.js'
import { Post } from '../../src/models/post.js'
import { factory, isolate } from '../support/app.js'

describe('Post', () => {
  isolate()

  it('can be saved and found', async () => {
    const { id } = await factory.make(Post)
    expect(await database.manager.existsBy(Post, { id })).to.equal(true)
  })

  it('requires title', async () => {
    const errors = await validate(new Post())
    expect(errors.map(({ property }) => property)).to.include('title')
  })
})
