import { expect } from 'chai'
import type { Database } from '../../src/data/database.js'
import { loadRelations } from '../../src/data/loading.js'
import { Comment, newPost, openBlog, Post } from '../support/blog-data.js'

describe('loadRelations(tx, records, relations)', () => {
  let database: Database
  before(async () => {
    database = await openBlog()
  })
  after(() => database.close())

  async function comment(post: Post): Promise<Comment> {
    return database.manager.save(Object.assign(new Comment(), { body: 'text', post_id: post.id }))
  }

  it('loads what records refer to with one query', async () => {
    const [one, two] = await database.manager.save([newPost('one'), newPost('two')])
    if (!one || !two) throw new Error('the posts were not saved')
    const comments = [await comment(one), await comment(two), await comment(one)]
    const queries = await countQueries(() => loadRelations(database.manager, comments, ['post']))
    expect(comments.map(({ post }) => post?.title)).to.deep.equal(['one', 'two', 'one'])
    expect(queries).to.equal(1)
  })

  it('is null where there is no key, and asks nothing then', async () => {
    const orphan = new Comment()
    expect(await countQueries(() => loadRelations(database.manager, [orphan], ['post']))).to.equal(0)
    expect(orphan.post).to.equal(null)
    expect(await countQueries(() => loadRelations(database.manager, [], ['post']))).to.equal(0)
  })

  it('refuses what is no relation with a key', async () => {
    const error = await loadRelations(database.manager, [new Comment()], ['body']).catch(
      (reason: unknown) => reason,
    )
    expect(String(error)).to.equal(
      'UnknownRelation: Comment has no relation "body" with a key of its own. Declare it: @ManyToOne and @JoinColumn.',
    )
  })

  async function countQueries(work: () => Promise<unknown>): Promise<number> {
    let count = 0
    const { findBy } = database.manager
    database.manager.findBy = function (...args) {
      count += 1
      return Reflect.apply(findBy, this, args)
    }
    try {
      await work()
      return count
    } finally {
      database.manager.findBy = findBy
    }
  }
})
