import { expect } from 'chai'
import type { Database } from '../../src/database/database.js'
import { blogDatabase, newPost, openBlogDatabase, Post } from '../support/applications/blog-database.js'
import { newDatabase } from '../support/databases.js'
import { engine } from '../support/engine.js'
import { failure } from '../support/failure.js'

describe(`Text on ${engine}`, () => {
  let database: Database
  afterEach(() => database.close())

  const titles = ['Anna', 'anna', 'anna ', 'änna', '😀', '😁', 'ﬁn', 'fin']

  it('is stored and compared exactly: case, accents, trailing spaces, emoji', async () => {
    database = await openBlogDatabase()
    await expectLetters()
  })

  it('can be longer than 64 KB in a text column', async () => {
    database = await openBlogDatabase()
    const description = '😀'.repeat(50_000)
    const { id } = await database.manager.save(Object.assign(newPost('long'), { description }))
    expect((await database.manager.findOneByOrFail(Post, { id })).description).to.equal(description)
  })

  if (engine === 'mariadb') {
    it('is the same in a database with another character set', async () => {
      database = blogDatabase(await newDatabase())
      await database.open()
      await database.query('ALTER DATABASE CHARACTER SET latin1 COLLATE latin1_swedish_ci')
      await database.migrate()
      await expectLetters()
    })

    it("is rejected if it is too long, and never truncated, whatever the server's settings", async () => {
      database = await openBlogDatabase()
      const error = await failure(database.manager.save(newPost('x'.repeat(256))))
      expect(String(error)).to.contain('too long')
      const [row] = await database.query('SELECT @@sql_mode AS mode, @@time_zone AS zone')
      expect(row.mode).to.contain('STRICT_ALL_TABLES')
      expect(row.zone).to.equal('+00:00')
    })

    it('is the same on MariaDB with both of the schemes that its url may have', async () => {
      const url = await newDatabase()
      for (const protocol of ['mysql:', 'mariadb:']) {
        database = await blogDatabase(url.replace(/^\w+:/, protocol)).open()
        expect(database.driver.normalizeType({ type: 'uuid' })).to.equal('uuid')
        await database.close()
      }
    })
  }

  async function expectLetters(): Promise<void> {
    for (const title of titles) await database.manager.save(newPost(title))
    for (const title of titles) {
      const found = await database.manager.findBy(Post, { title })
      expect(found.map((post) => post.title)).to.deep.equal([title])
    }
    expect(String(await failure(database.manager.save(newPost('😀'))))).to.match(/unique|duplicate/i)
  }
})
