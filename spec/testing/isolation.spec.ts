import { expect } from 'chai'
import type { Database } from '../../src/database/database.js'
import { expectQueries, Isolation } from '../../src/testing/index.js'
import { newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { failure } from '../support/failure.js'

describe('Isolation', () => {
  let database: Database
  let isolation: Isolation

  beforeEach(async () => {
    database = await openBlogDatabase()
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

  it('undoes all changes since the mark, and keeps earlier ones', async () => {
    await database.manager.save(newPost('before'))
    await isolation.mark()
    await database.manager.save(newPost('after'))
    expect(await titles()).to.deep.equal(['after', 'before'])
    await isolation.undo()
    expect(await titles()).to.deep.equal(['before'])
  })

  it('undoes committed transactions', async () => {
    await isolation.mark()
    await database.transaction((tx) => tx.save(newPost('committed')))
    expect(await titles()).to.deep.equal(['committed'])
    await isolation.undo()
    expect(await titles()).to.deep.equal([])
  })

  it('rolls back only the failing transaction', async () => {
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

  it('survives a failing statement', async () => {
    await database.manager.save(newPost('same'))
    await failure(database.manager.save(newPost('same')))
    await failure(database.query('SELECT title FROM missing_table'))
    expect(await titles()).to.deep.equal(['same'])
  })

  it('waits for no other rollback after that of a failed transaction', async () => {
    await failure(database.transaction((tx) => tx.query('SELECT title FROM missing_table')))
    const ended: string[] = []
    const statement = database.query('SELECT title FROM posts').then(() => ended.push('statement'))
    await database.transaction((tx) => tx.query('SELECT title FROM posts'))
    ended.push('transaction')
    await statement
    expect(ended).to.deep.equal(['statement', 'transaction'])
  })

  it('runs statements outside of a transaction whose statement has just failed', async () => {
    await database.manager.save(newPost('same'))
    const transaction = database.createQueryRunner()
    await transaction.startTransaction()
    await failure(transaction.query('INSERT INTO posts (title) SELECT title FROM missing_table'))
    const other = database.query('SELECT count(*) AS count FROM posts')
    await transaction.rollbackTransaction()
    await transaction.release()
    const [row] = await other
    expect(Number(row.count)).to.equal(1)
  })

  it('runs transactions one after the other, so that none undoes the work of another', async () => {
    const write = (index: number) =>
      database.transaction(async (tx) => {
        await tx.save(newPost(`post ${index}`))
        if (index % 2 === 1) throw new Error('half of them fail')
      })
    await Promise.allSettled([0, 1, 2, 3, 4, 5].map(write))
    expect(await titles()).to.deep.equal(['post 0', 'post 2', 'post 4'])
  })

  it('ends an abandoned transaction together with its runner', async () => {
    const runner = database.createQueryRunner()
    await runner.startTransaction()
    await runner.manager.save(newPost('forgotten'))
    await runner.release()
    await database.transaction((tx) => tx.save(newPost('next')))
    expect(await titles()).to.deep.equal(['next'])
  })

  it('leaves no rows in the database when it ends', async () => {
    await database.manager.save(newPost('gone'))
    await isolation.end()
    expect(await titles()).to.deep.equal([])
    await database.manager.save(newPost('stays'))
    expect(await titles()).to.deep.equal(['stays'])
  })

  it('explains how to fix a second begin, and a mark before the begin', async () => {
    expect(String(await failure(isolation.begin()))).to.include('outermost describe')
    expect(String(await failure(new Isolation(database).mark()))).to.include('Call begin() first')
  })

  it('keeps the place of a query that waits for other ones', async () => {
    const count = () => database.transaction((tx) => tx.count(Post))
    const error = await failure(expectQueries(0, () => Promise.all([count(), count()])))
    expect(Object(error).message).to.match(/2 x at spec\/testing\/isolation\.spec\.ts:\d+: SELECT COUNT/)
  })
})
