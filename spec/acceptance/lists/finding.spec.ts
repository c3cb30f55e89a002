import { expect } from 'chai'
import type { Context, Where } from '../../../src/index.js'
import { newShelf, Shelf, withLibrary } from '../../support/applications/library.js'

const accept = 'application/json'

/** A field of the request's body, which a handler uses without checking it. */
function field<T>(ctx: Context, name: string): T {
  return Reflect.get(Object(ctx.request.body), name) as T
}

describe('Finding records by values from a client', () => {
  it('ctx.find finds by an id, and returns 404 for a value that is not text', () =>
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

  it('ctx.findOneBy returns 404, and ctx.paginate an empty page, for a value that the column cannot hold', () =>
    withLibrary({}, async ({ database, site, handle }) => {
      await newShelf(database, 'one')
      handle(async (ctx) => {
        const where = field<Where<Shelf>>(ctx, 'where')
        if (ctx.query['page']) return ctx.respond({ json: (await ctx.paginate(Shelf, { where })).records })
        return ctx.respond({ json: await ctx.findOneBy(Shelf, where) })
      })
      const names = [0, 1, true, false, null, {}, [], ['one'], { a: 1 }].map((name) => ({ name }))
      const counts = ['x', '', true, null, {}, [], 1e300, '9'.repeat(400)].map((count) => ({ count }))
      for (const where of [...names, ...counts]) {
        const found = await site.post('/', { json: { where }, accept })
        expect(found.status, JSON.stringify(where)).to.equal(404)
        const listed = await site.post('/?page=1', { json: { where }, accept })
        expect([listed.status, listed.json], JSON.stringify(where)).to.deep.equal([200, []])
        expect(listed.headers.get('x-total-count')).to.equal('0')
      }
      const { json } = await site.post('/?page=1', { json: { where: { name: 'one', count: '0' } }, accept })
      expect(json).to.have.length(1)
    }))
})
