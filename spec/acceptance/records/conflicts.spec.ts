import { expect } from 'chai'
import type { Context, Database } from '../../../src/index.js'
import { engine } from '../../support/engine.js'
import { newShelf, Shelf, withLibrary, type Library } from '../../support/applications/library.js'

const json = { accept: 'application/json' }

/** A point where two requests wait for each other, the first time. */
function meeting(): () => Promise<void> {
  let arrived = 0
  let meet = (): void => {}
  const met = new Promise<void>((resolve) => (meet = resolve))
  return async () => {
    arrived += 1
    if (arrived === 2) meet()
    await met
  }
}

/** Handlers that change two shelves in opposite order, and wait for each other in between. */
async function crossing({ database, handle }: Library): Promise<Shelf[]> {
  const shelves = [await newShelf(database, 'a'), await newShelf(database, 'b')]
  const meet = meeting()
  handle(async (ctx) => {
    const [first, second] = ctx.query['way'] === 'back' ? shelves.toReversed() : shelves
    await ctx.tx.increment(Shelf, { id: first?.id ?? '' }, 'count', 1)
    await meet()
    await ctx.tx.increment(Shelf, { id: second?.id ?? '' }, 'count', 1)
    ctx.body = 'done'
  })
  return shelves
}

async function counts(database: Database): Promise<number[]> {
  const shelves = await database.manager.find(Shelf, { order: { name: 'ASC' } })
  return shelves.map(({ count }) => count)
}

