import { expect } from 'chai'
import type { Database } from '../../src/data/database.js'
import { blogDatabase, newPost, openBlog, Post } from '../support/blog-data.js'
import { engine, newDatabase } from '../support/engine.js'
import { failure } from '../support/failure.js'

describe(`Text on ${engine}`, () => {
  let database: Database
  afterEach(() => database.close())

  const titles = ['Anna', 'anna', 'anna ', 'änna', '😀', '😁', 'ﬁn', 'fin']

  it('is kept and compared letter by letter: case, accents, spaces at the end, emoji', async () => {
    database = await openBlog()
    await expectLetters()
  })

  it('is longer than 64 KB where it is a text', async () => {
    database = await openBlog()
    const description = '😀'.repeat(50_000)
    const { id } = await database.manager.save(Object.assign(newPost('long'), { description }))
    expect((await database.manager.findOneByOrFail(Post, { id })).description).to.equal(description)
  })

  if (engine === 'mariadb') {
    it('is the same in a database of another character set', async () => {
      database = blogDatabase(await newDatabase())
      await database.open()
      await database.query('ALTER DATABASE CHARACTER SET latin1 COLLATE latin1_swedish_ci')
      await database.migrate()
      await expectLetters()
    })

    it('is refused where it is too long, and never cut, whatever the server says', async () => {
      database = await openBlog()
      const error = await failure(database.manager.save(newPost('x'.repeat(256))))
      expect(String(error)).to.contain('too long')
      const [row] = await database.query('SELECT @@sql_mode AS mode, @@time_zone AS zone')
      expect(row.mode).to.contain('STRICT_ALL_TABLES')
      expect(row.zone).to.equal('+00:00')
    })

    it('is that of a MariaDB, whichever of its two names the url says', async () => {
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
