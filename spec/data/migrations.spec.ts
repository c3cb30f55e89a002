import { expect } from 'chai'
import { Table, TableColumn } from 'typeorm'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import { Database } from '../../src/data/database.js'
import { migrate, migrationStatus, rollback } from '../../src/data/migrations.js'
import { DeclarationError } from '../../src/errors.js'
import { Comment, CreateBlog1700000000000, inFolder, newPost, Post } from '../support/blog-data.js'
import { failure } from '../support/failure.js'
import { runProcess } from '../support/second-process.js'

/** Its `down` drops a column, for which TypeORM rebuilds the table on SQLite. */
class AddMood1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.addColumn('posts', new TableColumn({ name: 'mood', type: 'varchar', isNullable: true }))
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropColumn('posts', 'mood')
  }
}

class Fail1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.createTable(new Table({ name: 'leftovers', columns: [{ name: 'id', type: 'integer' }] }))
    await runner.query('DELETE FROM comments')
    throw new Error('this migration fails')
  }

  async down(): Promise<void> {}
}

class BreakReferences1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM posts')
  }

  async down(): Promise<void> {}
}

const BLOG = 'CreateBlog1700000000000'
const MOOD = 'AddMood1700000000001'

describe('migrations', () => {
  it('run oldest first, and only once', () =>
    withDatabase([AddMood1700000000001, CreateBlog1700000000000], async (database) => {
      expect(await migrate(database)).to.deep.equal([BLOG, MOOD])
      expect(await migrate(database)).to.deep.equal([])
    }))

  it('are undone last first, as many as are asked for', () =>
    withDatabase([CreateBlog1700000000000, AddMood1700000000001], async (database) => {
      await database.migrate()
      expect(await rollback(database)).to.deep.equal([MOOD])
      expect(await rollback(database, 5)).to.deep.equal([BLOG])
      expect(await database.rollback()).to.deep.equal([])
      expect(await tables(database)).to.not.include('posts')
    }))

  it('tell which of them have been run', () =>
    withDatabase([CreateBlog1700000000000, AddMood1700000000001], async (database) => {
      const states = async () =>
        (await migrationStatus(database)).map(({ name, executed }) => [name, executed])
      expect(await states()).to.deep.equal([
        [BLOG, false],
        [MOOD, false],
      ])
      expect(await tables(database)).to.deep.equal([])
      await database.migrate()
      await database.rollback()
      expect(await states()).to.deep.equal([
        [BLOG, true],
        [MOOD, false],
      ])
    }))

  it('keep the child rows when a parent table is rebuilt, in both directions', () =>
    withDatabase([CreateBlog1700000000000, AddMood1700000000001], async (database) => {
      await database.migrate()
      await makeCascading(database)
      await addComment(database)
      await database.rollback()
      expect(await database.query('SELECT body FROM comments')).to.deep.equal([{ body: 'kept' }])
      await database.migrate()
      expect(await database.query('SELECT body FROM comments')).to.deep.equal([{ body: 'kept' }])
      expect(String(await failure(database.query('UPDATE comments SET post_id = 1')))).to.contain(
        'FOREIGN KEY',
      )
    }))

  it('leave schema and rows as they were when one fails, and keep those before it', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      await addComment(database)
      const broken = await reopen([CreateBlog1700000000000, AddMood1700000000001, Fail1700000000002])
      expect(String(await failure(broken.migrate()))).to.contain('this migration fails')
      expect(await tables(broken)).to.not.include('leftovers')
      expect(await broken.manager.count(Comment)).to.equal(1)
      expect((await broken.migrationStatus()).map(({ executed }) => executed)).to.deep.equal([
        true,
        true,
        false,
      ])
      expect(await broken.query('PRAGMA foreign_keys')).to.deep.equal([{ foreign_keys: 1 }])
    }))

  it('refuse to leave references to rows that do not exist', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      await addComment(database)
      const breaking = await reopen([CreateBlog1700000000000, BreakReferences1700000000002])
      expect(String(await failure(breaking.migrate()))).to.contain('comments to posts')
      expect(await breaking.manager.count(Post)).to.equal(1)
    }))

  it('refuse to undo one whose file is gone, and show it', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      const without = await reopen([])
      const error = await failure(without.rollback())
      expect(error).to.be.instanceOf(DeclarationError)
      expect(String(error)).to.contain(`"${BLOG}"`)
      expect(await without.migrationStatus()).to.deep.equal([
        { name: BLOG, timestamp: 1700000000000, executed: true, missing: true },
      ])
    }))

  it('are run by one of several processes that migrate at once', () =>
    inFolder(async (folder) => {
      const url = `sqlite:${folder}/blog.sqlite`
      const outputs = await Promise.all([1, 2, 3].map(() => runProcess('migrate', url)))
      expect(outputs.flatMap((output) => JSON.parse(output) as string[])).to.deep.equal([BLOG])
    }))
})

type Migrations = (new () => MigrationInterface)[]

async function withDatabase(
  migrations: Migrations,
  work: (database: Database, reopen: (migrations: Migrations) => Promise<Database>) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    const opened: Database[] = []
    const open = async (migrations: Migrations): Promise<Database> => {
      await Promise.all(opened.map((database) => database.close()))
      const settings = { url: `sqlite:${folder}/blog.sqlite`, logging: false }
      const database = new Database({ test: settings, models: [Post, Comment], migrations }, 'test')
      opened.push(database)
      return database.open()
    }
    try {
      await work(await open(migrations), open)
    } finally {
      await Promise.all(opened.map((database) => database.close()))
    }
  })
}

async function addComment(database: Database): Promise<void> {
  const post = await database.manager.save(newPost('parent'))
  await database.manager.insert(Comment, { body: 'kept', post_id: post.id })
}

/** Comments that go with their post: those that a rebuilt table would take along. */
async function makeCascading(database: Database): Promise<void> {
  await database.query('DROP TABLE comments')
  await database.query(
    'CREATE TABLE comments (id varchar PRIMARY KEY, body text, post_id varchar REFERENCES posts (id) ON DELETE CASCADE, ' +
      'created_at datetime, updated_at datetime)',
  )
}

async function tables(database: Database): Promise<string[]> {
  const rows = (await database.query(`SELECT name FROM sqlite_master WHERE type = 'table'`)) as {
    name: string
  }[]
  return rows.map(({ name }) => name).filter((name) => !name.startsWith('sqlite_'))
}