describe('Transactions in conflict', () => {
  describe('in a deadlock', () => {
    before(function () {
      // SQLite has one writer at a time.
      if (engine === 'sqlite') this.skip()
    })

    it('both succeed if the method is idempotent', () =>
      withLibrary({}, async (library) => {
        await crossing(library)
        const responses = await Promise.all([
          library.site.put('/?way=there', json),
          library.site.put('/?way=back', json),
        ])
        expect(responses.map(({ status }) => status)).to.deep.equal([200, 200])
        expect(await counts(library.database)).to.deep.equal([2, 2])
        expect(library.log.text()).to.contain('the request is retried')
      }))

    it('roll one POST back, which returns 503 with Retry-After', () =>
      withLibrary({}, async (library) => {
        await crossing(library)
        const responses = await Promise.all([
          library.site.post('/?way=there', json),
          library.site.post('/?way=back', json),
        ])
        expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([200, 503])
        const rejected = responses.find(({ status }) => status === 503)
        expect(rejected?.headers.get('retry-after')).to.equal('1')
        expect(await counts(library.database)).to.deep.equal([1, 1])
      }))

    it('both succeed if the application allows retrying POST', () =>
      withLibrary({ isRetryable: () => true }, async (library) => {
        await crossing(library)
        const responses = await Promise.all([
          library.site.post('/?way=there', json),
          library.site.post('/?way=back', json),
        ])
        expect(responses.map(({ status }) => status)).to.deep.equal([200, 200])
        expect(await counts(library.database)).to.deep.equal([2, 2])
      }))

    it('keep no changes of a handler that catches the error and continues', () =>
      withLibrary({}, async (library) => {
        const [a, b] = await crossing(library)
        const meet = meeting()
        library.handle(async (ctx) => {
          const [first, second] = ctx.query['way'] === 'back' ? [b, a] : [a, b]
          await ctx.tx.increment(Shelf, { id: first?.id ?? '' }, 'count', 1)
          await meet()
          await ctx.tx.increment(Shelf, { id: second?.id ?? '' }, 'count', 1).catch(() => {})
          await ctx.tx.increment(Shelf, { id: first?.id ?? '' }, 'count', 10).catch(() => {})
          ctx.body = 'done'
        })
        const responses = await Promise.all([
          library.site.post('/?way=there', json),
          library.site.post('/?way=back', json),
        ])
        expect(responses.map(({ status }) => status).toSorted()).to.deep.equal([200, 503])
        expect((await counts(library.database)).toSorted()).to.deep.equal([1, 11])
      }))
  })

  it('run one after the other if a GET has read what another one changed', () =>
    withLibrary(engine === 'postgres' ? { isolation: 'SERIALIZABLE' } : {}, async (library) => {
      const { database, site, handle } = library
      const shelf = await newShelf(database)
      const meet = meeting()
      handle(async (ctx) => {
        const { count } = await ctx.tx.findOneByOrFail(Shelf, { id: shelf.id })
        await meet()
        // MariaDB detects this conflict by its locks, not by its snapshot.
        if (engine === 'mariadb') await ctx.tx.increment(Shelf, { id: shelf.id }, 'count', 1)
        else await ctx.tx.update(Shelf, { id: shelf.id }, { count: count + 1 })
        ctx.body = 'done'
      })
      const responses = await Promise.all([site.get('/', json), site.get('/', json)])
      expect(responses.map(({ status }) => status)).to.deep.equal([200, 200])
      expect(await counts(database)).to.deep.equal([2])
    }))

  it('are retried if the conflict appears at the commit', function () {
    // Only PostgreSQL detects a conflict that late.
    if (engine !== 'postgres') this.skip()
    return withLibrary({ isolation: 'SERIALIZABLE' }, async ({ database, site, handle }) => {
      await newShelf(database)
      const meet = meeting()
      handle(async (ctx) => {
        const sum = await ctx.tx.count(Shelf)
        await ctx.tx.insert(Shelf, { name: `shelf ${sum}` })
        await meet()
        ctx.body = 'done'
      })
      const responses = await Promise.all([site.put('/', json), site.put('/', json)])
      expect(responses.map(({ status }) => status)).to.deep.equal([200, 200])
      const shelves = await database.manager.find(Shelf, { order: { name: 'ASC' } })
      expect(shelves.map(({ name }) => name)).to.deep.equal(['a', 'shelf 1', 'shelf 2'])
    })
  })

  describe('when they are retried', () => {
    before(function () {
      // On SQLite, a GET is retried in its turn; all other requests wait for their turn before they read.
      if (engine === 'sqlite') this.skip()
    })

    /** Makes a handler fail the given number of times, as an engine would. */
    function failing(times: number, handler: (ctx: Context) => unknown): (ctx: Context) => Promise<void> {
      let count = 0
      return async (ctx) => {
        await handler(ctx)
        if (count++ < times) await provoke(ctx)
        ctx.body ??= 'done'
      }
    }

    it('leave no rows, headers, status or work after the commit of the failed attempt', () =>
      withLibrary({}, async ({ database, site, handle }) => {
        const shelf = await newShelf(database)
        let count = 0
        let done = 0
        handle(
          failing(1, async (ctx) => {
            count += 1
            ctx.afterCommit(() => (done += 1))
            if (count === 1) {
              ctx.status = 202
              ctx.set('X-First', 'yes')
              ctx.body = 'first'
            }
            await ctx.tx.insert(Shelf, { name: `try ${count}` })
            ctx.state['shelf'] = shelf
          }),
        )
        const response = await site.put('/', json)
        expect([response.status, response.text, response.headers.get('x-first')]).to.deep.equal([
          200,
          'done',
          null,
        ])
        expect([count, done]).to.deep.equal([2, 1])
        const shelves = await database.manager.find(Shelf, { order: { name: 'ASC' } })
        expect(shelves.map(({ name }) => name)).to.deep.equal(['a', 'try 2'])
      }))

    it('restore the session, and show a flash message once', () =>
      withLibrary({ api: false }, async ({ database, site, handle }) => {
        await newShelf(database)
        handle((ctx) => {
          Object.assign(ctx.session, { kept: 'before' })
          ctx.flash('success', 'from before')
          ctx.body = 'done'
        })
        await site.put('/', json)

        const seen: unknown[] = []
        handle(
          failing(1, (ctx) => {
            seen.push({ ...ctx.session, flash: ctx.takeFlash() })
            Object.assign(ctx.session, { kept: 'changed', added: true })
            ctx.flash('success', 'saved')
          }),
        )
        expect((await site.put('/', json)).status).to.equal(200)
        expect(seen[1]).to.deep.equal(seen[0])

        handle((ctx) => {
          const { kept, added } = ctx.session
          ctx.body = { kept, added, flash: ctx.takeFlash().map(({ message }) => message) }
        })
        expect((await site.put('/', json)).json).to.deep.equal({
          kept: 'changed',
          added: true,
          flash: ['saved'],
        })
      }))

    it('return 503 after two retries', () =>
      withLibrary({}, async ({ database, site, handle }) => {
        await newShelf(database)
        let count = 0
        handle(failing(9, () => (count += 1)))
        const response = await site.put('/', json)
        expect([response.status, response.headers.get('retry-after'), count]).to.deep.equal([503, '1', 3])
      }))

    it('are retried as often as the application configures', () =>
      withLibrary({ retries: 0 }, async ({ database, site, handle }) => {
        await newShelf(database)
        let count = 0
        handle(failing(9, () => (count += 1)))
        expect((await site.put('/', json)).status).to.equal(503)
        expect(count).to.equal(1)
      }))
  })
})

/** Makes the engine itself reject a statement because of a conflict. */
async function provoke(ctx: Context): Promise<unknown> {
  switch (engine) {
    case 'postgres':
      return ctx.tx.query(`DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`)
    case 'mariadb':
      return ctx.tx.query(
        `BEGIN NOT ATOMIC SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'conflict'; END`,
      )
    default:
      throw new Error('SQLite has no conflicts among those who write')
  }
}
