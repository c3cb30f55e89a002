import Sqlite from 'better-sqlite3'
import { expect } from 'chai'
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { kit, newApplication, root, type Run } from '../../support/kit.js'
import { freePort } from '../../support/servers/free-port.js'

describe('kit db', function () {
  let application: Awaited<ReturnType<typeof newApplication>>
  let file: string

  before(async () => {
    application = await newApplication()
    file = join(application.folder, 'db/development.sqlite')
    for (const folder of ['src/models', 'migrations']) {
      cpSync(join(root, 'examples/blog', folder), join(application.folder, folder), { recursive: true })
    }
  })

  after(() => application.remove())

  const db = (...args: string[]): Promise<Run> => kit(application.folder, ['db', ...args])
  const written = (output: string): Run => ({ status: 0, output, errors: '' })
  const rejected = (errors: string): Run => ({ status: 1, output: '', errors })

  it('reports a missing database', async () => {
    for (const step of ['status', 'rollback', 'seed']) {
      expect(await db(step)).to.deep.equal(
        rejected('The database db/development.sqlite does not exist. Create it with `kit db migrate`.'),
      )
    }
    expect(existsSync(file)).to.equal(false)
  })

  it('creates the database once', async () => {
    expect(await db('create')).to.deep.equal(written('created db/development.sqlite'))
    expect(await db('create')).to.deep.equal(written('The database db/development.sqlite already exists.'))
  })

  it('migrates, and lists the migrations that it has run', async () => {
    expect(await db('status')).to.deep.equal(
      written(
        'STATUS  | MIGRATION\npending | CreatePosts1795132800000\npending | CreateComments1795132801000',
      ),
    )
    expect(await db('migrate')).to.deep.equal(
      written('migrated CreatePosts1795132800000\nmigrated CreateComments1795132801000'),
    )
    expect(await db('migrate')).to.deep.equal(written('There are no pending migrations.'))
    expect(await db('status')).to.deep.equal(
      written('STATUS | MIGRATION\nrun    | CreatePosts1795132800000\nrun    | CreateComments1795132801000'),
    )
  })

  it('rolls back the last migration, or several', async () => {
    expect(await db('rollback')).to.deep.equal(written('rolled back CreateComments1795132801000'))
    await db('migrate')
    expect(await db('rollback', '--steps', '2')).to.deep.equal(
      written('rolled back CreateComments1795132801000\nrolled back CreatePosts1795132800000'),
    )
    expect(await db('rollback')).to.deep.equal(written('There are no migrations to roll back.'))
    expect((await db('rollback', '--steps', '0')).errors).to.include('Use a number from 1.')
  })

  it('rolls back with the last build if the application does not compile', async () => {
    await db('migrate')
    const broken = join(application.folder, 'src/broken.ts')
    writeFileSync(broken, 'export const broken: number = true')
    const { status, output, errors } = await db('rollback')
    writeFileSync(broken, 'export {}')
    expect({ status, output, errors }).to.deep.equal({
      status: 0,
      output: 'rolled back CreateComments1795132801000',
      errors: 'The application does not compile. Its last build is used instead.',
    })
    await db('migrate')
  })

  it('lists a migration that was edited after it was run, and advises a reset or another migration', async () => {
    await db('migrate')
    const path = join(application.folder, 'migrations/1795132801000_create_comments.ts')
    const original = readFileSync(path, 'utf8')
    writeFileSync(path, original.replace("'text'", "'string'"))
    expect(await db('status')).to.deep.equal(
      written('STATUS | MIGRATION\nrun    | CreatePosts1795132800000\nedited | CreateComments1795132801000'),
    )
    const advice = (reset: string): string =>
      'These migrations were edited after they were run: CreateComments1795132801000. ' +
      `The database lacks the changes. Undo them, and write another migration${reset}.`
    const output = 'There are no pending migrations.'
    const all = 'which deletes all records'
    expect(await db('migrate')).to.deep.equal({
      status: 0,
      output,
      errors: advice(`, or run \`npx kit db reset -y\`, ${all}`),
    })
    const other = (GO_ENV: string): Promise<Run> =>
      kit(application.folder, ['db', 'migrate'], { env: { GO_ENV, DATABASE_URL: `sqlite:${file}` } })
    expect((await other('test')).errors).to.equal(
      advice(`, or run \`GO_ENV=test npx kit db reset -y\`, ${all}`),
    )
    expect((await other('production')).errors).to.equal(advice(''))
    writeFileSync(path, original)
    expect(await db('migrate')).to.deep.equal(written(output))
  })

  it('runs src/seeds.ts in a transaction', async () => {
    await db('migrate')
    const seeds = join(application.folder, 'src/seeds.ts')
    expect((await db('seed')).errors).to.match(
      /^There is no src\/seeds\.ts\. Write it: export async function seed\(/,
    )
    const head = "import type { EntityManager } from 'typeorm'\nimport { Post } from './models/post.js'\n"
    const body = "{ await tx.save(tx.create(Post, { title: 'Seeded' })) }"
    writeFileSync(seeds, `${head}export async function seed(tx: EntityManager) ${body}`)
    expect(await db('seed')).to.deep.equal(written('src/seeds.ts has been run.'))
    writeFileSync(seeds, readFileSync(seeds, 'utf8').replace(/ \}$/, `; throw new Error('no') }`))
    expect((await db('seed')).status).to.equal(1)
    expect(rows()).to.deep.equal([{ title: 'Seeded' }])
    rmSync(seeds)
  })

  it('does not drop or reset without confirmation', async () => {
    for (const step of ['drop', 'reset']) {
      expect(await db(step)).to.deep.equal(
        rejected(
          '"Delete db/development.sqlite with all its records?" needs an answer, but there is no terminal. Pass -y to answer yes.',
        ),
      )
    }
    expect(rows()).to.have.length(1)
  })

  it('does not drop or reset in production without --force', async () => {
    for (const step of ['drop', 'reset']) {
      const { status, errors } = await kit(application.folder, ['db', step, '-y'], {
        env: { GO_ENV: 'production', DATABASE_URL: `sqlite:${file}` },
      })
      expect(status).to.equal(1)
      expect(errors).to.equal(
        `kit db ${step} deletes all records, and the environment is production. Use --force to run it anyway.`,
      )
    }
    expect(rows()).to.have.length(1)
  })

  it('resets the database: drops, creates and migrates it', async () => {
    expect(await db('reset', '-y')).to.deep.equal(
      written(
        'deleted db/development.sqlite\ncreated db/development.sqlite\nmigrated CreatePosts1795132800000\nmigrated CreateComments1795132801000',
      ),
    )
    expect(rows()).to.deep.equal([])
  })

  it('drops the database', async () => {
    expect(await db('drop', '-y')).to.deep.equal(written('deleted db/development.sqlite'))
    expect(existsSync(file)).to.equal(false)
    expect((await db('drop', '-y')).status).to.equal(1)
  })

  it('lists the replicas while the primary does not respond', async () => {
    const [primary, replica] = [await freePort(), await freePort()]
    const env = {
      DATABASE_URL: `postgres://127.0.0.1:${primary}/notes`,
      DATABASE_REPLICA_URLS: `postgres://127.0.0.1:${replica}/notes`,
    }
    const { status, output, errors } = await kit(application.folder, ['db', 'replicas'], { env })
    expect({ status, output, errors }).to.deep.equal({
      status: 1,
      output: `SERVER          | LAG | STATE\n127.0.0.1:${replica} |     | left out: nothing listens there`,
      errors:
        `The primary postgres://127.0.0.1:${primary}/notes does not respond: nothing listens there. ` +
        'Without it, no lag is known, and no process can start. Start it, or promote a replica.',
    })
  })

  it('reports an unknown step', async () => {
    expect(await db('migrat')).to.deep.equal(
      rejected(
        'There is no command "db migrat". Known commands: migrate, rollback, status, check, replicas, create, drop, reset, seed.',
      ),
    )
  })

  it('shows compile errors, and changes nothing', async () => {
    const broken = join(application.folder, 'src/broken.ts')
    writeFileSync(broken, 'export const broken: number = true')
    const { status, errors } = await db('migrate')
    writeFileSync(broken, 'export {}')
    expect(status).to.equal(1)
    expect(errors).to.match(/^The application does not compile:\nsrc\/broken.ts\(1,14\): error TS2322/)
    expect(existsSync(file)).to.equal(false)
  })

  function rows(): unknown[] {
    const database = new Sqlite(file, { readonly: true })
    try {
      return database.prepare('SELECT title FROM posts').all()
    } finally {
      database.close()
    }
  }
})
