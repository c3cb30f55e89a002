import { expect } from 'chai'
import { brokenRules } from 'resource-kit/testing'
import { Post } from '../../src/models/post.js'

describe('Post', () => {
  it('requires title', async () => {
    expect(await brokenRules(new Post())).to.have.property('title')
  })
})
