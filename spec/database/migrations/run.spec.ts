import { expect } from 'chai'
import { once } from 'node:events'
import { Table, TableColumn } from 'typeorm'
import type { MigrationInterface, QueryRunner } from 'typeorm'
import { Database } from '../../../src/database/database.js'
import { migrate, migrationStatus, rollback } from '../../../src/database/migrations/run.js'
import { DeclarationError, MigrationFailed } from '../../../src/errors.js'
import {
  Comment,
  CreateBlog1700000000000,
  edited,
  newPost,
  Post,
} from '../../support/applications/blog-database.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { failure } from '../../support/failure.js'
import { runProcess, startProcess } from '../../support/processes/second-process.js'

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

/** A statement that PostgreSQL does not run in a transaction. */
class IndexMood1700000000002 implements MigrationInterface {
  readonly transaction = false

  async up(runner: QueryRunner): Promise<void> {
    const how = engine === 'postgres' ? 'CONCURRENTLY' : ''
    await runner.query(`CREATE INDEX ${how} posts_mood ON posts (mood)`)
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.dropIndex('posts', 'posts_mood')
  }
}

class FailLate1700000000002 implements MigrationInterface {
  readonly transaction = false

  async up(runner: QueryRunner): Promise<void> {
    await runner.query("UPDATE posts SET description = 'changed'")
    throw new Error('this migration fails')
  }

  async down(): Promise<void> {}
}

/** The migration that the other process is running. */
class Slow1700000000003 implements MigrationInterface {
  async up(): Promise<void> {}

  async down(): Promise<void> {}
}

class CreateBlogAgain1700000000005 extends CreateBlog1700000000000 {}

class BreakReferences1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DELETE FROM posts')
  }

  async down(): Promise<void> {}
}

class ReferToNothing1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'CREATE TABLE pets (owner_id varchar(36), FOREIGN KEY (owner_id) REFERENCES owners (id))',
    )
  }

  async down(): Promise<void> {}
}

class DropPosts1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE posts')
  }

  async down(): Promise<void> {}
}

const BLOG = 'CreateBlog1700000000000'
const MOOD = 'AddMood1700000000001'
const FAIL = 'Fail1700000000002'
const SLOW = Slow1700000000003.name

