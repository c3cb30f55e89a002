import { expect } from 'chai'
import { describeResource } from 'resource-kit/testing'
import { Comment } from '../../src/models/comment.js'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'

describe('CommentsResource', () => {
  // Undoes what a test changes.
  isolate()

  let post: Post

  before(async () => {
    post = await factory.make(Post)
  })

  // Tests the handlers in each format.
  describeResource(client, {
    name: 'comment',
    path: () => `/posts/${post.id}/comments`,
    make: (given: Partial<Comment>) => factory.make(Comment, given),
    within: () => ({ post_id: post.id }),
    values: { body: 'First line' },
    changes: { body: 'Second line' },
    required: ['body'],
  })

  // Add tests of what only your comments do, like this one:
  it('shows the values of a comment', async () => {
    const comment = await factory.make(Comment, { post_id: post.id })
    const response = await client.get(`/posts/${post.id}/comments/${comment.id}`, { accept: 'json' })
    expect(response.json).to.include({ id: comment.id })
  })
})
