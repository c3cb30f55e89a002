import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import { behavior, insertParts, Offer, Part, partsApp, partsDatabase } from '../support/applications/parts.js'
import { itOnce } from '../support/engine.js'
import { Site } from '../support/site.js'

const json = { accept: 'json' }
const noId = '00000000-0000-4000-8000-000000000000'

describe('@Resource({ bulk })', () => {
  let database: Database
  let site: Site
  beforeEach(async () => {
    database = await partsDatabase()
    site = await Site.open(partsApp(database))
  })
  afterEach(async () => {
    behavior.before = undefined
    behavior.skipsAuthorize = undefined
    await site.close()
    await database.close()
  })

  const states = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await database.manager.find(Part)).map(({ sku, state }) => [sku, state]))
  const archive = (body: object, query = '', headers: Record<string, string> = {}) =>
    site.post(`/parts/bulk/archive${query}`, { json: body, ...json, headers })

  it('calls the handler for each of the ids, once, in ascending order of the ids', async () => {
    const parts = await insertParts(database, [{}, {}, {}])
    const ids = parts.map(({ id }) => id)
    const order: unknown[] = []
    behavior.before = (ctx) => void order.push(ctx.params.part_id)
    const { status, json: body } = await archive({ ids: [ids[2], ids[0], ids[2]?.toUpperCase()] })
    expect([status, body]).to.deep.equal([200, { count: 2 }])
    expect(order).to.deep.equal([ids[0], ids[2]].toSorted())
    expect(await states()).to.deep.equal({ 'ada-000': 'archived', 'ada-001': 'draft', 'ada-002': 'archived' })
  })

  it('sets the same fields in all records by update, and deletes by destroy', async () => {
    const parts = await insertParts(database, [{}, {}])
    const ids = parts.map(({ id }) => id)
    await site.post('/parts/bulk/update', { json: { ids, note: 'x', price: '2.50' }, ...json })
    const found = await database.manager.find(Part)
    expect(found.map(({ note, price }) => [note, Number(price)])).to.deep.equal([
      ['x', 2.5],
      ['x', 2.5],
    ])
    expect((await site.post('/parts/bulk/destroy', { json: { ids }, ...json })).json).to.deep.equal({
      count: 2,
    })
    expect(await database.manager.count(Part)).to.equal(0)
  })

  it('is a 404 of the whole if one record is missing, or is that of somebody else, and a 403 if the policy forbids one', async () => {
    const [mine, protectedPart] = await insertParts(database, [{}, { name: 'protected' }])
    const [theirs] = await insertParts(database, [{}], 'eve')
    for (const [id, status] of [
      [noId, 404],
      ['x', 404],
      [theirs?.id, 404],
      [protectedPart?.id, 403],
    ] as const) {
      const response = await archive({ ids: [mine?.id, id] })
      expect(response.status, String(id)).to.equal(status)
      if (id !== 'x') expect(response.json.detail).to.match(/^Record [0-9a-f-]+: /)
      expect(Object.values(await states())).to.not.include('archived')
    }
  })

  it('is a 500 that changes nothing if the handler does not authorize one of the records', async () => {
    const [part] = await insertParts(database, [{}])
    behavior.skipsAuthorize = true
    for (const action of ['archive', 'destroy', 'update'])
      expect(
        (await site.post(`/parts/bulk/${action}`, { json: { ids: [part?.id] }, ...json })).status,
      ).to.equal(500)
    expect(await states()).to.deep.equal({ 'ada-000': 'draft' })
  })

  it('returns the errors of each record with 422, and changes nothing', async () => {
    const [first, second] = await insertParts(database, [{}, {}])
    const ids = [first?.id, second?.id]
    const { status, json: problem } = await site.post('/parts/bulk/update', {
      json: { ids, name: '' },
      ...json,
    })
    expect(status).to.equal(422)
    expect(problem.detail).to.equal('Nothing was saved: 2 records cannot be changed.')
    expect(problem.records).to.have.length(2)
    expect(problem.records[0]).to.include.keys('id', 'errors', 'codes')
    expect(problem.records[0].codes).to.deep.equal({ name: ['present'] })
    await database.transaction((tx) =>
      tx.save(Object.assign(new Offer(), { part_id: second?.id, title: 'x' })),
    )
    const refused = await site.post('/parts/bulk/destroy', { json: { ids }, ...json })
    expect(refused.status).to.equal(422)
    expect(refused.json.records.map(({ id }: { id: string }) => id)).to.deep.equal([second?.id])
    expect(await database.manager.count(Part)).to.equal(2)
    const xml = await site.post('/parts/bulk/destroy', { json: { ids }, accept: 'xml' })
    expect(xml.text).to.contain(`<records><record><id>${second?.id}</id>`)
  })

  it('selects all records of the list by the query, if they are as many as the client has seen', async () => {
    await insertParts(database, [{ state: 'active' }, {}, { state: 'active' }])
    await insertParts(database, [{ state: 'active' }], 'eve')
    const conflict = await archive({ all: 3 }, '?state=active')
    expect([conflict.status, conflict.json.detail]).to.deep.equal([
      409,
      'You selected 3 records, and there are 2 now.',
    ])
    expect(Object.values(await states())).to.not.include('archived')
    expect((await archive({ all: 2 }, '?state=active&sort=name&page=7')).json).to.deep.equal({ count: 2 })
    const all = await states()
    expect([all['ada-000'], all['ada-001'], all['ada-002'], all['eve-000']]).to.deep.equal([
      'archived',
      'draft',
      'archived',
      'active',
    ])
  })

  itOnce('rejects a wrong query with 400, and a wrong selection with 422', async () => {
    const [part] = await insertParts(database, [{}])
    expect((await archive({ all: 1 }, '?stat=draft')).status).to.equal(400)
    expect((await site.post('/parts/bulk/archive?stat=draft', { form: { all: '1' } })).status).to.equal(400)
    const bodies = [
      {},
      { ids: [] },
      { ids: [''] },
      { ids: [part?.id], all: 1 },
      { all: 'x' },
      { all: 1001 },
      { all: 1.5 },
    ]
    for (const body of [...bodies, { ids: Array.from({ length: 1001 }, () => crypto.randomUUID()) }]) {
      const { status, json: problem } = await archive(body)
      expect([status, Object.keys(problem.errors ?? {})], JSON.stringify(body).slice(0, 80)).to.deep.equal([
        422,
        ['ids'],
      ])
    }
  })

  itOnce('reads the ids of XML', async () => {
    const parts = await insertParts(database, [{}, {}])
    for (const chosen of [parts, parts.slice(1)]) {
      const xml = `<bulk><ids>${chosen.map(({ id }) => `<id>${id}</id>`).join('')}</ids></bulk>`
      const { status, text } = await site.post('/parts/bulk/archive', { xml, accept: 'xml' })
      expect([status, text]).to.deep.equal([
        200,
        `<?xml version="1.0" encoding="UTF-8"?>\n<part><count>${chosen.length}</count></part>\n`,
      ])
    }
  })

  itOnce('compares no version: a condition is 412', async () => {
    const [part] = await insertParts(database, [{}])
    const { status } = await archive({ ids: [part?.id] }, '', { 'If-Match': '"1"' })
    expect(status).to.equal(412)
  })

  it('redirects a browser to the list with its query, and shows the errors of the records with their links', async () => {
    const [part, other] = await insertParts(database, [{ name: 'Bolt M4' }, {}])
    const page = await site.get('/parts?state=draft')
    expect(page.text).to.contain('formaction="/parts/bulk/archive?state=draft"')
    expect(page.text).to.contain(`value="${part?.id}" form="bulk" aria-label="Select ${part?.name}"`)
    expect(page.text).to.contain('value="2"> All 2')
    const done = await site.post('/parts/bulk/archive?state=draft', { form: { ids: [part?.id ?? ''] } })
    expect([done.status, done.location]).to.deep.equal([303, '/parts?state=draft'])
    expect((await site.get(done.location)).text).to.contain('1 record was changed.')
    await database.transaction((tx) => tx.save(Object.assign(new Offer(), { part_id: part?.id, title: 'x' })))
    const form = { ids: [part?.id ?? '', other?.id ?? ''] }
    const refused = await site.post('/parts/bulk/destroy', { form })
    expect(refused.status).to.equal(422)
    expect(refused.text).to.contain(`<a href="/parts/${part?.id}">Bolt M4</a>`)
    expect(refused.text).to.contain('Back to the list')
  })

  itOnce(
    'runs the middleware of the handler once, before the first call, and that of the list for all',
    async () => {
      const parts = await insertParts(database, [{}, {}])
      behavior.calls = []
      behavior.before = () => void behavior.calls.push('call')
      await archive({ ids: parts.map(({ id }) => id) })
      expect(behavior.calls).to.deep.equal(['guard of archive', 'call', 'call'])
      behavior.calls = []
      await archive({ all: 2 })
      expect(behavior.calls).to.deep.equal(['guard of archive', 'guard of list', 'call', 'call'])
      behavior.calls = []
      const headers = { 'Content-Type': 'text/csv' }
      await site.post('/parts/import', { body: 'sku,name\na,A\nb,B\n', headers })
      expect(behavior.calls).to.deep.equal(['guard of create', 'guard of update', 'call', 'call'])
    },
  )

  it('shows no form for an empty list', async () => {
    expect((await site.get('/parts')).text).to.not.contain('formaction')
  })
})