describe('Migrations', () => {
  it('run oldest first, and only once', () =>
    withDatabase([AddMood1700000000001, CreateBlog1700000000000], async (database) => {
      expect(await migrate(database)).to.deep.equal([BLOG, MOOD])
      expect(await migrate(database)).to.deep.equal([])
    }))

  it('are rolled back last first, as many as requested', () =>
    withDatabase([CreateBlog1700000000000, AddMood1700000000001], async (database) => {
      await database.migrate()
      expect(await rollback(database)).to.deep.equal([MOOD])
      expect(await rollback(database, 5)).to.deep.equal([BLOG])
      expect(await database.rollback()).to.deep.equal([])
      expect(await hasTable(database, 'posts')).to.equal(false)
    }))

  it('list which of them have been run', () =>
    withDatabase([CreateBlog1700000000000, AddMood1700000000001], async (database) => {
      const states = async () =>
        (await migrationStatus(database)).map(({ name, executed }) => [name, executed])
      expect(await states()).to.deep.equal([
        [BLOG, false],
        [MOOD, false],
      ])
      expect(await hasTable(database, 'migrations')).to.equal(false)
      await database.migrate()
      await database.rollback()
      expect(await states()).to.deep.equal([
        [BLOG, true],
        [MOOD, false],
      ])
    }))

  if (engine === 'sqlite') {
    it('keep the child rows if a parent table is rebuilt, in both directions', () =>
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
  }

  describe('with a failing one', () => {
    const afterFailure = (work: (database: Database, error: Error) => Promise<void>): Promise<void> =>
      withDatabase([CreateBlog1700000000000], async (database, reopen) => {
        await database.migrate()
        await addComment(database)
        const broken = await reopen([CreateBlog1700000000000, AddMood1700000000001, Fail1700000000002])
        const reported: string[] = []
        const error = await failure(broken.migrate((name) => reported.push(name)))
        expect(error).to.be.instanceOf(MigrationFailed)
        expect(reported).to.deep.equal([MOOD])
        await work(broken, error as MigrationFailed)
      })

    it('keep those before it, which remain applied, and the others remain pending', () =>
      afterFailure(async (database, { message }) => {
        expect(message).to.contain(`The migration ${FAIL} cannot be run: this migration fails. `)
        const states = await database.migrationStatus()
        expect(states.map(({ executed }) => executed)).to.deep.equal([true, true, false])
      }))

    if (engine === 'mariadb') {
      it('report its remaining changes, because MariaDB cannot roll them back', () =>
        afterFailure(async (database, { message }) => {
          expect(message)
            .to.contain('MariaDB and MySQL cannot roll back a change of the schema')
            .and.to.contain('\n  CREATE TABLE `leftovers`')
            .and.to.contain('\n  DELETE FROM comments\n')
            .and.to.contain('Undo them by hand')
            .and.not.to.contain('SELECT')
          expect(await hasTable(database, 'leftovers')).to.equal(true)
          expect(await database.manager.count(Comment)).to.equal(0)
        }))
    } else {
      it('leave schema and rows unchanged', () =>
        afterFailure(async (database, { message }) => {
          expect(message).to.contain('Its changes were rolled back.')
          expect(await hasTable(database, 'leftovers')).to.equal(false)
          expect(await database.manager.count(Comment)).to.equal(1)
          if (engine === 'sqlite')
            expect(await database.query('PRAGMA foreign_keys')).to.deep.equal([{ foreign_keys: 1 }])
        }))
    }
  })

  describe('with `transaction = false`', () => {
    it('run and roll back without a transaction', () =>
      withDatabase(
        [CreateBlog1700000000000, AddMood1700000000001, IndexMood1700000000002],
        async (database) => {
          const { name } = IndexMood1700000000002
          expect(await database.migrate()).to.deep.equal([BLOG, MOOD, name])
          expect(await database.migrate()).to.deep.equal([])
          expect(await database.rollback(2)).to.deep.equal([name, MOOD])
        },
      ))

    it('report the remaining changes of a failing one', () =>
      withDatabase([CreateBlog1700000000000], async (database, reopen) => {
        await database.migrate()
        await addComment(database)
        const broken = await reopen([CreateBlog1700000000000, FailLate1700000000002])
        expect(String(await failure(broken.migrate())))
          .to.contain('This migration runs without a transaction')
          .and.to.contain("\n  UPDATE posts SET description = 'changed'\n")
        expect((await broken.manager.find(Post))[0]?.description).to.equal('changed')
        expect((await broken.migrationStatus())[1]?.executed).to.equal(false)
      }))
  })

  if (engine === 'sqlite') {
    it('reject to leave references to rows that do not exist', () =>
      withDatabase([CreateBlog1700000000000], async (database, reopen) => {
        await database.migrate()
        await addComment(database)
        const breaking = await reopen([CreateBlog1700000000000, BreakReferences1700000000002])
        expect(String(await failure(breaking.migrate()))).to.contain('comments to posts')
        expect(await breaking.manager.count(Post)).to.equal(1)
      }))
  }

  for (const [what, breaking] of Object.entries({
    'a table that never existed': ReferToNothing1700000000002,
    'a table that they drop': DropPosts1700000000002,
  })) {
    it(`reject to leave a foreign key to ${what}`, () =>
      withDatabase([CreateBlog1700000000000], async (database, reopen) => {
        await database.migrate()
        const broken = await reopen([CreateBlog1700000000000, breaking])
        const error = await failure(broken.migrate())
        expect(error).to.be.instanceOf(MigrationFailed)
        if (engine === 'sqlite') {
          const [table, parent] =
            breaking === DropPosts1700000000002 ? ['comments', 'posts'] : ['pets', 'owners']
          expect(String(error)).to.contain(
            `the migration leaves foreign keys to tables that do not exist: ${table} to ${parent}`,
          )
        }
        expect((await broken.migrationStatus())[1]?.executed).to.equal(false)
        const post = await broken.manager.save(newPost('parent'))
        await broken.manager.insert(Comment, { body: 'can be inserted', post_id: post.id })
      }))
  }

  if (engine === 'sqlite') {
    it('run although an earlier one has left a foreign key to a table that does not exist', () =>
      withDatabase([CreateBlog1700000000000, AddMood1700000000001], async (database) => {
        await database.query('CREATE TABLE pets (owner_id varchar REFERENCES owners (id))')
        expect(await database.migrate()).to.deep.equal([BLOG, MOOD])
      }))
  }

  it('list one whose file is missing, and reject to roll it back', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      const without = await reopen([])
      const error = await failure(without.rollback())
      expect(error).to.be.instanceOf(DeclarationError)
      expect(String(error)).to.contain(`"${BLOG}"`).and.to.contain('or run `kit db reset`')
      expect(await without.migrationStatus()).to.deep.equal([
        { name: BLOG, timestamp: 1700000000000, executed: true, missing: true, edited: false },
      ])
    }))

  it('reject a class whose name has no time, and two with the same name', async () => {
    class AddTags implements MigrationInterface {
      async up(): Promise<void> {}

      async down(): Promise<void> {}
    }
    const same = { [MOOD]: class extends AddTags {} }[MOOD] ?? AddTags
    for (const [migration, message] of [
      [
        AddTags,
        'The class of the migration "AddTags" needs a time at the end of its name, by which migrations are sorted: the 13 digits ' +
          'of `Date.now()`, like AddTags1795132800000. Begin the name of its file with the same number.',
      ],
      [
        same,
        `Two migrations have the class name "${MOOD}", by which the database records that a migration has been run. ` +
          'Give the later one another name and time, in its class and its file.',
      ],
    ] as const)
      await withDatabase([AddMood1700000000001, migration], async (database) => {
        for (const work of [migrate, migrationStatus, rollback]) {
          const error = await failure(work(database))
          expect(error).to.be.instanceOf(DeclarationError)
          expect(error).to.have.property('message', message)
        }
      })
  })

  it('list one that has been edited since it was run', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      expect((await database.migrationStatus()).map(({ edited }) => edited)).to.deep.equal([false])
      const again = await reopen([edited(CreateBlog1700000000000), AddMood1700000000001])
      await again.migrate()
      expect((await again.migrationStatus()).map(({ edited }) => edited)).to.deep.equal([true, false])
    }))

  it('are not edited if an earlier version of the framework has run them', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      await database.query('ALTER TABLE migrations DROP COLUMN checksum')
      const again = await reopen([edited(CreateBlog1700000000000), AddMood1700000000001])
      expect((await again.migrationStatus()).map(({ executed }) => executed)).to.deep.equal([true, false])
      expect(await again.migrate()).to.deep.equal([MOOD])
      expect((await again.migrationStatus()).map(({ edited }) => edited)).to.deep.equal([false, false])
    }))

  it('name the missing files if a table already exists', () =>
    withDatabase([CreateBlog1700000000000], async (database, reopen) => {
      await database.migrate()
      const again = await reopen([CreateBlogAgain1700000000005])
      const { message } = (await failure(again.migrate())) as Error
      expect(message)
        .to.contain('already exists')
        .and.to.contain(
          `The files of migrations that have been run are missing: ${BLOG}. ` +
            'Restore the file, or run `kit db reset`, which deletes all records.',
        )
    }))

  it('do not wait for a process that has run its own and continues', () =>
    withDatabase([CreateBlog1700000000000], async (database) => {
      await migrate(database)
      const { url } = database
      const other = await new Database(
        { test: { url }, migrations: [CreateBlog1700000000000] },
        'test',
      ).open()
      expect(await migrate(other)).to.deep.equal([])
      await other.close()
    }))

  it('do not wait for those of another database', () =>
    withDatabase([CreateBlog1700000000000], async (other) => {
      const run: string[][] = []
      class MigrateOther1700000000000 implements MigrationInterface {
        async up(): Promise<void> {
          run.push(await migrate(other))
        }

        async down(): Promise<void> {}
      }
      await withDatabase([MigrateOther1700000000000], async (database) => {
        await migrate(database)
      })
      expect(run).to.deep.equal([[BLOG]])
    }))

  describe('in several processes', () => {
    let url: string
    beforeEach(async () => {
      url = await newDatabase()
    })

    it('run in one of them only', async () => {
      const other = startProcess('migrate', url, '500')
      const ended = once(other, 'close')
      await once(other.stdout, 'data')
      const migrations = [CreateBlog1700000000000, Slow1700000000003]
      const database = await new Database({ test: { url }, migrations }, 'test').open()
      expect(await database.migrate()).to.deep.equal([])
      expect((await database.migrationStatus()).map(({ executed }) => executed)).to.deep.equal([true, true])
      await database.close()
      expect(await ended).to.deep.equal([0, null])
    })

    it('can be listed while they run, and are run by the next process if one is killed', async () => {
      const first = startProcess('migrate', url, '60000')
      await once(first.stdout, 'data')
      const database = new Database({ test: { url }, migrations: [CreateBlog1700000000000] }, 'test')
      await database.open()
      const states = await database.migrationStatus()
      expect(states).to.deep.equal([
        { name: BLOG, timestamp: 1700000000000, executed: true, missing: false, edited: false },
      ])
      await database.close()

      const second = runProcess('migrate', url, '0')
      first.kill('SIGKILL')
      expect((await second).split('\n')).to.deep.equal(['migrating', JSON.stringify([SLOW]), ''])
    })
  })
})

