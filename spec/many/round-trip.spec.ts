import { once } from 'node:events'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import {
  behavior,
  insertParts,
  insertSupplier,
  Part,
  partsApp,
  partsDatabase,
} from '../support/applications/parts.js'
import { engine, itOnce } from '../support/engine.js'
import { Random } from '../support/random.js'
import { Site } from '../support/site.js'

/**
 * The number of random tables: `KIT_MANY`, or a few, and a third of them on a server. Other specs have as many hundreds of lines, or
 * tens of thousands of rows.
 */
const total = Math.ceil(Number(process.env['KIT_MANY'] ?? 6) / (engine === 'sqlite' ? 1 : 3))
const seed = Number(process.env['KIT_MANY_SEED'] ?? Date.now() % 2 ** 31)

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const pieces = [
  '=',
  '+',
  '-',
  '@',
  '\t',
  '\r',
  "'",
  '"',
  ',',
  ';',
  '\n',
  '\r\n',
  ' ',
  '007',
  'ä',
  '€',
  '😀',
] as const
const more = [
  '\u0085',
  '\u2028',
  '\uFEFF',
  '\u00A0',
  'a',
  'Bolt',
  'null',
  'TRUE',
  '#',
  '\\',
  '.',
  '1,5',
] as const

function textOf(random: Random): string {
  return random.several(6, () => random.of([...pieces, ...more])).join('')
}

/** A part with texts that are hard to write as CSV. */
function partOf(random: Random, index: number, suppliers: readonly string[]): Partial<Part> {
  const maybe = <T>(value: T): T | null => (random.chance(0.3) ? null : value)
  const digits = `${random.below(10 ** 7)}.${String(random.below(100)).padStart(2, '0')}`
  return {
    sku: `${textOf(random)}${index}`,
    name: `${textOf(random)}x${random.chance(0.5) ? ' ' : ''}`,
    // An empty text is an empty cell, which is null.
    note: textOf(random) || null,
    price: maybe(random.chance(0.5) ? digits : `-${digits}`),
    state: random.of(['draft', 'active', 'archived']),
    is_new: random.chance(0.5),
    made_on: maybe(`20${String(10 + random.below(80))}-0${1 + random.below(9)}-1${random.below(10)}`),
    stock: maybe(String(BigInt(random.below(2 ** 31)) * 2n ** 31n)),
    seen_at: maybe(new Date(random.below(2 ** 31) * 1000 + random.below(1000))),
    supplier_id: maybe(suppliers[random.below(suppliers.length)] ?? null),
  }
}

