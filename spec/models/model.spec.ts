import { expect } from 'chai'
import { version } from 'uuid'
import type { Database } from '../../src/database/database.js'
import { newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'

describe('Model', () => {
  let database: Database

  beforeEach(async () => (database = await openBlogDatabase()))
  afterEach(() => database.close())

  it('has an id of UUID version 7 and dates with milliseconds, before and after it is loaded', async () => {
    const before = Date.now()
    const post = await database.manager.save(newPost('one'))
    expect(version(post.id)).to.equal(7)
    expect(post.created_at.getTime()).to.be.within(before, Date.now())
    expect(post.updated_at).to.deep.equal(post.created_at)
    const found = await database.manager.findOneByOrFail(Post, { id: post.id })
    expect(found).to.deep.equal(post)
  })

  it('keeps an assigned id', async () => {
    const id = '01a1f9dd-cc70-77ba-8126-083f65750f7f'
    const post = await database.manager.save(Object.assign(newPost('one'), { id }))
    expect(post.id).to.equal(id)
  })

  it('updates its timestamp when it changes, and only then', async () => {
    const { id, created_at } = await database.manager.save(newPost('one'))
    await new Promise((resolve) => setTimeout(resolve, 5))
    const unchanged = await database.manager.save(await database.manager.findOneByOrFail(Post, { id }))
    expect(unchanged.updated_at).to.deep.equal(created_at)
    const changed = await database.manager.save(Object.assign(unchanged, { title: 'two' }))
    expect(changed.updated_at.getTime()).to.be.greaterThan(created_at.getTime())
    expect(changed.created_at).to.deep.equal(created_at)
  })

  it('adds ids and dates to rows that are written in bulk', async () => {
    await database.manager.insert(Post, [{ title: 'one' }, { title: 'two' }])
    const inserted = await database.manager.find(Post)
    expect(inserted.map(({ id }) => version(id))).to.deep.equal([7, 7])
    await new Promise((resolve) => setTimeout(resolve, 5))
    await database.manager.update(Post, { title: 'one' }, { description: 'changed' })
    const changed = await database.manager.findOneByOrFail(Post, { title: 'one' })
    expect(changed.updated_at.getTime()).to.be.greaterThan(changed.created_at.getTime())
  })
})
