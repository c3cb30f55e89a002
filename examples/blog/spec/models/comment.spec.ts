import { expect } from 'chai'
import { brokenRules } from 'resource-kit/testing'
import { Comment } from '../../src/models/comment.js'

describe('Comment', () => {
  it('requires body', async () => {
    expect(await brokenRules(new Comment())).to.have.property('body')
  })
})
