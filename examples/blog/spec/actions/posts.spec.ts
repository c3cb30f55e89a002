import { expect } from 'chai'
import { describeResource } from 'resource-kit/testing'
import { Post } from '../../src/models/post.js'
import { client, factory, isolate } from '../support/app.js'

describe('PostsResource', () => {
  // Undoes what a test changes.
  isolate()

  // Tests the handlers in each format.
  describeResource(client, {
    name: 'post',
    path: '/posts',
    make: (given: Partial<Post>) => factory.make(Post, given),
    values: { title: 'First', description: 'First line' },
    changes: { title: 'Second', description: 'Second line' },
    required: ['title'],
    query: (post) => ({
      'title.prefix': post.title,
      'created_at.gte': post.created_at.toISOString(),
      sort: 'title',
      search: post.title,
    }),
  })

  // Add tests of what only your posts do, like this one:
  it('shows the values of a post', async () => {
    const post = await factory.make(Post, { title: 'First' })
    const response = await client.get(`/posts/${post.id}`, { accept: 'json' })
    expect(response.json).to.include({ id: post.id, title: 'First' })
  })
})
