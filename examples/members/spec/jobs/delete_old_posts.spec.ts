import { expect } from 'chai'
import { database } from '../../src/database.js'
import { jobs } from '../../src/jobs.js'
import { DeleteOldPosts } from '../../src/jobs/delete_old_posts.js'
import { Post } from '../../src/models/post.js'
import { factory, isolate } from '../support/app.js'
import '../support/users.js'

describe('DeleteOldPosts', () => {
  isolate()

  it('deletes the posts that nobody has changed for some days', async () => {
    const old = await factory.make(Post)
    const recent = await factory.make(Post)
    await database.manager.update(Post, { id: old.id }, { updated_at: new Date('2020-01-01T00:00:00Z') })
    await jobs.enqueue(database.manager, DeleteOldPosts, { days: 365 })
    expect(await jobs.drain()).to.deep.equal({ finished: 1, failed: [] })
    expect((await database.manager.find(Post)).map(({ id }) => id)).to.deep.equal([recent.id])
  })
})
