import { expect } from 'chai'
import type { Next } from 'koa'
import { databaseLimits, rateLimit, rateLimitsTable } from '../../../src/auth/index.js'
import { App, Database, transaction, type Context, type Middleware } from '../../../src/index.js'
import { captureLog } from '../../../src/testing/index.js'
import { Shelf } from '../../support/applications/library.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { Site } from '../../support/site.js'

const json = { accept: 'application/json' }

async function loadShelves(ctx: Context, next: Next): Promise<void> {
  await ctx.tx.find(Shelf)
  await next()
}

interface Setup {
  site: Site
  log: ReturnType<typeof captureLog>
}

/** An application whose database has one connection. Nothing in it waits for less than a minute. */
async function withApp(
  env: string,
  middleware: (database: Database) => Middleware[],
  handler: (ctx: Context, database: Database) => unknown,
  work: (setup: Setup) => Promise<void>,
): Promise<void> {
  const settings = { url: await newDatabase(), pool: 1, acquireTimeout: 60_000 }
  const database = await new Database({ test: settings, models: [Shelf] }, 'test').open()
  await database.synchronize()
  const runner = database.createQueryRunner()
  await runner.createTable(rateLimitsTable(runner))
  await runner.release()
  const log = captureLog()
  const app = new App({ env, api: true, logger: log.logger })
  app.use(transaction(database, { checksMigrations: false }))
  for (const one of middleware(database)) app.use(one)
  for (const method of ['get', 'post'] as const) app[method]('/', (ctx) => handler(ctx, database))
  const site = await Site.open(app)
  try {
    await work({ site, log })
  } finally {
    await site.close()
  }
}

/** A limit whose key can be in the body. Any other runs before the transaction. */
const limit = (database: Database): Middleware =>
  rateLimit({
    name: 'all',
    to: 100,
    within: '1 minute',
    by: (ctx) => ctx.ip,
    store: databaseLimits(database),
  })

describe('Work of a request that waits for the transaction of the same request', () => {
  const ok = (ctx: Context) => {
    ctx.status = 204
  }

  for (const env of ['test', 'development', 'production'])
    it(`is an error that names both middlewares, and says what to do, in the environment ${env}`, function () {
      // TypeORM begins transactions later there, which is noticed by AsyncLocalStorage only.
      if (engine === 'mariadb' && env === 'production') this.skip()
      return withApp(
        env,
        (database) => [loadShelves, limit(database)],
        ok,
        async ({ site, log }) => {
          expect((await site.post('/', json)).status).to.equal(500)
          const first = env === 'production' ? 'an earlier query of ctx.tx' : 'loadShelves ('
          expect(log.text()).to.contain('rateLimit() \\"all\\" uses the database outside of ctx.tx')
          expect(log.text()).to.contain(`waits for the transaction that ${first}`)
          expect(log.text()).to.contain('read by database.read')
        },
      )
    })

  it('works in the other order', () =>
    withApp(
      'test',
      (database) => [limit(database), loadShelves],
      ok,
      async ({ site }) => {
        const responses = await Promise.all([1, 2, 3].map(() => site.post('/', json)))
        expect(responses.map(({ status }) => status)).to.deep.equal([204, 204, 204])
      },
    ))

  const own: Record<string, (database: Database) => Promise<unknown>> = {
    'database.manager': (database) => database.manager.insert(Shelf, { name: 'a' }),
    'database.transaction': (database) => database.transaction((tx) => tx.insert(Shelf, { name: 'a' })),
    'database.query': (database) => database.query("UPDATE shelves SET name = 'b'"),
  }
  for (const [what, write] of Object.entries(own)) {
    it(`is an error at once: ${what} in a handler`, () =>
      withApp(
        'test',
        () => [],
        async function createShelf(ctx, database) {
          await ctx.tx.insert(Shelf, { name: 'a' })
          await write(database)
        },
        async ({ site, log }) => {
          expect((await site.post('/', json)).status).to.equal(500)
          expect(log.text()).to.match(
            /(own-waits\.spec\.[^"]*|A query of the database) uses the database outside of ctx\.tx/,
          )
          expect(log.text()).to.contain('transaction that createShelf (')
        },
      ))

    it(`works before the first query, and after the commit: ${what}`, () =>
      withApp(
        'test',
        () => [],
        async (ctx, database) => {
          await write(database)
          await ctx.tx.insert(Shelf, { name: 'a' })
          ctx.afterCommit(() => write(database))
          ctx.status = 204
        },
        async ({ site, log }) => {
          // Requests still wait for each other.
          const responses = await Promise.all([1, 2, 3, 4].map(() => site.post('/', json)))
          expect(responses.map(({ status }) => status)).to.deep.equal([204, 204, 204, 204])
          expect(log.text()).not.to.contain('outside of ctx.tx')
        },
      ))
  }

  it('is an error at once: database.read with a single connection', function () {
    // SQLite reads without waiting.
    const expected = engine === 'sqlite' ? 204 : 500
    return withApp(
      'test',
      () => [],
      async (ctx, database) => {
        await ctx.tx.find(Shelf)
        await database.read((tx) => tx.find(Shelf))
        ctx.status = 204
      },
      async ({ site }) => {
        expect((await site.get('/', json)).status).to.equal(expected)
        expect((await site.post('/', json)).status).to.equal(expected)
      },
    )
  })
})
