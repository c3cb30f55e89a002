import { expect } from 'chai'
import type { Context } from '../../../src/index.js'
import { engine, itOnce } from '../../support/engine.js'
import { newShelf, Shelf, withLibrary } from '../../support/applications/library.js'
import { Issue, Note, openTracker, Project, titled } from '../../support/applications/tracker.js'
import { LazyTransaction } from '../../../src/database/transactions/lazy-transaction.js'
import { findRecord, findRecordBy, saveRecord } from '../../support/records.js'

const json = { accept: 'application/json' }

/** Lets all other requests run for a while. */
const pause = () => new Promise((resolve) => setImmediate(resolve))

describe(`Locked records on ${engine}`, () => {
  const finders: Record<string, (ctx: Context, id: string) => Promise<Shelf>> = {
    'ctx.find': (ctx, id) => ctx.find(Shelf, id, { lock: true }),
    'ctx.findOneBy': (ctx, id) => ctx.findOneBy(Shelf, { id, name: 'a' }, { lock: true }),
  }

  for (const [name, find] of Object.entries(finders)) {
    it(`count all of 20 concurrent requests that read, wait and write: ${name}`, () =>
      withLibrary({}, async ({ database, site, handle }) => {
        const { id } = await newShelf(database)
        handle(async (ctx) => {
          // MariaDB keeps reading the snapshot of the transaction.
          await ctx.tx.count(Shelf)
          const shelf = await find(ctx, id)
          const { count } = shelf
          for (let round = 0; round < 5; round += 1) await pause()
          shelf.count = count + 1
          await ctx.save(shelf)
          ctx.body = 'done'
        })
        const responses = await Promise.all(Array.from({ length: 20 }, () => site.post('/', json)))
        expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([200]))
        expect((await database.manager.findOneByOrFail(Shelf, { id })).count).to.equal(20)
      }))
  }

  it('are written even if a value equals the one that the transaction has read before the lock', () =>
    withLibrary({}, async ({ database, site, handle }) => {
      const { id } = await newShelf(database)
      let arrive = (): void => {}
      let go = (): void => {}
      const arrived = new Promise<void>((resolve) => (arrive = resolve))
      const gone = new Promise<void>((resolve) => (go = resolve))
      handle(async (ctx) => {
        if (ctx.query['first']) {
          // On SQLite the transaction begins with the lock, because it would otherwise block the other one.
          if (engine !== 'sqlite') await ctx.tx.count(Shelf)
          arrive()
          await gone
        }
        const shelf = await ctx.find(Shelf, id, { lock: true })
        shelf.count = ctx.query['first'] ? 0 : 7
        await ctx.save(shelf)
        ctx.body = 'done'
      })
      const first = site.post('/?first=1', json)
      await arrived
      expect((await site.post('/', json)).status).to.equal(200)
      go()
      expect((await first).status).to.equal(200)
      expect((await database.manager.findOneByOrFail(Shelf, { id })).count).to.equal(0)
    }))

  itOnce('are rejected in GET and HEAD, which do not write', () =>
    withLibrary({}, async ({ database, site, handle, log }) => {
      const { id } = await newShelf(database)
      for (const find of Object.values(finders)) {
        handle(async (ctx) => (ctx.body = await find(ctx, id)))
        expect((await site.get('/', json)).status).to.equal(500)
        expect((await fetch(`${site.url}/`, { method: 'HEAD' })).status).to.equal(500)
        expect((await site.put('/', json)).status).to.equal(200)
      }
      expect(log.text()).to.contain('A GET request cannot lock a record.')
      expect(log.text()).to.contain('A HEAD request cannot lock a record.')
    }),
  )

  it('are found and saved together with loaded relations, and by conditions on relations', async () => {
    const database = await openTracker()
    try {
      const project = await database.manager.save(titled(Project, 'one'))
      const issue = await database.manager.save(titled(Issue, 'first', { project_id: project.id }))
      const note = await database.manager.save(titled(Note, 'note', { issue_id: issue.id }))
      const { manager, commit } = begin()
      const found = await findRecord(manager, Note, note.id, { lock: true })
      expect(found.issue?.title).to.equal('first')
      const where = { project: { title: 'one' } }
      expect((await findRecordBy(manager, Issue, where, { lock: true })).id).to.equal(issue.id)
      found.title = 'changed'
      expect(await saveRecord(manager, found)).to.equal(undefined)
      await commit()
      expect((await findRecord(database.manager, Note, note.id)).title).to.equal('changed')
    } finally {
      await database.close()
    }

    function begin() {
      const transaction = new LazyTransaction(database, 'write')
      return { manager: transaction.manager, commit: () => transaction.commit() }
    }
  })
})
