import { expect } from 'chai'
import type { Database } from '../../../src/index.js'
import { engine, type Engine } from '../../support/engine.js'
import { Book, newShelf, Shelf, withLibrary } from '../../support/applications/library.js'

const json = { accept: 'application/json' }
const absent = '0193b6a2-7c3e-7000-8000-00000000000a'

interface Case {
  what: string
  /** Saved with `ctx.save`, or inserted as it is. */
  save?: object
  insert?: object
  status: number
  errors: Record<string, string[]>
  /** Engines without this rule, which accept the value. */
  without?: Engine[]
}

/** The messages for an error of which PostgreSQL does not name the column. */
function unnamed(field: string, sentence: string): Record<string, string[]> {
  if (engine === 'postgres') return { base: [`The record ${sentence}`] }
  return { [field]: [`${field[0]?.toUpperCase()}${field.slice(1)} ${sentence}`] }
}

const cases: Case[] = [
  {
    what: 'a value that must be unique',
    save: { title: 'taken' },
    status: 409,
    errors: { title: ['Title has already been taken.'] },
  },
  {
    what: 'two values that must be unique together',
    save: { title: 'new', shelf_id: 'THE SHELF', place: 1 },
    status: 409,
    errors: { shelf_id: ['Shelf has already been taken.'] },
  },
  {
    what: 'a value that must be unique by a named index',
    save: { title: 'new', number: 'taken' },
    status: 409,
    errors: { number: ['Number has already been taken.'] },
  },
  {
    what: 'a reference to a missing record',
    save: { title: 'new', shelf_id: absent },
    status: 422,
    errors: { shelf_id: ['Shelf does not exist.'] },
  },
  {
    what: 'a missing required value',
    save: { title: null },
    status: 422,
    errors: { title: ['Title cannot be blank.'] },
  },
  {
    what: 'a text that is too long',
    save: { title: 'longer than ten' },
    status: 422,
    errors: { title: ['Title is too long.'] },
  },
  {
    what: 'a value that violates a check',
    save: { title: 'new', pages: 1000 },
    status: 422,
    errors: { base: ['Book is not allowed.'] },
  },
  {
    what: 'a number that is out of range',
    insert: { title: 'new', place: 3_000_000_000 },
    status: 422,
    errors: unnamed('place', 'is out of range.'),
    without: ['sqlite'],
  },
  {
    what: 'a bigint that is out of range',
    insert: { title: 'new', views: '9223372036854775808' },
    status: 422,
    errors: unnamed('views', 'is out of range.'),
    without: ['sqlite'],
  },
  {
    what: 'a decimal that is out of range',
    insert: { title: 'new', price: '12345.00' },
    status: 422,
    errors: unnamed('price', 'is out of range.'),
    without: ['sqlite'],
  },
  {
    what: 'a malformed uuid',
    insert: { title: 'new', code: 'no uuid' },
    status: 422,
    errors: unnamed('code', 'is not valid.'),
    without: ['sqlite'],
  },
  {
    what: 'a malformed date',
    insert: { title: 'new', printed: '2026-02-30' },
    status: 422,
    errors: unnamed('printed', 'is not valid.'),
    without: ['sqlite'],
  },
  {
    what: 'malformed JSON',
    insert: { title: 'new', notes: () => `'{'` },
    status: 422,
    errors: unnamed('notes', 'is not valid.'),
    without: ['sqlite'],
  },
  {
    what: 'a taken value in a column with another name than its attribute',
    save: { title: 'new', email: 'taken' },
    status: 409,
    errors: { email: ['Email has already been taken.'] },
  },
  {
    what: 'a value outside an enumeration',
    insert: { title: 'new', kind: 'drama' },
    status: 422,
    errors: engine === 'sqlite' ? { base: ['The record is not allowed.'] } : unnamed('kind', 'is not valid.'),
  },
]

