import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import type { Context, Database } from '../../../src/index.js'
import { newShelf, Shelf, withLibrary, type Library } from '../../support/applications/library.js'
import { engine } from '../../support/engine.js'
import { terminate } from '../../support/servers/terminate.js'

const json = { accept: 'application/json' }

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** A table of numbers from 1 to `count`, without the time that it takes to insert them. */
function numbers(count: number): string {
  if (engine === 'postgres') return `SELECT n::int AS n FROM generate_series(1, ${count}) AS s (n)`
  if (engine === 'mariadb') return `SELECT seq AS n FROM seq_1_to_${count}`
  return `WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT ${count}) SELECT n FROM s`
}

/** A stream of rows. */
async function rowsOf(ctx: Context, sql: string): Promise<Readable> {
  const rows: unknown = await ctx.tx.queryRunner?.stream(sql)
  if (!(rows instanceof Readable)) throw new Error('no stream')
  return rows
}

/** The rows of 100 MB of CSV, which no buffers of a connection take. MariaDB's driver reads the rest of a stream that has ended early. */
const MANY = 200_000
const wide = 'x'.repeat(500)

const toCsv = () =>
  new Transform({
    writableObjectMode: true,
    transform: (row: { n: number }, _encoding, done) => done(null, `${row.n},${wide}\n`),
  })

