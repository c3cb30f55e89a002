import { expect } from 'chai'
import { describeResource } from 'resource-kit/testing'
import { Post } from '../../src/models/post.js'
import { User } from '../../src/models/user.js'
import { client, factory, isolate } from '../support/app.js'
import { makeUser, signIn, signOut } from '../support/users.js'

describe('PostsResource', () => {
  // Undoes what a test changes.
  isolate()

  let owner: User

  before(async () => {
    owner = await makeUser()
    await signIn(client, owner)
  })

  // Tests the handlers in each format.
  describeResource(client, {
    name: 'post',
    path: '/posts',
    make: (given: Partial<Post>) => factory.make(Post, given),
    within: () => ({ user_id: owner.id }),
    values: { title: 'First', body: 'First line' },
    changes: { title: 'Second', body: 'Second line' },
    required: ['title'],
    locking: true,
    asVisitor: () => signOut(client),
    asOther: async () => signIn(client, await makeUser()),
  })

  // Add tests of what only your posts do, like this one:
  it('shows the values of a post', async () => {
    const post = await factory.make(Post, { user_id: owner.id, title: 'First' })
    const response = await client.get(`/posts/${post.id}`, { accept: 'json' })
    expect(response.json).to.include({ id: post.id, title: 'First' })
  })
})
