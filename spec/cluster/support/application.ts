import { setTimeout as delay } from 'node:timers/promises'
import {
  Column,
  Entity,
  PrimaryColumn,
  Table,
  VersionColumn,
  type MigrationInterface,
  type QueryRunner,
} from 'typeorm'
import {
  App,
  BaseResource,
  column,
  Database,
  databaseSessions,
  idempotency,
  idempotencyKeysTable,
  Model,
  Present,
  primaryKey,
  Resource,
  sessionsTable,
  timestamps,
  transaction,
  type Context,
  type DatabaseConfig,
  type DatabaseSettings,
} from '../../../src/index.js'
import { databaseLimits, rateLimit, rateLimitsTable } from '../../../src/auth/index.js'
import { Job, jobQueue, jobTables, type JobContext } from '../../../src/jobs/index.js'

@Entity('posts')
export class Post extends Model {
  @Column('varchar')
  @Present()
  title!: string
}

/** Saved only with the version that a client has read. */
@Entity('pages')
export class Page extends Model {
  @Column('varchar')
  title!: string

  @VersionColumn()
  lock_version!: number
}

@Entity('counters')
export class Counter {
  @PrimaryColumn('varchar', { length: 20 })
  id!: string

  @Column('int')
  count!: number
}

export class CreateTables1795000000000 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(
      new Table({
        name: 'posts',
        columns: [primaryKey(runner), column(runner, 'title', 'string'), ...timestamps(runner)],
      }),
    )
    await runner.createTable(
      new Table({
        name: 'pages',
        columns: [
          primaryKey(runner),
          column(runner, 'title', 'string'),
          column(runner, 'lock_version', 'int', { default: '1' }),
          ...timestamps(runner),
        ],
      }),
    )
    // Other processes that migrate wait for this one.
    await delay(Number(process.env['SLOW_MIGRATION'] ?? 0))
    await runner.createTable(
      new Table({
        name: 'counters',
        columns: [
          column(runner, 'id', 'string', { isPrimary: true, length: '20' }),
          column(runner, 'count', 'int'),
        ],
      }),
    )
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('counters')
    await runner.dropTable('pages')
    await runner.dropTable('posts')
  }
}

export class CreateStores1795000000001 implements MigrationInterface {
  async up(runner: QueryRunner) {
    await runner.createTable(sessionsTable(runner))
    await runner.createTable(rateLimitsTable(runner))
    await runner.createTable(idempotencyKeysTable(runner))
    for (const table of jobTables(runner)) await runner.createTable(table)
    await runner.query("INSERT INTO counters (id, count) VALUES ('a', 0), ('b', 0)")
  }

  async down(runner: QueryRunner) {
    await runner.dropTable('job_schedules')
    await runner.dropTable('jobs')
    await runner.dropTable('idempotency_keys')
    await runner.dropTable('rate_limits')
    await runner.dropTable('sessions')
  }
}

/** Posts whose creation fails after the insert if the title says so. */
@Resource('/posts')
export class PostsResource extends BaseResource {
  override async list(ctx: Context) {
    const { records } = await ctx.paginate(Post)
    return ctx.respond({ json: records })
  }

  override async show(ctx: Context): Promise<void> {
    return ctx.respond({ json: await ctx.find(Post, ctx.params['post_id']) })
  }

  override async create(ctx: Context): Promise<void> {
    const post = ctx.bind(new Post(), ['title'])
    await ctx.save(post)
    if (post.title.startsWith('fails')) throw new Error('after the insert')
    return ctx.respond(201, { json: post })
  }
}

@Resource('/pages', { model: Page, fields: ['title'] })
export class PagesResource extends BaseResource {
  override async create(ctx: Context): Promise<void> {
    const page = ctx.bind(new Page())
    await ctx.save(page)
    return ctx.respond(201, { json: page })
  }

  override async update(ctx: Context): Promise<void> {
    const page = ctx.bind(await ctx.find(Page, ctx.params['page_id']))
    await ctx.save(page)
    return ctx.respond({ json: page })
  }
}

/** Counters that each PUT and POST increments. The session counts, too. */
@Resource('/counters')
export class CountersResource extends BaseResource {
  override async show(ctx: Context): Promise<void> {
    return ctx.respond({
      json: await ctx.tx.findOneByOrFail(Counter, { id: ctx.params['counter_id'] ?? '' }),
    })
  }

  override async update(ctx: Context): Promise<void> {
    const counter = await ctx.tx.findOneOrFail(Counter, {
      where: { id: ctx.params['counter_id'] ?? '' },
      lock: { mode: 'pessimistic_write' },
    })
    await ctx.tx.update(Counter, { id: counter.id }, { count: counter.count + 1 })
    return ctx.respond({ json: counter })
  }
}

/** Saves a copy of a post. */
@Job()
export class CopyPost {
  async perform({ post_id }: { post_id: string }, job: JobContext): Promise<void> {
    const { title } = await job.find(Post, post_id)
    await job.save(Object.assign(new Post(), { title: `copy of ${title}` }))
  }
}

/** The settings of the application's database. */
export function config(settings: DatabaseSettings): DatabaseConfig {
  return {
    test: settings,
    models: [Post, Page, Counter],
    migrations: [CreateTables1795000000000, CreateStores1795000000001],
  }
}

/**
 * The application under test.
 *
 * @param env `production` runs jobs
 */
export function application(database: Database, env = 'test'): App {
  const app = new App({
    env,
    sessionName: '_cluster_session',
    sessionStore: databaseSessions(database),
  })
  app.get('/session', (ctx) => ctx.respond({ json: { name: ctx.session['name'] ?? null } }))
  app.post('/session', (ctx) => {
    ctx.session['name'] = ctx.get('name')
    return ctx.respond(201, { json: {} })
  })
  const limited = app.group('/limited')
  const store = databaseLimits(database)
  limited.use(rateLimit({ to: 10, within: '10 minutes', by: (ctx) => ctx.get('key'), name: 'ten', store }))
  limited.get('/', (ctx) => ctx.respond({ json: {} }))
  app.use(transaction(database), idempotency(database))
  app.extend(jobQueue(database, { jobs: [CopyPost], lease: '2 seconds' }))
  app.get('/sleep', async (ctx) => {
    await ctx.tx.query(`SELECT pg_sleep(${Number(ctx.query['seconds'])})`)
    return ctx.respond({ json: {} })
  })
  app.post('/counters/:counter_id/increment', async (ctx) => {
    await ctx.tx.query(`UPDATE counters SET count = count + 1 WHERE id = '${ctx.params['counter_id']}'`)
    return ctx.respond({ json: {} })
  })
  app.post('/copies', async (ctx) => {
    const post = ctx.bind(new Post(), ['title'])
    await ctx.save(post)
    await ctx.enqueue(CopyPost, { post_id: post.id })
    if (post.title.startsWith('fails')) throw new Error('after the job')
    return ctx.respond(201, { json: post })
  })
  app.resource(PostsResource)
  app.resource(PagesResource)
  app.resource(CountersResource)
  return app
}
