import { expect } from 'chai'
import type { Database } from '../../src/data/database.js'
import { Isolation } from '../../src/testing/index.js'
import { newPost, openBlog, Post } from '../support/blog-data.js'
import { failure } from '../support/failure.js'

describe('Isolation', () => {
  let database: Database
  let isolation: Isolation

  beforeEach(async () => {
    database = await openBlog()
    isolation = new Isolation(database)
    await isolation.begin()
  })

  afterEach(async () => {
    await isolation.end()
    await database.close()
  })

  const titles = async () => {
    const posts = await database.manager.find(Post, { order: { title: 'ASC' } })
    return posts.map((post) => post.title)
  }

  it('undoes what was written since the mark, and keeps what came before it', async () => {
    await database.manager.save(newPost('before'))
    await isolation.mark()
    await database.manager.save(newPost('after'))
    expect(await titles()).to.deep.equal(['after', 'before'])
    await isolation.undo()
    expect(await titles()).to.deep.equal(['before'])
  })

  it('undoes what transactions have committed', async () => {
    await isolation.mark()
    await database.transaction((tx) => tx.save(newPost('committed')))
    expect(await titles()).to.deep.equal(['committed'])
    await isolation.undo()
    expect(await titles()).to.deep.equal([])
  })

  it('rolls a failing transaction back, and nothing else', async () => {
    await database.manager.save(newPost('kept'))
    const error = await failure(
      database.transaction(async (tx) => {
        await tx.save(newPost('lost'))
        await tx.transaction((inner) => inner.save(newPost('lost, too')))
        throw new Error('no')
      }),
    )
    expect(error).to.have.property('message', 'no')
    expect(await titles()).to.deep.equal(['kept'])
  })

  it('survives a statement that fails', async () => {
    await database.manager.save(newPost('same'))
    await failure(database.manager.save(newPost('same')))
    expect(await titles()).to.deep.equal(['same'])
  })

  it('lets transactions take turns, so that none undoes the work of another', async () => {
    const write = (index: number) =>
      database.transaction(async (tx) => {
        await tx.save(newPost(`post ${index}`))
        if (index % 2 === 1) throw new Error('half of them fail')
      })
    await Promise.allSettled([0, 1, 2, 3, 4, 5].map(write))
    expect(await titles()).to.deep.equal(['post 0', 'post 2', 'post 4'])
  })

  it('gives a forgotten transaction up with the runner that it was begun on', async () => {
    const runner = database.createQueryRunner()
    await runner.startTransaction()
    await runner.manager.save(newPost('forgotten'))
    await runner.release()
    await database.transaction((tx) => tx.save(newPost('next')))
    expect(await titles()).to.deep.equal(['next'])
  })

  it('leaves nothing in the database when it ends', async () => {
    await database.manager.save(newPost('gone'))
    await isolation.end()
    expect(await titles()).to.deep.equal([])
    await database.manager.save(newPost('stays'))
    expect(await titles()).to.deep.equal(['stays'])
  })

  it('says what to do when it begins twice, or is asked for a mark before it began', async () => {
    expect(String(await failure(isolation.begin()))).to.include('outermost describe')
    expect(String(await failure(new Isolation(database).mark()))).to.include('Call begin() first')
  })
})