type Migrations = (new () => MigrationInterface)[]

async function withDatabase(
  migrations: Migrations,
  work: (database: Database, reopen: (migrations: Migrations) => Promise<Database>) => Promise<void>,
): Promise<void> {
  const url = await newDatabase()
  const opened: Database[] = []
  const open = async (migrations: Migrations): Promise<Database> => {
    await Promise.all(opened.map((database) => database.close()))
    const database = new Database({ test: { url }, models: [Post, Comment], migrations }, 'test')
    opened.push(database)
    return database.open()
  }
  try {
    await work(await open(migrations), open)
  } finally {
    await Promise.all(opened.map((database) => database.close()))
  }
}

async function addComment(database: Database): Promise<void> {
  const post = await database.manager.save(newPost('parent'))
  await database.manager.insert(Comment, { body: 'kept', post_id: post.id })
}

/** Comments that are deleted with their post: a rebuilt table would delete them. */
async function makeCascading(database: Database): Promise<void> {
  await database.query('DROP TABLE comments')
  await database.query(
    'CREATE TABLE comments (id varchar PRIMARY KEY, body text, post_id varchar REFERENCES posts (id) ON DELETE CASCADE, ' +
      'created_at datetime, updated_at datetime)',
  )
}

async function hasTable(database: Database, name: string): Promise<boolean> {
  const runner = database.createQueryRunner()
  return runner.hasTable(name).finally(() => runner.release())
}