/** The memory in bytes that is still referred to. */
function memoryUsed(): number {
  collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Sends the given number of rows. */
function exports(count: number): (ctx: Context) => Promise<void> {
  return async (ctx) => {
    ctx.type = 'text/csv'
    ctx.body = (await rowsOf(ctx, numbers(count))).pipe(toCsv())
  }
}

/** Begins a response, and reads as much of it as `work` does. */
async function begin(library: Library, path = '/'): Promise<IncomingMessage> {
  // The type of `once` has any values.
  const [response] = (await once(get(library.site.url + path, { agent: false }), 'response')) as [
    IncomingMessage,
  ]
  response.on('error', () => {})
  return response
}

/** All connections are free, and nothing is locked. */
async function expectFree(database: Database, pool: number): Promise<void> {
  const shelf = await newShelf(database)
  await Promise.all(
    Array.from({ length: pool }, () =>
      database.transaction((tx) => tx.increment(Shelf, { id: shelf.id }, 'count', 1)),
    ),
  )
  expect((await database.manager.findOneByOrFail(Shelf, { id: shelf.id })).count).to.equal(pool)
}

describe('A stream of rows', () => {
  it('becomes the body of a GET: 200,000 rows of 300 MB, without keeping them in memory', () =>
    withLibrary({ settings: { pool: 2 } }, async (library) => {
      const { handle, database } = library
      const text = engine === 'sqlite' ? "printf('%.*c', 1500, 'x')" : "REPEAT('x', 1500)"
      handle(async (ctx) => {
        const rows = await rowsOf(ctx, `SELECT s.n, ${text} AS text FROM (${numbers(200_000)}) s`)
        ctx.body = rows.pipe(toCsv())
      })
      const before = memoryUsed()
      const response = await begin(library)
      let lines = 0
      let most = 0
      for await (const part of response) {
        const earlier = lines
        lines += part.toString().split('\n').length - 1
        const isDue = Math.floor(lines / 10_000) > Math.floor(earlier / 10_000)
        if (isDue) most = Math.max(most, memoryUsed())
      }
      expect([response.statusCode, lines, response.complete]).to.deep.equal([200, 200_000, true])
      expect(most - before).to.be.below(150_000_000)
      await expectFree(database, 2)
    }))

  it('reads no further than the client', () =>
    withLibrary({}, async (library) => {
      let read = 0
      let isStalled = (): boolean => false
      library.handle(async (ctx) => {
        const rows = await rowsOf(ctx, numbers(MANY))
        rows.on('data', () => (read += 1))
        const csv = rows.pipe(toCsv())
        isStalled = () => rows.readableEnded || (csv.writableNeedDrain && ctx.res.writableNeedDrain)
        ctx.body = csv
      })
      const response = await begin(library)
      response.pause()
      // The buffers of the connection may still take some rows.
      for (let turns = 0; turns < 100; turns = isStalled() ? turns + 1 : 0) await nextTurn()
      expect(read).to.be.within(1, MANY / 4)
      response.destroy()
    }))

  it('ends when the client leaves, and gives its connection back', () =>
    withLibrary({ settings: { pool: 2, acquireTimeout: 60_000 } }, async (library) => {
      for (let time = 0; time < 3; time += 1) {
        let rows: Readable | undefined
        library.handle(async (ctx) => {
          rows = await rowsOf(ctx, numbers(MANY))
          ctx.body = rows.pipe(toCsv())
        })
        const response = await begin(library)
        await once(response, 'data')
        response.destroy()
        if (rows && !rows.closed) await once(rows, 'close')
      }
      await expectFree(library.database, 2)
    }))

  it('ends the response in the middle when its connection is lost', function () {
    if (engine === 'sqlite') this.skip()
    return withLibrary({ settings: { pool: 2 } }, async (library) => {
      const { handle, database } = library
      const id = engine === 'postgres' ? 'pg_backend_pid()' : 'CONNECTION_ID()'
      let connection = 0
      handle(async (ctx) => {
        const rows = await rowsOf(ctx, `SELECT s.n, ${id} AS id FROM (${numbers(MANY)}) s`)
        rows.once('data', (row: { id: number }) => (connection = Number(row.id)))
        ctx.body = rows.pipe(toCsv())
      })
      const response = await begin(library)
      await once(response, 'data')
      response.pause()
      await terminate(database, connection)
      response.resume()
      if (!response.closed) await new Promise((closed) => response.once('close', closed))
      expect(response.complete).to.equal(false)
      await expectFree(database, 2)
    })
  })

  it('ends the response in the middle when a row cannot be read', () =>
    withLibrary({ settings: { pool: 2 } }, async (library) => {
      const overflow = engine === 'sqlite' ? 'abs(s.n * 0 - 9223372036854775807 - 1)' : 'EXP(s.n)'
      const value = `CASE WHEN s.n < 10000 THEN s.n ELSE ${overflow} END`
      library.handle(async (ctx) => {
        ctx.body = (await rowsOf(ctx, `SELECT ${value} AS n FROM (${numbers(20_000)}) s`)).pipe(toCsv())
      })
      const response = await begin(library)
      response.resume()
      if (!response.closed) await new Promise((closed) => response.once('close', closed))
      expect([response.statusCode, response.complete]).to.deep.equal([200, false])
      await expectFree(library.database, 2)
    }))

  it('that fails before its first row is an error response', () =>
    withLibrary({}, async ({ site, handle, database }) => {
      handle(async (ctx) => {
        ctx.body = (await rowsOf(ctx, 'SELECT nothing FROM nowhere')).pipe(toCsv())
      })
      expect((await site.get('/', json)).status).to.equal(500)
      await expectFree(database, 2)
    }))

  it('of HEAD is not read', () =>
    withLibrary({ settings: { pool: 2 } }, async ({ site, handle, database }) => {
      for (let time = 0; time < 4; time += 1) {
        handle(exports(MANY))
        expect((await site.request('HEAD', '/')).status).to.equal(200)
      }
      await expectFree(database, 2)
    }))

  it('runs the callbacks of ctx.afterCommit after its last row', () =>
    withLibrary({}, async ({ site, handle }) => {
      const events: string[] = []
      handle(async (ctx) => {
        ctx.afterCommit(() => void events.push('committed'))
        const rows = await rowsOf(ctx, numbers(1000))
        rows.on('end', () => events.push('end'))
        ctx.body = rows.pipe(toCsv())
      })
      await site.get('/')
      expect(events).to.deep.equal(['committed', 'end'])
    }))

  it('can be read in the handler, also in part, before and after other queries', () =>
    withLibrary({}, async ({ site, handle, database, log }) => {
      const sums: number[] = []
      handle(async (ctx) => {
        await ctx.tx.insert(Shelf, { name: 'before' })
        for (const last of [5000, 3]) {
          let sum = 0
          for await (const row of await rowsOf(ctx, numbers(5000))) {
            sum += Number(row.n)
            if (Number(row.n) === last) break
          }
          sums.push(sum)
          await ctx.tx.insert(Shelf, { name: 'after' })
        }
        await pipeline(await rowsOf(ctx, numbers(1000)), toCsv(), async (lines) => {
          for await (const _ of lines);
        })
        ctx.status = 201
      })
      expect((await site.post('/', json)).status, log.text()).to.equal(201)
      expect(sums).to.deep.equal([12_502_500, 6])
      expect(await database.manager.count(Shelf)).to.equal(3)
    }))

  it('returns the rows of a query builder with parameters, as they are found elsewhere', () =>
    withLibrary({}, async ({ site, handle, database }) => {
      for (const name of ['a', 'b', 'c']) await newShelf(database, name)
      handle(async (ctx) => {
        const query = ctx.tx
          .createQueryBuilder(Shelf, 'shelf')
          .select(['shelf.name AS name', 'shelf.count AS count'])
          .where('shelf.name > :name', { name: 'a' })
          .orderBy('shelf.name')
        const rows = []
        for await (const row of await query.stream()) rows.push(row)
        ctx.body = { isEqual: JSON.stringify(rows) === JSON.stringify(await query.getRawMany()), rows }
      })
      const { json: body } = await site.get('/', json)
      expect(body).to.deep.equal({
        isEqual: true,
        rows: [
          { name: 'b', count: 0 },
          { name: 'c', count: 0 },
        ],
      })
    }))

  it('rejects another query while its rows are unread, instead of waiting for itself', () =>
    withLibrary({}, async ({ site, handle, database }) => {
      handle(async (ctx) => {
        const rows = await rowsOf(ctx, numbers(5000))
        await once(rows, 'readable')
        await ctx.tx.find(Shelf)
      })
      const response = await site.get('/', json)
      expect(response.status).to.equal(500)
      expect(response.json.detail).to.contain('have not been read to the end')
      await expectFree(database, 2)
    }))

  describe('that is still open when the handler ends', () => {
    const cases: Record<string, (ctx: Context) => Promise<void>> = {
      'is an error in a POST': exports(5000),
      'is an error if it is not the body': async (ctx) => {
        await once(await rowsOf(ctx, numbers(5000)), 'readable')
        ctx.status = 204
      },
      'is an error in a GET that has written': async (ctx) => {
        await ctx.tx.insert(Shelf, { name: 'a' })
        return exports(5000)(ctx)
      },
      'is an error if the status is 400 or above': async (ctx) => {
        await exports(5000)(ctx)
        ctx.status = 404
      },
    }
    for (const [title, handler] of Object.entries(cases)) {
      it(`${title}, and saves nothing`, () =>
        withLibrary({ settings: { pool: 2 } }, async ({ site, handle, database }) => {
          handle(handler)
          for (let time = 0; time < 3; time += 1) {
            const response = await (title.includes('POST') ? site.post('/', json) : site.get('/', json))
            expect([response.status, response.json.detail]).to.deep.equal([
              500,
              'The rows of a stream of ctx.tx have not been read to the end. Read all of them before the next query and ' +
                'before the handler ends, or make them ctx.body in the handler of a GET that writes nothing and has a status ' +
                'below 400.',
            ])
          }
          expect(await database.manager.count(Shelf)).to.equal(0)
          await expectFree(database, 2)
        }))
    }
  })

  it('leaves half of the connections to other requests: a further one is 503', () =>
    withLibrary({ settings: { pool: 4 } }, async (library) => {
      const { site, handle, database } = library
      handle(exports(MANY))
      const open = await Promise.all([begin(library), begin(library)])
      const response = await site.get('/', json)
      expect([response.status, response.headers.get('retry-after')]).to.deep.equal([503, '5'])
      handle(async (ctx) => {
        ctx.body = { count: await ctx.tx.count(Shelf) }
      })
      expect((await site.get('/', json)).status).to.equal(200)
      for (const one of open) one.destroy()
      await expectFree(database, 4)
    }))
})
