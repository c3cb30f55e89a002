import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect } from 'chai'
import { Database } from '../../src/data/database.js'
import type { DatabaseConfig } from '../../src/data/database.js'
import { DeclarationError } from '../../src/errors.js'
import { inFolder } from '../support/blog-data.js'
import { failure } from '../support/failure.js'

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
    test: { url: 'sqlite:///tmp/test.sqlite' },
    staging: { url: 'sqlite::memory:' },
  }

  it('is that of GO_ENV, else of NODE_ENV, else of development', () => {
    expect(file(config)).to.equal(resolve('db/development.sqlite'))
    process.env['NODE_ENV'] = 'test'
    expect(file(config)).to.equal('/tmp/test.sqlite')
    process.env['GO_ENV'] = 'staging'
    expect(file(config)).to.equal(':memory:')
    expect(file(config, 'development')).to.equal(resolve('db/development.sqlite'))
  })

  it('is that of DATABASE_URL, if there is one', () => {
    process.env['DATABASE_URL'] = 'sqlite:elsewhere.sqlite'
    expect(file(config)).to.equal(resolve('elsewhere.sqlite'))
    expect(file({}, 'unknown')).to.equal(resolve('elsewhere.sqlite'))
  })

  it('must be declared', () => {
    expect(() => new Database(config, 'production')).to.throw(
      DeclarationError,
      'ormconfig.ts has no database for the environment "production". It knows: development, test, staging. ' +
        'Add one, or set DATABASE_URL.',
    )
  })

  for (const url of ['oracle://scott:tiger@host/db', 'db/test.sqlite', 'sqlite:', 'sqlite://', '']) {
    it(`refuses the url ${JSON.stringify(url)}`, () => {
      expect(() => new Database({ test: { url } }, 'test')).to.throw(DeclarationError)
    })
  }

  it('shows no password', () => {
    expect(() => new Database({ test: { url: 'oracle://scott:tig@er@host/db' } }, 'test'))
      .to.throw(DeclarationError, 'oracle://scott:***@host/db')
      .with.property('message')
      .that.contains('Known urls: sqlite:')
  })

  for (const [url, name] of [
    ['postgres://user:secret@127.0.0.1/blog', 'pg'],
    ['postgresql://user:secret@127.0.0.1/blog', 'pg'],
    ['mysql://user:secret@127.0.0.1/blog', 'mysql2'],
    ['mariadb://user:secret@127.0.0.1/blog', 'mysql2'],
  ] as const) {
    it(`takes ${url}, or says how to install its driver`, () => {
      try {
        expect(new Database({ test: { url } }, 'test').options.synchronize).to.equal(false)
      } catch (error) {
        expect(error).to.be.instanceOf(DeclarationError)
        expect(String(error)).to.contain(`npm install ${name}`).and.not.to.contain('secret')
      }
    })
  }

  it('opens once, however many ask, in a folder that it makes', () =>
    inFolder(async (folder) => {
      const database = new Database({ test: { url: `sqlite:${folder}/new/folder/a.sqlite` } }, 'test')
      const opened = await Promise.all([database.open(), database.open(), database.open()])
      expect(new Set(opened)).to.deep.equal(new Set([database]))
      expect(existsSync(join(folder, 'new/folder/a.sqlite'))).to.equal(true)
      await Promise.all([database.close(), database.close()])
      await database.close()
    }))

  it('can be opened after a try that has failed, and after it has been closed', () =>
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

  it('says whether it answers', async () => {
    const database = new Database(config, 'staging')
    expect(await database.ping()).to.equal(false)
    await database.open()
    expect(await database.ping()).to.equal(true)
    await database.close()
    expect(await database.ping()).to.equal(false)
  })
})

function file(config: DatabaseConfig, environment?: string): unknown {
  return new Database(config, environment).options.database
}
