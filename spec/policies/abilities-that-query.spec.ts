import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { EntityManager } from 'typeorm'
import { App, BaseResource, Policy, Resource, Route, transaction, type Context } from '../../src/index.js'
import { captureLog } from '../../src/testing/index.js'
import { newShelf, Shelf, withLibrary } from '../support/applications/library.js'
import { engine } from '../support/engine.js'
import { Site } from '../support/site.js'

describe('Three requests whose abilities query, with two connections to the database', () => {
  /** The statuses of the requests. The first two query in their abilities when both have a connection. */
  async function statuses(
    query: (
      tx: EntityManager,
      read: (work: (tx: EntityManager) => Promise<boolean>) => Promise<boolean>,
    ) => Promise<boolean>,
  ): Promise<number[]> {
    const found = [] as number[]
    await withLibrary({ settings: { pool: 2, acquireTimeout: 1000 } }, async ({ database }) => {
      class ShelfPolicy extends Policy<Shelf> {
        scope() {
          return {}
        }
        count(_user: unknown, _shelf: Shelf, tx: EntityManager) {
          return query(tx, (work) => database.read(work))
        }
      }
      const hold = new EventEmitter()
      const haveBegun = once(hold, 'both')
      let begun = 0
      @Resource('/shelves', { model: Shelf, policy: ShelfPolicy })
      class ShelvesResource extends BaseResource {
        @Route('POST', '/{shelf_id}/count')
        async count(ctx: Context) {
          const shelf = await ctx.find(Shelf, ctx.params.shelf_id)
          begun += 1
          if (begun === 2) hold.emit('both')
          await haveBegun
          await ctx.authorize(shelf)
          ctx.status = 204
        }
      }
      const app = new App({ api: true, logger: captureLog().logger })
      app.use(transaction(database))
      app.resource(ShelvesResource)
      const site = await Site.open(app)
      const { id } = await newShelf(database)
      const responses = await Promise.all([1, 2, 3].map(() => site.post(`/shelves/${id}/count`)))
      found.push(...responses.map(({ status }) => status))
      await site.close()
    })
    return found.toSorted()
  }

  before(function () {
    // One request writes at a time, and queries beside it never wait for it.
    if (engine === 'sqlite') this.skip()
  })

  it('succeed, because the abilities use the transactions of their requests', async () => {
    expect(await statuses((tx) => tx.existsBy(Shelf, {}))).to.deep.equal([204, 204, 204])
  })

  it('would wait for each other if the abilities used other connections', async () => {
    const found = await statuses((_tx, read) => read((other) => other.existsBy(Shelf, {})))
    expect(found).to.include(503)
  })
})
