import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { pino } from 'pino'
import { channels } from '../../src/common/channels.js'
import type { Database } from '../../src/index.js'
import {
  behavior,
  insertParts,
  insertSupplier,
  Offer,
  Part,
  partsApp,
  partsDatabase,
  Supplier,
} from '../support/applications/parts.js'
import { itOnce } from '../support/engine.js'
import { Site, type SpecResponse } from '../support/site.js'

/** The errors of the lines: `{ 3: { price: ['type.decimal'] } }`. */
function codesOf({ json }: SpecResponse): Record<number, Record<string, string[]>> {
  const lines: { line: number; codes: Record<string, string[]> }[] = json.lines
  return Object.fromEntries(lines.map(({ line, codes }) => [line, codes]))
}

describe('@Resource({ import })', () => {
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

  const send = (body: string | Uint8Array, path = '/parts/import', headers: Record<string, string> = {}) =>
    site.post(path, { body, accept: '*/*', headers: { 'Content-Type': 'text/csv', ...headers } })
  const parts = () => database.manager.find(Part, { order: { sku: 'ASC' } })

  it('creates a record for each line, and updates those that the key finds', async () => {
    const [old] = await insertParts(database, [{ sku: '007', name: 'Old', note: 'kept' }])
    const supplier = await insertSupplier(database, 'ACME')
    const response = await send(
      'id,sku,Price,name,supplier.code,is_new,made_on,stock,created_at\r\n' +
        'x,007,12.50,"Bolt, M4",ACME,TRUE,2026-02-28,9007199254740993,2020\r\n\r\n' +
        ',008,,"\'=not a formula",,False,,\r\n',
    )
    expect(response.json).to.deep.equal({ created: 1, updated: 1, ignored: ['id', 'created_at'] })
    expect(response.status).to.equal(200)
    const [first, second] = await parts()
    expect(first).to.deep.include({
      id: old?.id,
      user_id: 'ada',
      name: 'Bolt, M4',
      note: 'kept',
      is_new: true,
      made_on: '2026-02-28',
      stock: '9007199254740993',
      supplier_id: supplier.id,
    })
    expect(Number(first?.price)).to.equal(12.5)
    expect(second).to.deep.include({
      sku: '008',
      name: '=not a formula',
      price: null,
      supplier_id: null,
      user_id: 'ada',
    })
  })

  it('saves nothing if a line is wrong, and returns the errors of all lines by their columns', async () => {
    await insertParts(database, [{ sku: 'taken', name: 'Theirs' }], 'eve')
    await insertSupplier(database, 'EVE', 'eve')
    const response = await send(
      [
        'sku,name,price,supplier.code,state',
        'a,Good,1,,draft',
        'b,,x,,draft',
        'c,Name,1,EVE,draft',
        '"d\nd",Name,1,,wrong',
        'taken,Name,1,,draft',
        'e,hooked,1,,draft',
        'a,Again,1,,draft',
        'f,Name,1,,draft,more',
      ].join('\n'),
    )
    expect(response.status).to.equal(422)
    expect(response.json.title).to.equal('Unprocessable Entity')
    expect(response.json.detail).to.equal('7 of 8 lines are not valid. Nothing was saved.')
    expect(codesOf(response)).to.deep.equal({
      3: { name: ['present'], price: ['type.decimal'] },
      4: { 'supplier.code': ['reference'] },
      5: { state: ['type.enum'] },
      6: { sku: ['unique'] },
      7: { name: ['hooked'] },
      8: { sku: ['csv.repeated'] },
      9: { base: ['csv.cells'] },
    })
    expect(response.json.lines[1].errors).to.deep.equal({ 'supplier.code': ['Supplier does not exist.'] })
    expect(response.json.lines[5].errors).to.deep.equal({ sku: ['SKU is repeated: it is in line 2, too.'] })
    expect(await database.manager.count(Part)).to.equal(1)
  })

  it('does not find, change or reveal the records of another user', async () => {
    const [theirs] = await insertParts(database, [{ sku: 'theirs', name: 'Theirs' }], 'eve')
    const response = await send('sku,name\ntheirs,Mine\n')
    expect(codesOf(response)).to.deep.equal({ 2: { sku: ['unique'] } })
    expect((await database.manager.findOneByOrFail(Part, { sku: 'theirs' })).id).to.equal(theirs?.id)
    expect((await database.manager.findOneByOrFail(Part, { sku: 'theirs' })).name).to.equal('Theirs')
  })

  it('is a 500 that saves nothing if the handler does not authorize one of the records', async () => {
    await insertParts(database, [{ sku: 'old' }])
    behavior.before = (ctx) => void (behavior.skipsAuthorize = ctx.importLine === 3)
    expect((await send('sku,name\na,A\nb,B\nc,C\n')).status).to.equal(500)
    expect((await send('sku,name\na,A\nold,B\n')).status).to.equal(500)
    expect((await parts()).map(({ name }) => name)).to.deep.equal(['Bolt 0'])
  })

  it('ends with the status of a handler that throws, whose detail names the line', async () => {
    behavior.before = (ctx) => ctx.importLine === 3 && ctx.throw(409, 'Closed.')
    const response = await send('sku,name\na,A\nb,B\n')
    expect([response.status, response.json.detail]).to.deep.equal([409, 'Line 3: Closed.'])
    expect(await database.manager.count(Part)).to.equal(0)
  })

  it('checks without saving, and rejects any other query', async () => {
    let commits = 0
    behavior.before = (ctx) => ctx.afterCommit(() => (commits += 1))
    const checked = await send('sku,name\na,A\n', '/parts/import?check=true')
    expect([checked.status, checked.json]).to.deep.equal([200, { created: 1, updated: 0, ignored: [] }])
    expect([await database.manager.count(Part), commits]).to.deep.equal([0, 0])
    for (const query of ['check=1', 'chek=true', 'check=true&x=1', 'check'])
      expect((await send('sku,name\na,A\n', `/parts/import?${query}`)).status, query).to.equal(400)
    expect((await send('sku,name\na,A\n')).json.created).to.equal(1)
    expect([await database.manager.count(Part), commits]).to.deep.equal([1, 1])
  })

  it('reads UTF-8 and UTF-16 with a mark, and names the first line that is neither', async () => {
    const text = 'sku,name\nä,Mutter\nb,€\n'
    expect((await send(`\uFEFF${text}`)).json.created).to.equal(2)
    expect((await send(Buffer.from(`\uFEFF${text}`, 'utf16le'))).json.updated).to.equal(2)
    expect((await send(Buffer.from(`\uFEFF${text}`, 'utf16le').swap16())).json.updated).to.equal(2)
    const latin = Buffer.from('sku,name\n"a\nb",B\nc,Größe\n', 'latin1')
    expect(codesOf(await send(latin))).to.deep.equal({ 3: { base: ['csv.encoding'] } })
    const { text: names } = await site.get('/parts', { accept: 'text/csv' })
    expect(names).to.contain(',ä,Mutter,')
  })

  it('reads the decimals and dates of spreadsheets where the separator is a semicolon', async () => {
    const german = { 'Accept-Language': 'de' }
    expect(
      (await send('sku;name;Preis;made_on\na;A;12,50;28.02.2026\nb;B;1.5;2026-02-28\n', undefined, german))
        .json,
    ).to.include({ created: 2 })
    const found = await parts()
    expect(found.map(({ price, made_on }) => [Number(price), made_on])).to.deep.equal([
      [12.5, '2026-02-28'],
      [1.5, '2026-02-28'],
    ])
    const unclear = await send('sku;name;price;stock\nt;T;1.000;-1.000.000\n')
    expect(codesOf(unclear)).to.deep.equal({ 2: { price: ['csv.thousands'], stock: ['csv.thousands'] } })
    expect((await send('sku,name,price\nt,T,1.000\n')).json).to.include({ created: 1 })
    const wrong = await send('sku;name;price;made_on\nc;C;1.234,5;2/28/2026\n')
    expect(codesOf(wrong)).to.deep.equal({ 2: { price: ['type.decimal'], made_on: ['type.date'] } })
    expect(codesOf(await send('sku,name,price\nc,C,"12,50"\n'))).to.deep.equal({
      2: { price: ['type.decimal'] },
    })
    expect((await send('sku\tname\nd\tD;,D\n')).json).to.include({ created: 1 })
  })

  itOnce('rejects a file without lines, with wrong columns or without the key at line 1', async () => {
    const rows: [string, Record<string, string[]>][] = [
      ['sku,name\n', { base: ['csv.empty'] }],
      ['\n\n', { base: ['csv.empty'] }],
      ['sku,nmae\na,A\n', { nmae: ['csv.column_near'] }],
      ['sku,whatever\na,A\n', { whatever: ['csv.column'] }],
      ['sku,name,SKU\na,A,a\n', { sku: ['csv.repeated'] }],
      ['name\nA\n', { sku: ['csv.key'] }],
      ['id,created_at\nA,1\n', { base: ['csv.heading'] }],
    ]
    for (const [text, codes] of rows) expect(codesOf(await send(text)), text).to.deep.equal({ 1: codes })
    expect(codesOf(await send('sku,name\na,"A\n'))).to.deep.equal({ 2: { base: ['csv.quote'] } })
    expect(codesOf(await send('sku,name\na,A\nb,"B"x\n'))).to.deep.equal({ 3: { base: ['csv.quote'] } })
    const { json } = await send('sku,nmae\na,A\n')
    expect(json.lines[0].errors.nmae).to.deep.equal(['There is no column "nmae". Did you mean "name"?'])
    expect(await database.manager.count(Part)).to.equal(0)
  })

  itOnce('limits the body, and reads CSV at this route alone', async () => {
    expect((await send('')).status).to.equal(400)
    const long = `sku,name\n${Array.from({ length: 10_001 }, (_, index) => `${index},A`).join('\n')}`
    expect((await send(long)).json).to.include({
      status: 413,
      detail: 'The file has more than 10000 lines. Import it in several pieces.',
    })
    expect((await send('x'.repeat(11 * 1024 * 1024))).status).to.equal(413)
    expect((await send(`sku,name\n${'\n'.repeat(110_000)}a,A`)).status).to.equal(413)
    const many = await send(
      `${Array.from({ length: 200_000 }, (_, index) => `wrong${index}`).join(',')}\na,A`,
    )
    expect(Object.keys(many.json.lines[0].errors)).to.have.length(20)
    expect((await send('a,b\n1,2', '/parts')).status).to.equal(415)
    expect((await site.post('/parts/import', { json: { sku: 'a' }, accept: 'json' })).status).to.equal(400)
    expect(
      (await send(gzipSync('sku,name\na,A\n'), undefined, { 'Content-Encoding': 'gzip' })).json.created,
    ).to.equal(1)
  })

  it('takes the file of a form, and shows the errors on its page', async () => {
    const page = await site.get('/parts/import')
    expect(page.text).to.contain('type="file" name="file"').and.contain('<code>supplier.code</code>')
    const form = (text: string) => {
      const data = new FormData()
      data.append('file', new File([text], 'parts.csv', { type: 'text/csv' }))
      return data
    }
    const wrong = await site.post('/parts/import', { form: form('sku,name,price\na,A,x\n') })
    expect([wrong.status, wrong.headers.get('content-type')]).to.deep.equal([422, 'text/html; charset=utf-8'])
    expect(wrong.text)
      .to.contain('1 of 1 lines is not valid. Nothing was saved.')
      .and.contain('Price must be a decimal number')
    const checked = await site.post('/parts/import?check=true', { form: form('sku,name\na,A\n') })
    expect(checked.text).to.contain('1 would be created')
    const done = await site.post('/parts/import', { form: form('sku,name\na,A\n') })
    expect([done.status, done.location]).to.deep.equal([303, '/parts'])
    expect((await site.get('/parts')).text).to.contain('Imported: 1 created, 0 updated.')
  })

  itOnce('needs the token of csrf() for a form, and treats text/csv as JSON', async () => {
    await site.close()
    site = await Site.open(partsApp(database, { hasCsrf: true }))
    const data = new FormData()
    data.append('file', new File(['sku,name\na,A\n'], 'parts.csv'))
    expect((await site.post('/parts/import', { form: data, fromPage: false })).status).to.equal(403)
    expect((await send('sku,name\na,A\n')).status).to.equal(200)
  })

  it('compares the version of each line, by its id, below the parent of the path', async () => {
    const [mine, other] = await insertParts(database, [{}, {}])
    const [offer, elsewhere] = await database.transaction(async (tx) => [
      await tx.save(Object.assign(new Offer(), { part_id: mine?.id, title: 'a' })),
      await tx.save(Object.assign(new Offer(), { part_id: other?.id, title: 'b' })),
    ])
    const path = `/parts/${mine?.id}/offers/import`
    const lines = (version: number) => `id,title,lock_version\n${offer?.id},changed,${version}\n,new,\n`
    expect((await send(lines(1), path)).json).to.deep.equal({ created: 1, updated: 1, ignored: [] })
    expect(codesOf(await send(lines(1), path))).to.deep.equal({ 2: { base: ['stale'] } })
    expect(
      codesOf(await send(`id,title\n${elsewhere?.id},x\n${crypto.randomUUID()},y\nz,z`, path)),
    ).to.deep.equal({
      2: { id: ['reference'] },
      3: { id: ['reference'] },
      4: { id: ['reference'] },
    })
    expect(await database.manager.count(Offer)).to.equal(3)
  })

  it('rejects a null character, which no engine stores, at its line', async () => {
    const response = await send('sku,name\na,A\u0000\nb,B\n')
    expect(response.status).to.equal(422)
    expect(response.json.lines.map(({ line }: { line: number }) => line)).to.deep.equal([2])
    expect((await send('sku,name\na\u0000,A\n')).status).to.equal(422)
    expect(await database.manager.count(Part)).to.equal(0)
  })

  it('compares keys letter by letter', async () => {
    await insertParts(database, [{ sku: 'abc' }])
    const response = await send('sku,name\nABC,Upper\n')
    expect(response.json).to.include({ created: 1, updated: 0 })
  })

  it('sends consecutive inserts together, and finds the lines of those that the database rejects', async () => {
    const statements: string[] = []
    const listen = (message: unknown): void =>
      void statements.push(String(Reflect.get(Object(message), 'sql')))
    const file = (repeated: number) =>
      `code\n${Array.from({ length: 1200 }, (_, index) => `c${index === repeated ? 3 : index}`).join('\n')}\n`
    const wrong = await send(file(1100), '/suppliers/import')
    expect(codesOf(wrong)).to.deep.equal({ 1102: { code: ['unique'] } })
    expect(await database.manager.count(Supplier)).to.equal(0)
    subscribe(channels.query.name, listen)
    expect((await send(file(-1), '/suppliers/import')).json.created).to.equal(1200)
    unsubscribe(channels.query.name, listen)
    expect(statements.filter((sql) => sql.startsWith('INSERT'))).to.have.length.at.most(4)
    expect(await database.manager.count(Supplier)).to.equal(1200)
  })

  it('sends the inserts before a statement that could read them, but not before others', async () => {
    const counts: number[] = []
    behavior.before = async (ctx) => void counts.push(await ctx.tx.count(Supplier))
    await send('code\na\nb\nc\n', '/suppliers/import')
    expect(counts).to.deep.equal([0, 1, 2])
    behavior.before = async (ctx) => void counts.push((await ctx.findAll(Supplier)).length)
    await send('code\nd\ne\n', '/suppliers/import')
    expect(counts.slice(3)).to.deep.equal([3, 4])
  })

  itOnce('has the numbers in the line of the log, and no cell', async () => {
    await site.close()
    const lines: string[] = []
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
    site = await Site.open(partsApp(database, { logger }))
    await send('sku,name\nsecret-1,A\nsecret-2,B\n')
    await site.get('/parts.csv')
    const [part] = await parts()
    await site.post('/parts/bulk/archive', { json: { ids: [part?.id] }, accept: 'json' })
    await site.close()
    const fields = lines
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter(({ method }) => method)
    expect(fields[0]).to.deep.include({ lines: 2, created: 2, updated: 0 })
    expect(fields[1]).to.deep.include({ rows: 2 })
    expect(fields[2]).to.deep.include({ records: 1 })
    expect(lines.join()).to.not.contain('secret')
  })

  itOnce('has no page in an API application, and JSON for everybody', async () => {
    await site.close()
    site = await Site.open(partsApp(database, { api: true }))
    expect((await site.get('/parts/import', { accept: 'json' })).status).to.equal(404)
    const wrong = await send('sku,name\na,\n', undefined, { Accept: 'text/html' })
    expect([wrong.status, wrong.headers.get('content-type')]).to.deep.equal([422, 'application/problem+json'])
    expect((await send('sku,name\na,A\n', undefined, { Accept: 'text/html' })).status).to.be.oneOf([200, 406])
  })

  it('stops after 100 lines with errors', async () => {
    const response = await send(
      `sku,name\n${Array.from({ length: 150 }, (_, index) => `${index},`).join('\n')}`,
    )
    expect(response.json.lines).to.have.length(100)
    expect(response.json.detail).to.equal(
      'The first 100 lines that are not valid, of 150. Nothing was saved.',
    )
  })
})