describe('A CSV file that is exported and imported', () => {
  let database: Database
  let site: Site
  beforeEach(async () => {
    database = await partsDatabase()
    site = await Site.open(partsApp(database))
  })
  afterEach(async () => {
    behavior.before = undefined
    await site.close()
    await database.close()
  })

  const rows = () => database.manager.find(Part, { order: { id: 'ASC' } })
  const send = (body: string) =>
    site.post('/parts/import', { body, accept: 'json', headers: { 'Content-Type': 'text/csv' } })
  /** The values of the parts that a file has. */
  const values = async () =>
    (await rows())
      .map(({ id: _id, created_at: _created, updated_at: _updated, ...part }) => JSON.stringify(part))
      .toSorted()

  it('changes nothing, and makes equal records in an empty table, in both forms and in German', async () => {
    for (let round = 0; round < total; round += 1) {
      const random = new Random(seed + round)
      const note = `KIT_MANY_SEED=${seed + round} KIT_MANY=1`
      const suppliers = [
        await insertSupplier(database, `=${round}`),
        await insertSupplier(database, `ä;"${round}`),
      ]
      const ids = suppliers.map(({ id }) => id)
      await insertParts(
        database,
        Array.from({ length: 12 }, (_, index) => partOf(random, index, ids)),
      )
      const before = await rows()
      const all = await values()
      const german = { 'Accept-Language': 'de' }
      for (const [path, accept, headers] of [
        ['/parts', 'text/csv', {}],
        ['/parts.csv', '*/*', {}],
        ['/parts.csv', '*/*', german],
      ] as const) {
        const { text } = await site.get(path, { accept, headers })
        const same = await send(text)
        expect(same.json, note).to.deep.include({ created: 0, updated: 12 })
        expect(await rows(), note).to.deep.equal(before)
      }
      const { text } = await site.get('/parts.csv', { headers: german })
      await database.manager.deleteAll(Part)
      expect((await send(text)).json, note).to.deep.include({ created: 12, updated: 0 })
      expect(await values(), note).to.deep.equal(all)
      await database.manager.deleteAll(Part)
    }
  })

  it('has each record of the list once and in its order, as the pages of JSON have', async () => {
    const random = new Random(seed)
    await insertParts(
      database,
      Array.from({ length: 60 }, (_, index) => partOf(random, index, [])),
    )
    for (const query of ['', 'sort=-sku', 'sort=name', 'state=draft', 'search=Bolt&sort=sku']) {
      const walked: string[] = []
      for (let page = 1; ; page += 1) {
        const { json } = await site.get(`/parts?${query}&per_page=25&page=${page}`, { accept: 'json' })
        walked.push(...json.map(({ id }: Part) => id))
        if (json.length < 25) break
      }
      const { text } = await site.get(`/parts?${query}`, { accept: 'text/csv' })
      const exported = [...text.matchAll(/(?:^|\n)([0-9a-f]{8}-[0-9a-f-]{27}),/g)].map(([, id]) => id)
      expect(exported, `${query} KIT_MANY_SEED=${seed}`).to.deep.equal(walked)
    }
  })

  it('names the one wrong line of thousands and its column, stores nothing, and stores each line once if it is sent again', async () => {
    const lines = Math.min(5000, 100 * total)
    const wrong = Math.floor(lines * 0.7)
    const file = (index: number) =>
      `sku,name\n${Array.from({ length: lines }, (_, n) => `s${n},${n === index ? '' : 'N'}`).join('\n')}\n`
    const response = await send(file(wrong))
    expect(response.json.lines).to.have.length(1)
    const [{ line, codes }] = response.json.lines
    expect([line, codes]).to.deep.equal([wrong + 2, { name: ['present'] }])
    expect(await database.manager.count(Part)).to.equal(0)
    expect((await send(file(-1))).json).to.deep.include({ created: lines })
    expect((await send(file(-1))).json).to.deep.include({ created: 0, updated: lines })
    expect(await database.manager.count(Part)).to.equal(lines)
  })

  it('stores nothing if its upload is cut', async () => {
    const { port } = new URL(site.url)
    const socket = connect(Number(port), '127.0.0.1')
    await once(socket, 'connect')
    socket.write(
      'POST /parts/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/csv\r\nContent-Length: 1000\r\n\r\nsku,name\na,A\nb,B\n',
    )
    socket.end()
    await once(socket.resume(), 'close')
    expect(await database.manager.count(Part)).to.equal(0)
  })

  it('has the errors and codes of a form and of JSON', async () => {
    await insertParts(database, [{ sku: 'taken' }], 'eve')
    const theirs = await insertSupplier(database, 'EVE', 'eve')
    const [sku, name] = ['a', 'x']
    const bodies: Record<string, string>[] = [
      {},
      { sku },
      { sku, name: '' },
      { sku: '', name: ' ' },
      { sku: '\t', name },
      { sku: 'taken', name },
      { sku: 'taken', name, price: 'x' },
      { sku, name: 'hooked' },
      { sku, name: 'hooked', state: '' },
      ...['x', '12345678901.5', '1,5', '1.234,5', '1e400', 'NaN', '--1'].map((price) => ({
        sku,
        name,
        price,
      })),
      ...['no', 'DRAFT', 'draft,active'].map((state) => ({ sku, name, state })),
      { sku, name, is_new: 'maybe' },
      ...['2026-02-30', '28.02.2026', '2/28/2026', '2026-2-8'].map((made_on) => ({ sku, name, made_on })),
      ...['1.5', '99999999999999999999', '1e3', 'x'].map((stock) => ({ sku, name, stock })),
      ...['now', '2026-02-30T10:00:00Z'].map((seen_at) => ({ sku, name, seen_at })),
      ...['x', theirs.id, '00000000-0000-4000-8000-000000000000'].map((supplier_id) => ({
        sku,
        name,
        supplier_id,
      })),
    ]
    expect(bodies).to.have.length.at.least(30)
    for (const body of bodies) {
      const title = JSON.stringify(body).slice(0, 100)
      const [form, json] = [
        await site.post('/parts', { form: body, accept: 'json' }),
        await site.post('/parts', { json: body, accept: 'json' }),
      ]
      const names = Object.keys({ sku: '', ...body })
      const line = names.map((name) => `"${body[name] ?? ''}"`).join(',')
      // The line needs another cell, because lines without text are left out.
      const imported = await send(`${names.join(',')},note\n${line},x\n`)
      expect(form.status, title).to.equal(json.status).and.be.oneOf([409, 422])
      expect(imported.status, title).to.equal(422)
      expect(form.json.codes, title).to.deep.equal(json.json.codes)
      const { codes, errors } = imported.json.lines?.[0] ?? {}
      expect({ codes, errors }, title).to.deep.equal({ codes: json.json.codes, errors: json.json.errors })
    }
  })

  itOnce('needs the memory of a part of the file', async function () {
    const count = Math.min(200_000, 5000 * total)
    await database.manager.query(
      `WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT ${count})
       INSERT INTO parts (id, user_id, sku, name, state, is_new, note)
       SELECT printf('00000000-0000-4000-8000-%012d', n), 'ada', 's' || n, 'Bolt', 'draft', 0, printf('%.*c', 200, 'x') FROM s`,
    )
    const used = () => {
      collectGarbage()
      const { heapUsed, external } = process.memoryUsage()
      return heapUsed + external
    }
    const response = await fetch(`${site.url}/parts.csv`)
    const before = used()
    let [bytes, most] = [0, 0]
    for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
      if (Math.floor(bytes / 2 ** 21) < Math.floor((bytes + chunk.length) / 2 ** 21))
        most = Math.max(most, used())
      bytes += chunk.length
    }
    expect(bytes).to.be.above(count * 200)
    expect(most - before).to.be.below(32 * 2 ** 20)
  })
})
