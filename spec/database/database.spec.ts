import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import Sqlite from 'better-sqlite3'
import { Column, Entity } from 'typeorm'
import ormconfig from '../../ormconfig.js'
import { explain } from '../../src/cli/support/explain.js'
import { Database } from '../../src/database/database.js'
import type { DatabaseConfig } from '../../src/database/database.js'
import { explainConnectionError } from '../../src/database/engines/connection-errors.js'
import { Model } from '../../src/models/model.js'
import { DatabaseNotOpened, DeclarationError } from '../../src/errors.js'
import { failure } from '../support/failure.js'
import { runProcess } from '../support/processes/second-process.js'
import { inFolder } from '../support/temporary-folder.js'

describe('Database', () => {
  const environment = { ...process.env }
  beforeEach(() => {
    for (const name of ['DATABASE_URL', 'GO_ENV', 'NODE_ENV']) delete process.env[name]
  })
  after(() => {
    Object.assign(process.env, environment)
  })

  const config: DatabaseConfig = {
    development: { url: 'sqlite:db/development.sqlite' },
    test: { url: 'sqlite:///data/test.sqlite' },
    staging: { url: 'sqlite::memory:' },
  }

  it('is chosen by GO_ENV, by NODE_ENV, or is the one of development', () => {
    expect(file(config)).to.equal(resolve('db/development.sqlite'))
    process.env['NODE_ENV'] = 'test'
    expect(file(config)).to.equal('/data/test.sqlite')
    process.env['GO_ENV'] = 'staging'
    expect(file(config)).to.equal(':memory:')
    expect(file(config, 'development')).to.equal(resolve('db/development.sqlite'))
  })

  it('is the one of DATABASE_URL, if it is set', () => {
    process.env['DATABASE_URL'] = 'sqlite:elsewhere.sqlite'
    expect(file(config)).to.equal(resolve('elsewhere.sqlite'))
    expect(file({}, 'unknown')).to.equal(resolve('elsewhere.sqlite'))
  })

  it('is the one that ormconfig.ts names', async () => {
    const database = await new Database(ormconfig, 'test').open()
    expect(await database.ping()).to.equal(true)
    await database.close()
    expect(file(ormconfig)).to.equal(resolve('db/development.sqlite'))
  })

  it('finds models and migrations in a folder with the characters of patterns', () =>
    inFolder(async (parent) => {
      const folder = join(parent, 'Shop (1) [new] {a} +(b)?')
      mkdirSync(folder)
      writeFileSync(
        join(folder, 'create.mjs'),
        'export class Create1700000000000 {\n  async up() {}\n  async down() {}\n}\n',
      )
      const migrations = [join(folder, '*.mjs')]
      const database = await new Database({ test: { url: 'sqlite::memory:' }, migrations }, 'test').open()
      expect(database.migrations.map(({ constructor }) => constructor.name)).to.deep.equal([
        'Create1700000000000',
      ])
      await database.close()
    }))

  it('closes after the last part of the application has released it', async () => {
    const database = new Database({ test: { url: 'sqlite::memory:' } }, 'test')
    await Promise.all([database.hold(), database.hold()])
    await database.release()
    expect(database.isInitialized).to.equal(true)
    await database.release()
    expect(database.isInitialized).to.equal(false)
    await database.release()
    await database.hold()
    expect(database.isInitialized).to.equal(true)
    await database.release()
  })

  it('rejects a column type that its engine lacks with one sentence', async () => {
    @Entity('posts')
    class Post extends Model {
      // The type exists on other engines only.
      @Column('macaddr')
      title!: string
    }
    const database = new Database({ test: { url: 'sqlite::memory:' }, models: [Post] }, 'test')
    const error = await failure(database.open())
    expect(error).to.be.an.instanceOf(DeclarationError)
    expect(explain(error)).to.equal(
      'Data type "macaddr" in "Post.title" is not supported by "better-sqlite3" database.',
    )
  })

  it('must be declared', () => {
    expect(() => new Database(config, 'production')).to.throw(
      DeclarationError,
      'ormconfig.ts has no database for the environment "production". Configured: development, test, staging. ' +
        'Add the environment, or set DATABASE_URL.',
    )
  })

  for (const url of ['oracle://scott:tiger@host/db', 'db/test.sqlite', 'sqlite:', 'sqlite://', '']) {
    it(`rejects the url ${JSON.stringify(url)}`, () => {
      expect(() => new Database({ test: { url } }, 'test')).to.throw(DeclarationError)
    })
  }

  it('shows no password in its errors', () => {
    expect(() => new Database({ test: { url: 'oracle://scott:tig@er@host/db' } }, 'test'))
      .to.throw(DeclarationError, 'oracle://scott:***@host/db')
      .with.property('message')
      .that.contains('Supported URLs: sqlite:')
  })

  for (const [url, name] of [
    ['postgres://user:secret@127.0.0.1/blog', 'pg'],
    ['postgresql://user:secret@127.0.0.1/blog', 'pg'],
    ['mysql://user:secret@127.0.0.1/blog', 'mysql2'],
    ['mariadb://user:secret@127.0.0.1/blog', 'mysql2'],
  ] as const) {
    it(`accepts ${url}, or explains how to install its driver`, () => {
      try {
        expect(new Database({ test: { url } }, 'test').options.synchronize).to.equal(false)
      } catch (error) {
        expect(error).to.be.instanceOf(DeclarationError)
        expect(String(error)).to.contain(`npm install ${name}`).and.not.to.contain('secret')
      }
    })
  }

  it('opens once for concurrent calls, in a folder that it creates', () =>
    inFolder(async (folder) => {
      const database = new Database({ test: { url: `sqlite:${folder}/new/folder/a.sqlite` } }, 'test')
      const opened = await Promise.all([database.open(), database.open(), database.open()])
      expect(new Set(opened)).to.deep.equal(new Set([database]))
      expect(existsSync(join(folder, 'new/folder/a.sqlite'))).to.equal(true)
      await Promise.all([database.close(), database.close()])
      await database.close()
    }))

  it('can be opened after a failed attempt, and after it has been closed', () =>
    inFolder(async (folder) => {
      let url = `sqlite:${folder}`
      const failing = new Database({ test: { url } }, 'test')
      await failure(failing.open())
      await failure(failing.open())
      await failing.close()

      url = `sqlite:${folder}/a.sqlite`
      const database = new Database({ test: { url } }, 'test')
      await database.open()
      await database.close()
      await database.open()
      expect(await database.ping()).to.equal(true)
      await database.close()
    }))

  it("can be closed after it was opened by TypeORM's own initialize", async () => {
    const database = new Database(config, 'staging')
    await database.initialize()
    await database.close()
    expect(database.isInitialized).to.equal(false)
  })

  describe('when it cannot be opened', () => {
    it('names the file and the reason: a folder', () =>
      inFolder(async (folder) => {
        expect(await rejection(`sqlite:${folder}`)).to.equal(
          `The database ${folder} cannot be opened: it is a folder, or this process lacks the ` +
            'permission to read and write it. Check both, or set DATABASE_URL.',
        )
      }))

    it('names the file and the reason: a file instead of a folder', () =>
      inFolder(async (folder) => {
        writeFileSync(`${folder}/file`, '')
        expect(await rejection(`sqlite:${folder}/file/a.sqlite`)).to.equal(
          `The database ${folder}/file/a.sqlite cannot be opened: a part of its path is a file. ` +
            'Choose another path in ormconfig.ts, or set DATABASE_URL.',
        )
        expect(await rejection(`sqlite:${folder}/file/folder/a.sqlite`)).to.contain(
          'a part of its path is a file',
        )
      }))

    it('names the file and the reason: not a database', () =>
      inFolder(async (folder) => {
        writeFileSync(`${folder}/a.sqlite`, 'no database '.repeat(1000))
        expect(await rejection(`sqlite:${folder}/a.sqlite`)).to.contain(
          "a.sqlite cannot be opened: it isn't a SQLite",
        )
      }))

    it('names the file and the reason: locked by another process', () =>
      inFolder(async (folder) => {
        const other = new Sqlite(`${folder}/a.sqlite`)
        other.exec('BEGIN EXCLUSIVE')
        expect(await rejection(`sqlite:${folder}/a.sqlite`)).to.equal(
          `The database ${folder}/a.sqlite cannot be opened: another process has locked it. ` +
            'Stop that process, or end its transaction.',
        )
        other.close()
      }))

    it('names the file and the reason: not writable', () =>
      inFolder(async (folder) => {
        const path = `${folder}/a.sqlite`
        new Sqlite(path).exec('PRAGMA journal_mode = WAL').close()
        chmodSync(folder, 0o755)
        chmodSync(path, 0o444)
        const output = await runProcess('open-as-nobody', `sqlite:${path}`, `sqlite:${folder}/new/b.sqlite`)
        const errors = output.split('\n')
        expect(errors[0]).to.contain(
          `The database ${path} cannot be opened: its folder or its file is not writable`,
        )
        expect(errors[1]).to.contain(
          `The database ${folder}/new/b.sqlite cannot be opened: its folder or its file`,
        )
      }))

    it('names the host and the port, and never the password', () => {
      const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
      for (const [url, place] of [
        ['postgres://me:secret@db.example/blog', 'postgres://db.example:5432/blog'],
        ['mysql://me:secret@127.0.0.1:3333/blog', 'mysql://127.0.0.1:3333/blog'],
      ] as const) {
        for (const error of [refused, new AggregateError([refused, refused])]) {
          const explained = explainConnectionError(error, url)
          expect(explained).to.be.instanceOf(DatabaseNotOpened)
          expect(String(explained)).to.equal(
            `DatabaseNotOpened: The database ${place} cannot be opened: nothing listens there. ` +
              'Start the database server, or correct the url (ormconfig.ts, DATABASE_URL).',
          )
        }
      }
    })

    for (const [message, reason] of [
      ['SASL authentication failed', 'its server rejects the user or the password'],
      ['no such user: blog', 'its server has no such user'],
      ['no such database: blog', 'its server has no such database'],
    ])
      it(`explains the error of PgBouncer: ${message}`, () => {
        const explained = explainConnectionError(new Error(message), 'postgres://localhost/blog')
        expect(String(explained)).to.contain(`cannot be opened: ${reason}.`)
      })

    it('keeps any other error unchanged', () => {
      const error = new Error('something else')
      expect(explainConnectionError(error, 'postgres://localhost/blog')).to.equal(error)
    })
  })

  it('detects that its file has been deleted or replaced', () =>
    inFolder(async (folder) => {
      const url = `sqlite:${folder}/a.sqlite`
      const database = await new Database({ test: { url } }, 'test').open()
      expect(await database.ping()).to.equal(true)
      for (const file of readdirSync(folder)) rmSync(join(folder, file))
      expect(await database.ping()).to.equal(false)
      expect(String(await failure(database.check()))).to.contain(`${folder}/a.sqlite was deleted. Restart`)
      new Sqlite(`${folder}/a.sqlite`).exec('CREATE TABLE other (id int)').close()
      expect(String(await failure(database.check()))).to.contain('a.sqlite was replaced by another file')
      await database.close()
    }))

  it('checks whether it responds', async () => {
    const database = new Database(config, 'staging')
    expect(await database.ping()).to.equal(false)
    await database.open()
    expect(await database.ping()).to.equal(true)
    await database.close()
    expect(await database.ping()).to.equal(false)
  })
})

/** The error message for the database of this url. */
async function rejection(url: string): Promise<string> {
  const database = new Database({ test: { url, acquireTimeout: 50 } }, 'test')
  const error = await failure(database.open())
  expect(error).to.be.instanceOf(DatabaseNotOpened)
  return (error as Error).message
}

function file(config: DatabaseConfig, environment?: string): unknown {
  return new Database(config, environment).options.database
}
