import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { Context } from '../../../src/index.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import {
  newShelf,
  Shelf,
  withLibrary,
  type Library,
  type LibraryOptions,
} from '../../support/applications/library.js'
import { openProxy, type Proxy } from '../../support/servers/proxy.js'
import { connectionOf, terminate, terminateOwn } from '../../support/servers/terminate.js'

const json = { accept: 'application/json' }

/** A library that reaches its database through a proxy. */
async function withProxy(
  options: LibraryOptions,
  work: (library: Library & { proxy: Proxy }) => Promise<void>,
): Promise<void> {
  const proxy = await openProxy(await newDatabase())
  try {
    await withLibrary({ ...options, url: proxy.url }, (library) => work({ ...library, proxy }))
  } finally {
    await proxy.close()
  }
}

/** Sleeps for five seconds in the database. */
const sleep = engine === 'postgres' ? 'SELECT pg_sleep(5)' : 'SELECT SLEEP(5)'

describe('A request whose database connection is lost', () => {
  before(function () {
    // A file has no connections to lose.
    if (engine === 'sqlite') this.skip()
  })

  it('between two statements returns 503, and keeps nothing', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      handle(async (ctx) => {
        await ctx.tx.insert(Shelf, { name: 'a' })
        await terminateOwn(database, ctx)
        await ctx.tx.insert(Shelf, { name: 'b' })
        ctx.status = 201
      })
      const response = await site.post('/', json)
      expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '5'])
      expect(await database.manager.count(Shelf)).to.equal(0)
    }))

  it('during a statement returns 503', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      handle(async (ctx) => {
        const connection = await connectionOf(ctx)
        await Promise.all([ctx.tx.query(sleep), delay(100).then(() => terminate(database, connection))])
      })
      expect((await site.get('/', json)).status).to.equal(503)
      expect((await site.put('/', json)).status).to.equal(503)
    }))

  it('before the commit returns 503, because nothing has been committed', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      for (const isNoticed of [false, true]) {
        handle(async (ctx) => {
          await ctx.tx.insert(Shelf, { name: 'a' })
          if (isNoticed) await terminateOwn(database, ctx)
          else await terminate(database, await connectionOf(ctx))
          ctx.status = 201
        })
        const response = await site.post('/', json)
        // If the server ends the connection while the commit is on its way, the outcome is unknown.
        expect(response.status).to.be.oneOf(isNoticed ? [503] : [500, 503])
        expect(await database.manager.count(Shelf)).to.equal(0)
      }
    }))

  it('returns 503 even if the handler catches the error', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      handle(async (ctx) => {
        await ctx.tx.insert(Shelf, { name: 'a' })
        await terminateOwn(database, ctx)
        await ctx.tx.insert(Shelf, { name: 'b' }).catch(() => {})
        await ctx.tx.insert(Shelf, { name: 'c' }).catch(() => {})
        ctx.status = 201
      })
      expect((await site.post('/', json)).status).to.equal(503)
      expect(await database.manager.count(Shelf)).to.equal(0)
    }))

  it('while idle uses a new connection, and succeeds', () =>
    withLibrary({ settings: { pool: 3 } }, async ({ site, database, handle }) => {
      const connections = new Set<number>()
      handle(async (ctx) => {
        connections.add(await connectionOf(ctx))
        while (connections.size < 3) await delay(5)
        ctx.body = 'done'
      })
      await Promise.all([site.get('/'), site.get('/'), site.get('/')])
      expect(connections.size).to.equal(3)
      const [own] = connections
      for (const connection of connections)
        if (connection !== own) await terminate(database, connection).catch(() => {})
      await delay(50)
      const responses = await Promise.all([site.get('/'), site.get('/'), site.get('/'), site.get('/')])
      expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    }))

  it('during the commit returns 500 for POST, which reports an unknown outcome, and 503 for PUT', () =>
    withProxy({}, async ({ site, database, handle, proxy }) => {
      let number = 0
      handle(async (ctx) => {
        await ctx.tx.insert(Shelf, { name: `${number}` })
        ctx.status = 201
      })
      for (const when of ['before', 'after'] as const) {
        proxy.cut('COMMIT', when)
        const response = await site.post('/', json)
        expect(response.status).to.equal(500)
        expect(response.json.detail).to.contain('it is not known whether the request was carried out')
        number += 1
        proxy.cut('COMMIT', when)
        const put = await site.put('/', json)
        expect([put.status, put.headers.get('retry-after')]).to.deep.equal([503, '5'])
        number += 1
      }
      const shelves = await database.manager.find(Shelf, { order: { name: 'ASC' } })
      expect(shelves.map(({ name }) => name)).to.deep.equal(['2', '3'])
    }))

  it('at the beginning of a transaction returns 503', () =>
    withProxy({}, async ({ site, handle, proxy }) => {
      handle(async (ctx) => {
        await ctx.tx.find(Shelf)
        ctx.body = 'done'
      })
      for (const when of ['before', 'after'] as const) {
        proxy.cut('START TRANSACTION', when)
        expect((await site.get('/', json)).status).to.equal(503)
      }
      expect((await site.get('/', json)).status).to.equal(200)
    }))

  const beginnings: Record<string, (ctx: Context) => Promise<unknown>> = {
    'a stream of rows': async (ctx) => {
      const rows: unknown = await ctx.tx.createQueryBuilder(Shelf, 'shelf').stream()
      ctx.body = rows
    },
    // TypeORM returns the connection of the driver, whose type it doesn't know.
    'a named query': async (ctx) => {
      const connection = await ctx.tx.queryRunner?.connect()
      await connection.query({ name: 'one', text: 'SELECT 1' })
    },
    'a query with a callback': async (ctx) => {
      const connection = await ctx.tx.queryRunner?.connect()
      await new Promise((resolve, reject) => {
        connection.query('SELECT 1', (error: unknown) => (error ? reject(error) : resolve(undefined)))
      })
    },
    'a query that submits itself': async (ctx) => {
      const connection = await ctx.tx.queryRunner?.connect()
      await new Promise((resolve, reject) => {
        const { Query } = Reflect.get(ctx.tx.dataSource.driver, 'postgres')
        const query = new Query('SELECT 1', [])
        query.on('end', resolve)
        query.on('error', reject)
        connection.query(query)
      })
    },
  }
  for (const [what, work] of Object.entries(beginnings)) {
    it(`returns an error, and the process goes on, if the transaction begins with ${what}`, function () {
      if (engine === 'mariadb' && what !== 'a stream of rows') this.skip()
      return withProxy({}, async ({ site, handle, proxy }) => {
        handle(work)
        for (const when of ['before', 'after'] as const) {
          proxy.cut('START TRANSACTION', when)
          expect((await site.get('/', json)).status).to.be.oneOf([500, 503])
        }
        handle((ctx) => void (ctx.body = 'done'))
        expect((await site.get('/', json)).status).to.equal(200)
      })
    })
  }

  it('without a reset returns 503 five seconds after the statementTimeout', () =>
    withProxy(
      { settings: { statementTimeout: 1000, acquireTimeout: 2000 } },
      async ({ site, handle, proxy }) => {
        handle(async (ctx) => {
          await ctx.tx.find(Shelf)
          proxy.swallow()
          await ctx.tx.find(Shelf)
        })
        const start = performance.now()
        expect((await site.get('/', json)).status).to.equal(503)
        expect(performance.now() - start).to.be.at.least(5990)
        // No other connection becomes free in time either.
        handle((ctx) => ctx.tx.find(Shelf))
        expect((await site.get('/', json)).status).to.equal(503)
      },
    ))

  it('leaves the pool at its size', () =>
    withLibrary({ settings: { pool: 2 } }, async ({ site, database, handle }) => {
      for (let time = 0; time < 5; time += 1) {
        handle(async (ctx) => {
          await terminateOwn(database, ctx)
          await ctx.tx.query('SELECT 1')
        })
        expect((await site.post('/', json)).status).to.equal(503)
      }
      handle(async (ctx) => {
        await ctx.tx.query('SELECT 1')
        await delay(50)
        ctx.body = 'done'
      })
      const responses = await Promise.all([1, 2, 3, 4].map(() => site.post('/', json)))
      expect(responses.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200])
    }))
})

