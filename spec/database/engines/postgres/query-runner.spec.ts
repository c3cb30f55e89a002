import { expect } from 'chai'
import type { QueryRunner } from 'typeorm'
import type { Database } from '../../../../src/database/database.js'
import { newPost, openBlogDatabase, Post } from '../../../support/applications/blog-database.js'
import { engine } from '../../../support/engine.js'
import { failure } from '../../../support/failure.js'

/** Inserts a post whose id and title are the values. */
const INSERT = 'INSERT INTO posts (id, created_at, updated_at, title) VALUES ($1, now(), now(), $2)'

if (engine === 'postgres') {
  describe('A transaction on PostgreSQL', () => {
    let database: Database
    let runner: QueryRunner

    beforeEach(async () => {
      database = await openBlogDatabase()
      runner = database.createQueryRunner()
    })
    afterEach(async () => {
      await runner.release()
      await database.close()
    })

    /** `I` outside of a transaction, `T` in one, `E` in one that has failed. */
    async function status(): Promise<string> {
      const connection: { getTransactionStatus(): string } = await runner.connect()
      return connection.getTransactionStatus()
    }

    const insert = (title: string): Promise<unknown> => runner.query(INSERT, [crypto.randomUUID(), title])

    it('begins with its first statement, with or without values', async () => {
      for (const statement of [() => insert('one'), () => runner.query('DELETE FROM posts')]) {
        await runner.startTransaction()
        expect(await status()).to.equal('I')
        await statement()
        expect(await status()).to.equal('T')
        await runner.rollbackTransaction()
        expect(await status()).to.equal('I')
      }
      expect(await database.manager.count(Post)).to.equal(0)
    })

    it('begins with the first of concurrent statements, and returns to each its own result', async () => {
      await runner.startTransaction()
      const [one, two] = await Promise.all([
        runner.query('SELECT $1::int AS number', [1]),
        runner.query('SELECT $1::int AS number', [2]),
      ])
      expect([one, two]).to.deep.equal([[{ number: 1 }], [{ number: 2 }]])
      await runner.commitTransaction()
      expect(await status()).to.equal('I')
    })

    it('begins with a savepoint, and with a statement that the application sends itself', async () => {
      await runner.startTransaction()
      await runner.startTransaction()
      expect(await status()).to.equal('T')
      await runner.rollbackTransaction()
      await runner.rollbackTransaction()

      await runner.startTransaction()
      const connection: { query(sql: string, done: () => void): void } = await runner.connect()
      await new Promise<void>((done) => connection.query('DELETE FROM posts', done))
      expect(await status()).to.equal('T')
      await runner.rollbackTransaction()
    })

    it('has begun if its first statement fails, so that nothing is written outside of it', async () => {
      const { id } = await database.manager.save(newPost('one'))
      await runner.startTransaction()
      expect(await failure(runner.query(INSERT, [id, 'two']))).to.have.property('code', '23505')
      expect(await failure(insert('three'))).to.have.property('code', '25P02')
      await runner.rollbackTransaction()
      expect(await database.manager.count(Post)).to.equal(1)
    })

    it('is rolled back, and never continued by another request, if its runner is released before it ends', async () => {
      await runner.startTransaction()
      await insert('one')
      await runner.release()
      runner = database.createQueryRunner()
      expect(await status()).to.equal('I')
      expect(await database.manager.count(Post)).to.equal(0)
    })

    it('sends nothing if it has no statements', async () => {
      for (const end of ['commitTransaction', 'rollbackTransaction'] as const) {
        await runner.startTransaction()
        await runner[end]()
        expect(runner.isTransactionActive).to.equal(false)
        await insert(`committed at once, after ${end}`)
        expect(await status()).to.equal('I')
      }
      expect(await database.manager.count(Post)).to.equal(2)
    })

    it('does not begin for the next user of its connection', async () => {
      const connection: unknown = await runner.connect()
      await runner.startTransaction()
      await runner.release()
      runner = database.createQueryRunner()
      expect(await runner.connect()).to.equal(connection)
      await insert('committed at once')
      expect(await status()).to.equal('I')
    })
  })
}
