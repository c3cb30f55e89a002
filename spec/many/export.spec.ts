import { request } from 'node:http'
import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import {
  behavior,
  insertParts,
  insertSupplier,
  Offer,
  Part,
  partsApp,
  partsDatabase,
} from '../support/applications/parts.js'
import { itOnce } from '../support/engine.js'
import { Site } from '../support/site.js'

const csv = { accept: 'text/csv' }

/** The cells of a file without quotes. */
function cells(text: string, separator = ','): string[][] {
  const lines = text.replace(/^\uFEFF/, '').split('\r\n')
  expect(lines.pop()).to.equal('')
  return lines.map((line) => line.split(separator))
}

describe('@Resource({ csv })', () => {
  let database: Database
  let site: Site
  beforeEach(async () => {
    database = await partsDatabase()
    site = await Site.open(partsApp(database))
  })
  afterEach(async () => {
    behavior.respond = undefined
    await site.close()
    await database.close()
  })

  it('responds to Accept: text/csv with all records of the list in its columns, without a mark', async () => {
    const supplier = await insertSupplier(database, 'ACME')
    const [part] = await insertParts(database, [
      {
        sku: '007',
        name: 'Bolt, "M4"',
        price: '12.50',
        note: 'two\r\nlines',
        is_new: true,
        made_on: '2026-02-28',
        stock: '9007199254740993',
        seen_at: new Date('2026-02-28T10:30:00.000Z'),
        supplier_id: supplier.id,
      },
    ])
    const { status, headers, text } = await site.get('/parts', csv)
    expect(status).to.equal(200)
    expect(headers.get('content-type')).to.equal('text/csv; charset=utf-8')
    expect(headers.get('content-disposition')).to.equal(null)
    expect(headers.get('vary')).to.contain('Accept')
    for (const name of ['etag', 'link', 'x-total-count']) expect(headers.get(name), name).to.equal(null)
    expect(text).to.equal(
      'id,sku,name,price,state,note,is_new,made_on,stock,seen_at,supplier.code,created_at\r\n' +
        `${part?.id},007,"Bolt, ""M4""",12.50,draft,"two\r\nlines",true,2026-02-28,9007199254740993,` +
        `2026-02-28T10:30:00.000Z,ACME,${part?.created_at.toISOString()}\r\n`,
    )
  })

  it('exports all pages by the filters, the search and the order of the request, within the scope of the policy', async () => {
    await insertParts(
      database,
      Array.from({ length: 130 }, (_, index) => ({ state: index < 125 ? 'draft' : 'active' })),
    )
    await insertParts(database, [{}, {}], 'eve')
    const all = cells((await site.get('/parts?sort=-sku&per_page=3&page=2', csv)).text)
    expect(all).to.have.length(131)
    expect(all.slice(1, 3).map(([, sku]) => sku)).to.deep.equal(['ada-129', 'ada-128'])
    const some = cells((await site.get('/parts.csv?state=active&search=Bolt')).text)
    expect(some.slice(1).map(([, sku]) => sku)).to.have.members([
      'ada-125',
      'ada-126',
      'ada-127',
      'ada-128',
      'ada-129',
    ])
  })

  it('leaves the cell of a record that the policy hides empty', async () => {
    const theirs = await insertSupplier(database, 'EVE', 'eve')
    await insertParts(database, [{ supplier_id: theirs.id }])
    const [, line] = cells((await site.get('/parts', csv)).text)
    expect(line?.[10]).to.equal('')
  })

  it('writes one apostrophe before the text that a spreadsheet would run, but not before numbers', async () => {
    const names = ['=1+1', '+1', '-1', '@A1', "'=x", "''-x", 'a=1', "'x"]
    await insertParts(
      database,
      names.map((name) => ({ name, price: '-5.00' })),
    )
    const lines = cells((await site.get('/parts?sort=sku', csv)).text).slice(1)
    expect(lines.map((line) => line[2])).to.deep.equal([
      "'=1+1",
      "'+1",
      "'-1",
      "'@A1",
      "''=x",
      "'''-x",
      'a=1',
      "'x",
    ])
    expect(lines[0]?.[3]).to.equal('-5.00')
  })

  it('is a file for spreadsheets at /parts.csv', async () => {
    await insertParts(database, [{ price: '12.50', name: 'a;b' }])
    const english = await site.get('/parts.csv')
    expect(english.headers.get('content-disposition')).to.equal('attachment; filename="parts.csv"')
    // The client has removed the mark.
    const bytes = await site.raw('GET /parts.csv HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
    expect(bytes).to.contain('\uFEFFid,sku')
    expect(cells(english.text)[1]?.slice(2, 4)).to.deep.equal(['a;b', '12.50'])
    for (const language of ['de', 'fr', 'es']) {
      const headers = { 'Accept-Language': language }
      const { text } = await site.get('/parts.csv', { headers })
      expect(text.replace(/^\uFEFF/, '').split('\r\n')[1], language).to.contain(';"a;b";12,50;draft;')
      expect((await site.get('/parts', { ...csv, headers })).text, language).to.contain(',a;b,12.50,')
    }
  })

  itOnce('never means CSV by groups of types, and prefers the better quality', async () => {
    const type = async (accept: string) => (await site.get('/parts', { accept })).headers.get('content-type')
    for (const accept of ['*/*', 'text/*', 'application/json, text/csv;q=0.5', 'application/json, text/csv'])
      expect(await type(accept).catch(() => 'page'), accept).to.not.contain('csv')
    for (const accept of ['text/csv', 'text/csv, application/json;q=0.5', 'text/csv, */*']) {
      expect(await type(accept), accept).to.contain('text/csv')
    }
  })

  it('reads no row for HEAD', async () => {
    await insertParts(database, [{}])
    const response = await new Promise<{ status: number | undefined; type: unknown }>((resolve, reject) => {
      const head = request(`${site.url}/parts.csv`, { method: 'HEAD', agent: false }, (message) => {
        message.resume()
        resolve({ status: message.statusCode, type: message.headers['content-type'] })
      })
      head.on('error', reject).end()
    })
    expect(response).to.deep.equal({ status: 200, type: 'text/csv; charset=utf-8' })
  })

  itOnce('rejects parameters of pages and wrong ones with 400, as JSON to programs', async () => {
    for (const query of ['stat=draft', 'after=x', 'before=x', 'include=supplier', 'sort=price']) {
      const { status, headers, json } = await site.get(`/parts?${query}`, csv)
      expect(status, query).to.equal(400)
      expect(headers.get('content-type')).to.contain('application/problem+json')
      expect(Object.keys(json.errors)).to.deep.equal([query.split('=')[0]])
    }
    expect((await site.get('/parts.csv?stat=draft')).status).to.equal(400)
  })

  itOnce('is a 500 if the handler changes the records, or does not respond with them', async () => {
    const responses: (typeof behavior.respond)[] = [
      (ctx, parts) => ctx.respond({ data: parts.map(({ id }) => ({ id })) }),
      (ctx, parts) => ctx.respond({ data: parts, json: () => [] }),
      (ctx, parts) => ctx.respond({ data: () => parts.filter(() => true) }),
      (ctx) => ctx.render('parts'),
    ]
    for (const respond of responses) {
      behavior.respond = respond
      expect((await site.get('/parts', csv)).status).to.equal(500)
    }
    behavior.respond = (ctx, parts) => ctx.respond({ data: async () => ctx.load(parts, 'supplier') })
    expect((await site.get('/parts', csv)).status).to.equal(200)
  })

  it('exports nested lists below their parent', async () => {
    const [mine] = await insertParts(database, [{}])
    const [theirs] = await insertParts(database, [{}], 'eve')
    await database.transaction(async (tx) => {
      await tx.save(Object.assign(new Offer(), { part_id: mine?.id, title: 'b' }))
      await tx.save(Object.assign(new Offer(), { part_id: mine?.id, title: 'a' }))
      await tx.save(Object.assign(new Offer(), { part_id: theirs?.id, title: 'c' }))
    })
    const lines = cells((await site.get(`/parts/${mine?.id}/offers.csv`)).text)
    expect(lines.map(([, title]) => title)).to.deep.equal(['title', 'a', 'b'])
    expect((await site.get(`/parts/${theirs?.id}/offers.csv`)).status).to.equal(404)
  })

  it('sends one statement', async () => {
    await insertParts(database, [{}, {}, {}])
    const statements: string[] = []
    const { subscribe, unsubscribe } = await import('node:diagnostics_channel')
    const { channels } = await import('../../src/common/channels.js')
    const listen = (message: unknown): void =>
      void statements.push(String(Reflect.get(Object(message), 'sql')))
    subscribe(channels.query.name, listen)
    await site.get('/parts.csv')
    unsubscribe(channels.query.name, listen)
    expect(statements.filter((sql) => /\bparts\b/.test(sql))).to.have.length(1)
  })

  it('gives the path of the file to templates', async () => {
    let url: string | undefined
    behavior.respond = async (ctx) => {
      const { query } = await ctx.paginate(Part)
      url = query.csvUrl
      return ctx.respond({ data: [] })
    }
    const json = { accept: 'json' }
    await site.get('/parts', json)
    expect(url).to.equal('/parts.csv')
    await site.get('/parts?state=draft&sort=-sku&page=2&per_page=5', json)
    expect(url).to.equal('/parts.csv?state=draft&sort=-sku')
  })
})