describe('A handler whose record the database rejects', () => {
  for (const { what, save, insert, status, errors, without = [] } of cases) {
    const isTaken = without.includes(engine)
    it(`${isTaken ? 'succeeds, because this engine accepts it' : `returns ${status}`}: ${what}`, () =>
      withLibrary({}, async ({ site, database, handle }) => {
        const shelf = await fill(database)
        handle(async (ctx) => {
          if (insert) await ctx.tx.insert(Book, insert)
          else {
            const values = JSON.parse(JSON.stringify(save).replace('THE SHELF', shelf.id))
            const found = await ctx.save(Object.assign(new Book(), values))
            if (found) return ctx.respond(found.status, { json: found })
            // The transaction continues after a rejected record.
            await ctx.tx.find(Book)
          }
          ctx.status = 201
        })
        const response = await site.post('/', json)
        expect(response.status, response.text).to.equal(isTaken ? 201 : status)
        if (isTaken) return
        expect(response.json.errors).to.deep.equal(errors)
        expect(await database.manager.count(Book)).to.equal(1)
      }))
  }

  it('returns 409 if other records refer to the record', () =>
    withLibrary({}, async ({ site, database, handle }) => {
      const shelf = await fill(database)
      handle(async (ctx) => ctx.destroy(await ctx.find(Shelf, shelf.id)))
      const response = await site.delete('/', json)
      expect(response.status).to.equal(409)
      expect(response.json.errors).to.deep.equal({
        base: ['This cannot be deleted because other records refer to it: Books.'],
      })
      expect(response.json.codes).to.deep.equal({ base: ['referenced'] })
      // The transaction continues after the rejected record.
      handle(async (ctx) => {
        await ctx.destroy(await ctx.find(Shelf, shelf.id)).catch(() => undefined)
        ctx.body = { count: await ctx.tx.count(Book) }
      })
      expect((await site.delete('/', json)).json).to.deep.equal({ count: 1 })
    }))

  it('returns a browser to the page with the button, which shows what refers to the record', () =>
    withLibrary({ api: false }, async ({ site, database, handle }) => {
      const shelf = await fill(database)
      const page = `${site.url}/?page=2`
      handle(async (ctx) => {
        if (ctx.method === 'GET') ctx.body = ctx.takeFlash()
        else await ctx.destroy(await ctx.find(Shelf, shelf.id))
      })
      const send = (headers: Record<string, string>) =>
        site.post('/', { form: { _method: 'DELETE' }, headers })
      const response = await send({ referer: page })
      expect([response.status, response.headers.get('location')]).to.deep.equal([303, page])
      const message = 'This cannot be deleted because other records refer to it: Books.'
      expect((await site.get('/?page=2')).json).to.deep.equal([{ type: 'danger', message }])
      expect(await database.manager.count(Shelf)).to.equal(1)
      for (const referer of ['', 'https://elsewhere.example.com/']) {
        const rejected = await send(referer ? { referer } : {})
        expect(rejected.status).to.equal(409)
        expect(rejected.text).to.contain(message)
      }
    }))

  describe('and that catches the error', () => {
    it(engine === 'postgres' ? 'returns 500, and keeps nothing' : 'keeps its other changes', () =>
      withLibrary({}, async ({ site, database, handle }) => {
        await fill(database)
        handle(async (ctx) => {
          await ctx.tx.insert(Book, { title: 'before' })
          await ctx.tx.insert(Book, { title: 'taken' }).catch(() => {})
          ctx.status = 201
        })
        const response = await site.post('/', json)
        const isAborted = engine === 'postgres'
        expect(response.status).to.equal(isAborted ? 500 : 201)
        if (isAborted)
          expect(response.json.detail).to.contain('Run queries that may fail in ctx.tx.transaction')
        expect(await titles(database)).to.deep.equal(isAborted ? ['taken'] : ['before', 'taken'])
      }),
    )

    it('keeps its other changes if it uses a savepoint', () =>
      withLibrary({}, async ({ site, database, handle }) => {
        await fill(database)
        handle(async (ctx) => {
          await ctx.tx.insert(Book, { title: 'before' })
          await ctx.tx.transaction((tx) => tx.insert(Book, { title: 'taken' })).catch(() => {})
          await ctx.tx.insert(Book, { title: 'after' })
          ctx.status = 201
        })
        expect((await site.post('/', json)).status).to.equal(201)
        expect(await titles(database)).to.deep.equal(['after', 'before', 'taken'])
      }))
  })
})

async function titles(database: Database): Promise<string[]> {
  const books = await database.manager.find(Book, { order: { title: 'ASC' } })
  return books.map(({ title }) => title)
}

/** One book on a shelf. */
async function fill(database: Database): Promise<Shelf> {
  const shelf = await newShelf(database)
  const taken = { title: 'taken', number: 'taken', email: 'taken' }
  await database.manager.insert(Book, { ...taken, shelf_id: shelf.id, place: 1 })
  return shelf
}
