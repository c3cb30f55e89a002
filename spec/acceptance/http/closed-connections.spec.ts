import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'chai'
import type { Context } from '../../../src/index.js'
import { Shelf, withLibrary, type Library } from '../../support/applications/library.js'

/** Sends a request whose connection the spec closes. */
function send(site: Library['site'], method: string): Socket {
  const { hostname, port } = new URL(site.url)
  const socket = connect(Number(port), hostname)
  socket.write(`${method} / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`)
  return socket
}

/** The name of the error of a piece of work, or undefined if it succeeds. */
async function errorOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error) => error.name,
  )
}

function signal(): { done: Promise<void>; give: () => void } {
  let give = (): void => {}
  const done = new Promise<void>((resolve) => (give = resolve))
  return { done, give }
}

describe('A request whose client has closed the connection', () => {
  it('ends before its transaction begins', () =>
    withLibrary({}, async ({ site, database, log, handle }) => {
      const [started, ended] = [signal(), signal()]
      let error: string | undefined
      handle(async (ctx) => {
        const closed = once(ctx.req.socket, 'close')
        started.give()
        await closed
        error = await errorOf(ctx.tx.insert(Shelf, { name: 'a' }))
        ctx.status = 409
        ended.give()
      })
      const client = send(site, 'POST')
      await started.done
      client.destroy()
      await ended.done
      expect(error).to.equal('ClientClosedRequest')
      expect(await database.manager.count(Shelf)).to.equal(0)
      expect(log.lines.filter(({ level }) => Number(level) >= 50)).to.deep.equal([])
    }))

  it('ends while it waits for a connection, which the next request receives', () =>
    withLibrary({ settings: { pool: 1 } }, async ({ site, database, handle }) => {
      const [holding, waiting, left, finished, ended] = [signal(), signal(), signal(), signal(), signal()]
      const first = async (ctx: Context) => {
        await ctx.tx.insert(Shelf, { name: 'first' })
        holding.give()
        await finished.done
        ctx.status = 201
      }
      const second = async (ctx: Context) => {
        void once(ctx.req.socket, 'close').then(left.give)
        const insert = errorOf(ctx.tx.insert(Shelf, { name: 'second' }))
        waiting.give()
        error = await insert
        ctx.status = 409
        ended.give()
      }
      let error: string | undefined
      handle(first)
      const one = site.post('/')
      await holding.done
      handle(second)
      const client = send(site, 'POST')
      await waiting.done
      client.destroy()
      await left.done
      finished.give()
      expect((await one).status).to.equal(201)
      await ended.done
      expect(error).to.equal('ClientClosedRequest')
      handle(async (ctx) => {
        await ctx.tx.insert(Shelf, { name: 'third' })
        ctx.status = 201
      })
      expect((await site.post('/')).status).to.equal(201)
      const shelves = await database.manager.find(Shelf, { order: { id: 'ASC' } })
      expect(shelves.map(({ name }) => name)).to.deep.equal(['first', 'third'])
    }))

  it('runs to its end if its transaction has begun', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      const [started, committed] = [signal(), signal()]
      handle(async (ctx) => {
        await ctx.tx.insert(Shelf, { name: 'a' })
        ctx.afterCommit(committed.give)
        const closed = once(ctx.req.socket, 'close')
        started.give()
        await closed
        await ctx.tx.insert(Shelf, { name: 'b' })
        ctx.status = 201
      })
      const client = send(site, 'POST')
      await started.done
      client.destroy()
      await committed.done
      expect(await database.manager.count(Shelf)).to.equal(2)
    }))

  it('runs fewer than half of a hundred slow queries whose clients have left', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      // A statement of SQLite keeps the event loop busy. On a server, the connections limit how many begin.
      if (database.options.type !== 'better-sqlite3') return
      const count =
        'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT count(*) FROM n'
      let queries = 0
      handle(async (ctx) => {
        await ctx.tx.query(count)
        queries++
        ctx.status = 204
      })
      const { hostname, port } = new URL(site.url)
      const clients = Array.from({ length: 100 }, () => connect(Number(port), hostname))
      await Promise.all(clients.map((client) => once(client, 'connect')))
      for (const client of clients) {
        client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
        client.destroy()
      }
      // Its response comes after those of all requests that have arrived before.
      expect((await site.get('/')).status).to.equal(204)
      expect(queries).to.be.within(1, 50)
    }))
})