describe('The acquireTimeout of a database', () => {
  it('ends the wait for a connection with 503 and Retry-After', () =>
    withLibrary({ settings: { pool: 2, acquireTimeout: 1500 } }, async ({ site, database, handle, log }) => {
      await newShelf(database)
      let release = () => {}
      let entered = 0
      const released = new Promise<void>((resolve) => (release = resolve))
      handle(async (ctx) => {
        await ctx.tx.find(Shelf)
        entered += 1
        await released
        ctx.body = 'done'
      })
      const first = [site.get('/', json), site.get('/', json)]
      while (entered < 2) await delay(5)
      const start = performance.now()
      const late = await Promise.all(Array.from({ length: 20 }, () => site.get('/', json)))
      expect(performance.now() - start).to.be.at.least(1490)
      expect(new Set(late.map(({ status }) => status))).to.deep.equal(new Set([503]))
      expect(late[0]?.headers.get('retry-after')).to.equal('1')
      expect(log.text()).to.contain('None of the 2 database connections became free within 1.5 s.')
      release()
      expect((await Promise.all(first)).map(({ status }) => status)).to.deep.equal([200, 200])
      const again = await Promise.all([1, 2, 3].map(() => site.get('/', json)))
      expect(again.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    }))

  it('does not make GET /up fail while all connections of a pool are in use', () =>
    withLibrary({ settings: { pool: 2 } }, async ({ site, handle }) => {
      let pass = (): void => {}
      const passed = new Promise<void>((resolve) => (pass = resolve))
      let count = 0
      let reach = (): void => {}
      const reached = new Promise<void>((resolve) => (reach = resolve))
      handle(async (ctx) => {
        await ctx.tx.count(Shelf)
        if ((count += 1) === 2) reach()
        await passed
        ctx.body = 'done'
      })
      const busy = [site.get('/', json), site.get('/', json)]
      await reached
      const statuses = [await site.get('/up'), await site.get('/up')].map(({ status }) => status)
      pass()
      expect((await Promise.all(busy)).map(({ status }) => status)).to.deep.equal([200, 200])
      expect(statuses).to.deep.equal([200, 200])
    }))

  it('ends the wait for the locks of another transaction with 503', function () {
    return withLibrary({ settings: { acquireTimeout: 1000 } }, async ({ site, database, handle }) => {
      const shelf = await newShelf(database)
      handle(async (ctx) => {
        await ctx.tx.increment(Shelf, { id: shelf.id }, 'count', 1)
        ctx.body = 'done'
      })
      await database.transaction(async (tx) => {
        await tx.increment(Shelf, { id: shelf.id }, 'count', 10)
        const start = performance.now()
        expect((await site.put('/', json)).status).to.equal(503)
        expect(performance.now() - start).to.be.at.least(990)
      })
      expect((await site.put('/', json)).status).to.equal(200)
      expect((await database.manager.findOneByOrFail(Shelf, { id: shelf.id })).count).to.equal(11)
    })
  })

  it('does not end a running statement; statementTimeout does, with 503', function () {
    // SQLite runs in this process, which is blocked in the meantime.
    if (engine === 'sqlite') this.skip()
    return withLibrary({ settings: { statementTimeout: 1000 } }, async ({ site, database, handle }) => {
      await newShelf(database)
      handle(async (ctx) => {
        await ctx.tx.query(engine === 'postgres' ? sleep : 'SELECT SLEEP(5) FROM shelves')
        ctx.body = 'done'
      })
      const response = await site.get('/', json)
      expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '5'])
      handle(async (ctx) => {
        await ctx.tx.query('SELECT 1')
        ctx.body = 'done'
      })
      expect((await site.get('/', json)).status).to.equal(200)
    })
  })

  it('keeps the next transaction out of one that was never ended', function () {
    if (engine !== 'postgres') this.skip()
    return withLibrary({ settings: { pool: 1 } }, async ({ database }) => {
      const runner = database.createQueryRunner()
      await runner.query('BEGIN')
      await runner.query(
        `INSERT INTO shelves (id, name) VALUES ('0193b6a2-7c3e-7000-8000-00000000000a', 'x')`,
      )
      await runner.release()
      expect(await database.manager.count(Shelf)).to.equal(0)
    })
  })
})
