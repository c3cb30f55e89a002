import { expect } from 'chai'
import type { Context } from '../../../src/index.js'
import { engine } from '../../support/engine.js'
import {
  HeardLetter,
  Letter,
  newRecord,
  openLetters,
  openOffice,
  Parcel,
  Stamp,
  Unversioned,
  type Office,
} from '../../support/applications/letters.js'
import { newDatabase } from '../../support/databases.js'
import { Gate } from '../../support/gate.js'
import { Served } from '../../support/processes/served.js'
import type { SpecRequest } from '../../support/site.js'

const accept = 'json'

/** The number of times that each status occurs. */
function counted(responses: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

/** A plain model, which has a fast path, and one with a listener. */
const models = [
  ['/letters', Letter, 'lock_version'],
  // The specs use the properties that both have.
  ['/heard', HeardLetter as unknown as typeof Letter, 'revision'],
] as const

describe(`Records with a version on ${engine}`, () => {
  let office: Office
  let gate: Gate | undefined

  before(async () => {
    office = await openOffice({}, (app) => {
      for (const [path, model] of models) {
        app.put(`/often${path}/{id}`, async (ctx) => {
          const record = await ctx.find(model, ctx.params['id'])
          for (const title of ['two', 'three']) {
            record.title = title
            await ctx.save(record)
          }
          await ctx.destroy(record)
          return ctx.respond({ data: {} })
        })
        for (const method of ['put', 'patch', 'post', 'delete'] as const)
          app[method](`/slow${path}/{id}`, (ctx) => changeSlowly(ctx, model))
      }
    })
  })

  beforeEach(async () => {
    const { manager } = office.database
    await manager.query('DELETE FROM parcels_stamps')
    for (const model of [Parcel, Stamp, HeardLetter, Letter]) await manager.deleteAll(model)
    gate = undefined
  })

  after(() => office.site.close())

  /** Finds a record, waits at the gate, and saves or deletes the record. */
  async function changeSlowly(ctx: Context, model: typeof Letter) {
    const record = await ctx.find(model, ctx.params['id'], { lock: ctx.query['lock'] === 'yes' })
    // Only the first attempt waits.
    const waiting = gate
    gate = undefined
    await waiting?.wait()
    if (ctx.method === 'DELETE') {
      await ctx.destroy(record)
      return ctx.respond({ data: {} })
    }
    if (ctx.query['count']) record.count += 1
    const errors = await ctx.save(ctx.bind(record, ['title']))
    return errors ? ctx.respond(errors) : ctx.respond({ data: record })
  }

  for (const [path, model, version] of models) {
    // On MariaDB, TypeORM writes both.
    if (engine === 'mariadb' && model === Letter) continue
    describe(`beneath ${path}`, () => {
      it('begin with version 1, and count each change that a request saves', async () => {
        const { site } = office
        const created = await site.post(path, { accept, json: { title: 'one' } })
        expect(created.status).to.equal(201)
        expect(created.json).to.include({ [version]: 1 })
        const item = `${path}/${created.json.id}`
        expect((await site.put(item, { accept, json: { title: 'two' } })).json).to.include({ [version]: 2 })
        expect((await site.put(item, { accept, json: { title: 'two' } })).json).to.include({ [version]: 2 })
        expect((await site.get(item, { accept })).json).to.include({ title: 'two', [version]: 2 })
      })

      it('let one of 200 parallel PUTs with the same tag change the record', async () => {
        const { site, database } = office
        const { id } = await newRecord(database, model)
        const { headers } = await site.get(`${path}/${id}`, { accept })
        const tag = { 'If-Match': headers.get('etag') ?? '' }
        const responses = await Promise.all(
          Array.from({ length: 200 }, (_, index) =>
            site.put(`${path}/${id}`, { accept, json: { title: `title ${index}` }, headers: tag }),
          ),
        )
        expect(counted(responses)).to.deep.equal({ 200: 1, 412: 199 })
        const winner = responses.find(({ status }) => status === 200)
        expect((await site.get(`${path}/${id}`, { accept })).json).to.deep.equal(winner?.json)
      })

      it('lose none of many parallel changes that read, compute and save', async () => {
        const { site, database } = office
        const { id } = await newRecord(database, model)
        // On a server, many are retried.
        const length = engine === 'sqlite' || process.env['KIT_REQUIRE_ALL'] ? 200 : 60
        const responses = await Promise.all(
          Array.from({ length }, () => site.put(`${path}/${id}/count`, { accept })),
        )
        const { 200: done = 0, 503: rejected = 0 } = counted(responses)
        expect(done + rejected).to.equal(length)
        expect((await site.get(`${path}/${id}`, { accept })).json).to.include({ count: done })
      })

      it('lose nothing and reject nothing if the record is locked', async () => {
        const { site, database } = office
        const { id } = await newRecord(database, model)
        const responses = await Promise.all(
          Array.from({ length: 20 }, () =>
            site.post(`/slow${path}/${id}?lock=yes&count=yes`, { accept, json: {} }),
          ),
        )
        expect(counted(responses)).to.deep.equal({ 200: 20 })
        expect((await site.get(`${path}/${id}`, { accept })).json).to.include({ count: 20, [version]: 21 })
      })

      if (engine === 'sqlite') {
        it('wait for another request that changes them, which has the write lock from its first query', async () => {
          const { site, database } = office
          const { id } = await newRecord(database, model)
          gate = new Gate()
          const { reached, pass } = { reached: gate.reached, pass: gate.pass.bind(gate) }
          const first = site.patch(`/slow${path}/${id}`, { accept, json: { title: 'slow' } })
          await reached
          const second = site.patch(`${path}/${id}`, { accept, json: { title: 'second' } })
          pass()
          expect([(await first).status, (await second).status]).to.deep.equal([200, 200])
          expect((await second).json).to.include({ [version]: 3 })
        })
        return
      }

      const races: [method: string, options: SpecRequest, status: number][] = [
        ['PUT', { json: { title: 'slow' } }, 200],
        ['PUT', { json: { title: 'slow' }, headers: { 'If-Match': '*' } }, 200],
        ['PUT', { json: { title: 'slow' }, headers: { 'If-Match': '"1"' } }, 412],
        ['PUT', { json: { title: 'slow', [version]: 1 } }, 409],
        ['PATCH', { json: { title: 'slow' } }, 503],
        ['PATCH', { json: { title: 'slow' }, headers: { 'If-Match': '"1"' } }, 412],
        ['POST', { json: { title: 'slow', [version]: 1 } }, 503],
        ['DELETE', {}, 200],
        ['DELETE', { headers: { 'If-Match': '"1"' } }, 412],
      ]
      for (const [method, options, status] of races) {
        const condition = JSON.stringify({ ...options.headers, ...Object(options.json) })
        it(`return ${status} for ${method} ${condition} if another request is faster`, async () => {
          const { site, database } = office
          const { id } = await newRecord(database, model)
          gate = new Gate()
          const { reached, pass } = { reached: gate.reached, pass: gate.pass.bind(gate) }
          const slow = site.request(method, `/slow${path}/${id}`, { accept, ...options })
          await reached
          expect((await site.put(`${path}/${id}/count`, { accept })).status).to.equal(200)
          pass()
          const response = await slow
          expect(response.status, response.text).to.equal(status)
          expect(response.headers.get('retry-after')).to.equal(status === 503 ? '1' : null)
          const left = await database.manager.findOneBy(model, { id })
          if (method === 'DELETE' && status === 200) expect(left).to.equal(null)
          else expect(left).to.include({ count: 1, title: status === 200 ? 'slow' : 'first' })
        })
      }

      it('are gone for a PUT if another request deletes them, and 412 with If-Match', async () => {
        const { site, database } = office
        for (const [headers, status] of [
          [{}, 404],
          [{ 'If-Match': '"1"' }, 412],
        ] as [Record<string, string>, number][]) {
          const { id } = await newRecord(database, model)
          gate = new Gate()
          const { reached, pass } = { reached: gate.reached, pass: gate.pass.bind(gate) }
          const slow = site.put(`/slow${path}/${id}`, { accept, json: { title: 'slow' }, headers })
          await reached
          expect((await site.delete(`${path}/${id}`, { accept })).status).to.equal(200)
          pass()
          expect((await slow).status).to.equal(status)
          expect(await database.manager.countBy(model, { id })).to.equal(0)
        }
      })
    })
  }

  it('are not written with the values of an earlier state, even if these equal the current ones', async () => {
    const { database } = office
    const { id } = await newRecord(database, Letter)
    const path = `/slow/letters/${id}?count=yes`
    gate = engine === 'sqlite' ? undefined : new Gate()
    const waiting = gate
    const slow = office.site.put(path, { accept, json: {} })
    await waiting?.reached
    // Both requests compute the same value.
    if (waiting) await office.site.put(path, { accept, json: {} })
    waiting?.pass()
    expect((await slow).status).to.equal(200)
    expect(await database.manager.findOneByOrFail(Letter, { id })).to.include({ count: waiting ? 2 : 1 })
  })

  it('can be saved several times in one request, and then deleted', async () => {
    const { site, database } = office
    for (const [path, model] of models) {
      const { id } = await newRecord(database, model)
      const response = await site.put(`/often${path}/${id}`, {
        accept,
        headers: { 'If-Match': '"1"' },
        json: {},
      })
      expect(response.status, response.text).to.equal(200)
      expect(await database.manager.countBy(model, { id })).to.equal(0)
    }
  })

  it('let one of 200 PUTs with the same tag change the record, and lose no other change, with four worker processes', async function () {
    // The processes take seconds to load, so that `npm test` starts them on one engine only.
    if (engine !== 'sqlite' && !process.env['KIT_REQUIRE_ALL']) this.skip()
    const url = await newDatabase()
    const database = await openLetters(url)
    await database.synchronize()
    const main = new URL('../../support/applications/letters-main.js', import.meta.url).href
    const served = await Served.start(main, ['start', '--workers', '4'], { DATABASE_URL: url })
    try {
      await served.workers(4)
      for (const [path, model] of process.env['KIT_REQUIRE_ALL'] ? models : models.slice(0, 1)) {
        const { id } = await newRecord(database, model)
        const put = (end: string, headers: Record<string, string>, title: string) =>
          fetch(`${served.url}${path}/${id}${end}`, {
            method: 'PUT',
            headers: { 'content-type': 'application/json', connection: 'close', ...headers },
            body: JSON.stringify({ title }),
          })
        const requests = Array.from({ length: 200 }, (_, index) =>
          put('', { 'If-Match': '"1"' }, `title ${index}`),
        )
        expect(counted(await Promise.all(requests))).to.deep.equal({ 200: 1, 412: 199 })
        const counts = counted(await Promise.all(Array.from({ length: 200 }, () => put('/count', {}, ''))))
        const { 200: done = 0, 503: rejected = 0 } = counts
        expect(done + rejected).to.equal(200)
        expect(done).to.be.greaterThan(0)
        expect((await database.manager.findOneByOrFail(model, { id })).count).to.equal(done)
      }
    } finally {
      await served.remove()
      await database.close()
    }
  })

  it('that have no version yet are saved and deleted, and have no tag', async () => {
    const { site, database } = office
    const { id } = await newRecord(database, Unversioned)
    await database.query('UPDATE unversioned_letters SET lock_version = NULL')
    const shown = await site.get(`/unversioned/${id}`, { accept })
    expect([shown.status, shown.headers.get('etag')]).to.deep.equal([200, null])
    expect((await site.put(`/unversioned/${id}`, { accept, json: { title: 'changed' } })).status).to.equal(
      200,
    )
    expect((await site.delete(`/unversioned/${id}`, { accept })).status).to.equal(200)
    expect(await database.manager.count(Unversioned)).to.equal(0)
  })

  describe('with links', () => {
    it('count a change of the links alone, and no other order of the same ones', async () => {
      const { site, database } = office
      const stamps = []
      for (const name of ['a', 'b', 'c']) stamps.push((await newRecord(database, Stamp, { name })).id)
      const [a = '', b = '', c = ''] = stamps
      const created = await site.post('/parcels', { accept, json: { title: 'x', stamp_ids: [a, b] } })
      expect(created.json).to.include({ lock_version: 1 })
      const path = `/parcels/${created.json.id}`
      const put = async (stamp_ids: string[]) => (await site.put(path, { accept, json: { stamp_ids } })).json
      const same = await put([b, a])
      expect(same).to.include({ lock_version: 1, updated_at: created.json.updated_at })
      const added = await put([c, a, b])
      expect(added).to.include({ lock_version: 2 })
      expect(Date.parse(added.updated_at)).to.be.greaterThan(Date.parse(same.updated_at))
      expect(await put([])).to.include({ lock_version: 3 })
      expect((await site.get(path, { accept })).json).to.deep.include({ lock_version: 3, stamp_ids: [] })
      const both = await site.put(path, { accept, json: { title: 'y', stamp_ids: [c] } })
      expect(both.json).to.include({ lock_version: 4 })
      const stale = await site.put(path, { accept, json: { stamp_ids: [a], lock_version: 3 } })
      expect([stale.status, stale.json.codes]).to.deep.equal([
        409,
        { base: ['stale'], stamp_ids: ['changed'] },
      ])
      expect(stale.json.errors.stamp_ids).to.deep.equal(['This has been changed, too.'])
    })

    it('are not changed by a change of the linked record', async () => {
      const { site, database } = office
      const stamp = await newRecord(database, Stamp, { name: 'a' })
      const json = { title: 'x', stamp_ids: [stamp.id] }
      const { id } = (await site.post('/parcels', { accept, json })).json
      await database.manager.update(Stamp, { id: stamp.id }, { name: 'b' })
      expect((await site.get(`/parcels/${id}`, { accept })).json).to.include({ lock_version: 1 })
    })
  })
})
