import { expect } from 'chai'
import type { Context } from '../../src/index.js'
import { newShelf, Shelf, withLibrary } from '../support/library.js'

const accept = 'application/json'

/** A field of the request's body, which a handler passes on without looking at it. */
function field<T>(ctx: Context, name: string): T {
  return Reflect.get(Object(ctx.request.body), name) as T
}

describe('Finding records by what a client has sent', () => {
  it('ctx.find finds by an id, and returns 404 for all that is not text', () =>
    withLibrary({}, async ({ database, site, handle }) => {
      const { id } = await newShelf(database)
      handle(async (ctx) => ctx.respond({ json: await ctx.find(Shelf, field<string>(ctx, 'id')) }))
      expect((await site.post('/', { json: { id }, accept })).json).to.include({ id })
      const others = [{}, [], [id], { id }, { name: 'a' }, { select: ['name'] }, null, true, 0, 1]
      for (const other of others) {
        const { status } = await site.post('/', { json: { id: other }, accept })
        expect(status, JSON.stringify(other)).to.equal(404)
      }
    }))

  it('ctx.find returns 404 for a repeated query parameter', () =>
    withLibrary({}, async ({ database, site, handle }) => {
      const { id } = await newShelf(database)
      handle(async (ctx) => ctx.respond({ json: await ctx.find(Shelf, ctx.query['id'] as string) }))
      expect((await site.get(`/?id=${id}`, { accept })).status).to.equal(200)
      expect((await site.get(`/?id=${id}&id=${id}`, { accept })).status).to.equal(404)
      expect((await site.get('/', { accept })).status).to.equal(404)
    }))

  it('ctx.findOneBy finds by conditions, and returns 404 without any', () =>
    withLibrary({}, async ({ database, site, handle }) => {
      const { id } = await newShelf(database, 'one')
      handle(async (ctx) => ctx.respond({ json: await ctx.findOneBy(Shelf, field<object>(ctx, 'where')) }))
      expect((await site.post('/', { json: { where: { id, name: 'one' } }, accept })).json).to.include({ id })
      for (const where of [{ id, name: 'two' }, {}, [], [{ name: 'one' }], null, 'one', true]) {
        const { status } = await site.post('/', { json: { where }, accept })
        expect(status, JSON.stringify(where)).to.equal(404)
      }
    }))
})
