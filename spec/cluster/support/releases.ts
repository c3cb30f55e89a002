import '../../support/setup.js'
import { Column, Entity, Table, type MigrationInterface, type QueryRunner } from 'typeorm'
import {
  App,
  column,
  Database,
  Model,
  primaryKey,
  timestamps,
  transaction,
  type Context,
} from '../../../src/index.js'

// A column is added, renamed and removed. Each release works with the tables before and after its neighbors' migrations.

@Entity('posts')
class Post1 extends Model {
  @Column('varchar')
  title!: string
}

/** Writes a new column. */
@Entity('posts')
class Post2 extends Model {
  @Column('varchar')
  title!: string

  @Column('varchar', { nullable: true })
  note!: string | null
}

/** Writes both names of a column, and no longer the one that will be removed. */
@Entity('posts')
class Post3 extends Model {
  @Column('varchar', { nullable: true })
  title!: string | null

  @Column('varchar', { nullable: true })
  headline!: string | null
}

/** Uses the new name alone. */
@Entity('posts')
class Post4 extends Model {
  @Column('varchar', { nullable: true })
  headline!: string | null
}

class CreatePosts1795000000001 implements MigrationInterface {
  async up(runner: QueryRunner) {
    const columns = [primaryKey(runner), column(runner, 'title', 'string'), ...timestamps(runner)]
    await runner.createTable(new Table({ name: 'posts', columns }))
  }

  async down() {}
}

class AddNote1795000000002 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.query('ALTER TABLE posts ADD COLUMN note varchar')
  }

  async down() {}
}

class AddHeadline1795000000003 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.query('ALTER TABLE posts ADD COLUMN headline varchar, ALTER COLUMN title DROP NOT NULL')
  }

  async down() {}
}

class DropTitle1795000000004 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.query('UPDATE posts SET headline = title WHERE headline IS NULL')
    await runner.query('ALTER TABLE posts DROP COLUMN title, DROP COLUMN note')
  }

  async down() {}
}

const MODELS = [Post1, Post2, Post3, Post4]
const MIGRATIONS = [
  CreatePosts1795000000001,
  AddNote1795000000002,
  AddHeadline1795000000003,
  DropTitle1795000000004,
]

/** The values of a post in each release. */
const VALUES: ((title: string) => object)[] = [
  (title: string) => ({ title }),
  (title: string) => ({ title, note: 'new' }),
  (title: string) => ({ title, headline: title }),
  (title: string) => ({ headline: title }),
]

/** A host of a release. Its arguments are the settings of its database, and the number of the release: 1 to 4. */
const release = Number(process.argv[3]) - 1
const models = MODELS.slice(release, release + 1)
const database = new Database(
  { test: JSON.parse(process.argv[2] ?? ''), models, migrations: MIGRATIONS.slice(0, release + 1) },
  'test',
)
const [Post] = models
if (!Post) throw new Error('There is no such release.')
if (process.argv[4] === 'migrate') {
  await database.open()
  process.send?.(await database.migrate())
  await database.close()
  process.disconnect()
} else {
  const app = new App({ api: true, drainDelay: 2000 })
  app.use(transaction(database))
  app.post('/posts', async (ctx: Context) => {
    const { title } = ctx.request.body as { title: string }
    await ctx.tx.insert<object>(Post, VALUES[release]?.(title) ?? {})
    return ctx.respond(201, { json: { release } })
  })
  app.get('/posts', async (ctx: Context) => {
    const [post] = await ctx.tx.find(Post, { take: 1, order: { created_at: 'DESC' } })
    return ctx.respond({ json: post ?? {} })
  })
  process.send?.(await app.listen(0))
  process.once('SIGTERM', () => {
    void app.close().then(() => process.disconnect())
  })
}
