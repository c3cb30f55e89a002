import { expect } from 'chai'
import type { Context } from '../../../src/index.js'
import {
  GuardedLetter,
  HeardLetter,
  Letter,
  newRecord,
  openOffice,
  Parcel,
  Postcard,
  unknownId,
  type Office,
} from '../../support/applications/letters.js'
import type { SpecRequest, SpecResponse } from '../../support/site.js'

const formats = ['json', 'xml'] as const

describe('The ETag header', () => {
  let office: Office
  let letter: Letter
  let path: string
  /** The handler of /tagged. */
  let respond: (ctx: Context) => unknown

  before(async () => {
    office = await openOffice({ api: false }, (app) => {
      app.get('/tagged', (ctx) => respond(ctx))
      app.get('/explicit/{id}', async (ctx) =>
        ctx.respond({ data: await ctx.find(Letter, ctx.params['id']) }),
      )
      app.put('/explicit/{id}', async (ctx) => {
        const found = ctx.bind(await ctx.find(Letter, ctx.params['id']), ['title'])
        const errors = await ctx.save(found)
        return errors ? ctx.respond(errors) : ctx.respond({ data: found })
      })
      app.get('/letters/{letter_id}/parcels', async (ctx) => {
        const parcel = await ctx.findOneBy(Parcel, { letter_id: ctx.params['letter_id'] })
        return ctx.respond({ data: await ctx.load(parcel, 'letter') })
      })
    })
  })

  beforeEach(async () => {
    letter = await newRecord(office.database, Letter, { slug: `slug ${crypto.randomUUID()}` })
    path = `/letters/${letter.id}`
  })

  after(() => office.site.close())

  function get(url: string, options: SpecRequest = {}, method = 'GET'): Promise<SpecResponse> {
    return office.site.request(method, url, { accept: 'json', ...options })
  }

  function tagOf({ headers }: SpecResponse): string {
    return headers.get('etag') ?? ''
  }

  for (const accept of formats) {
    it(`contains the version and a digest of the body of a record as ${accept}, with GET, POST, PUT and DELETE`, async () => {
      const created = await get('/letters', { accept, json: { title: 'new' } }, 'POST')
      expect(created.status).to.equal(201)
      expect(tagOf(created)).to.match(/^"1-[\w-]{16}"$/)
      const [, id = ''] = /(?:"id":"|<id>)([\w-]{36})/.exec(created.text) ?? []
      const shown = await get(`/letters/${id}`, { accept })
      expect(shown.text).to.equal(created.text)
      expect(tagOf(shown)).to.equal(tagOf(created))
      expect(shown.headers.get('cache-control')).to.equal('private, no-cache')
      const updated = await get(`/letters/${id}`, { accept, json: { title: 'other' } }, 'PUT')
      expect(tagOf(updated)).to.match(/^"2-[\w-]{16}"$/)
      expect(tagOf(await get(`/letters/${id}`, { accept }))).to.equal(tagOf(updated))
      expect(tagOf(await get(`/letters/${id}`, { accept }, 'DELETE'))).to.match(/^"2-/)
    })

    it(`lets a client that has the record as ${accept} receive 304 without a body, by GET and HEAD`, async () => {
      const shown = await get(path, { accept })
      for (const method of ['GET', 'HEAD']) {
        const response = await get(path, { accept, headers: { 'If-None-Match': tagOf(shown) } }, method)
        expect(response.status).to.equal(304)
        expect(response.text).to.equal('')
        expect(tagOf(response)).to.equal(tagOf(shown))
        expect(response.headers.get('cache-control')).to.equal('private, no-cache')
        expect(response.headers.get('vary')).to.equal(shown.headers.get('vary')).and.to.contain('Accept')
        expect(response.headers.get('content-type')).to.equal(null)
      }
    })
  }

  const places: Record<string, (letter: Letter) => Promise<[shown: string, changed?: string]>> = {
    'an item': async ({ id }) => [`/letters/${id}`],
    'an item that is nested in another one': async ({ id }) => {
      const reply = await newRecord(office.database, Letter, { reply_to_id: id })
      return [`/letters/${id}/replies/${reply.id}`]
    },
    'an item of a resource with another parameter': async ({ slug }) => [`/titles/${slug}`],
    'the record of a singular resource': async ({ id }) => {
      await office.database.manager.update(Letter, { slug: 'first' }, { slug: null })
      await office.database.manager.update(Letter, { id }, { slug: 'first' })
      return ['/first']
    },
    'an item with a policy': async () => [`/guarded/${(await newRecord(office.database, GuardedLetter)).id}`],
    'an item that a route beneath it changes': async ({ id }) => [`/letters/${id}`, `/letters/${id}/count`],
    'an explicit route': async ({ id }) => [`/explicit/${id}`],
  }
  for (const [place, pathsOf] of Object.entries(places))
    for (const accept of [...formats, 'html']) {
      it(`of ${place} as ${accept} ${accept === 'html' ? 'is absent' : 'leads to 304 and lets one change pass'}`, async () => {
        const [shown, changed = shown] = await pathsOf(letter)
        const tag = tagOf(await get(shown, { accept }))
        const again = await get(shown, { accept, headers: { 'If-None-Match': tag || '*' } })
        expect([again.status, tagOf(again)]).to.deep.equal([accept === 'html' ? 406 : 304, tag])
        if (accept === 'html') return expect(tag).to.equal('')
        expect(tag).to.match(/^"\d-[\w-]{16}"$/)
        const change = { accept, headers: { 'If-Match': tag }, json: { title: 'changed' } }
        const first = await get(changed, change, 'PUT')
        expect([first.status, Number(tagOf(first)[1])]).to.deep.equal([200, Number(tag[1]) + 1])
        expect((await get(changed, change, 'PUT')).status).to.equal(412)
      })
    }

  it('differs between formats, and between versions', async () => {
    const [json, xml] = [await get(path), await get(path, { accept: 'xml' })]
    expect(tagOf(json)).to.not.equal(tagOf(xml))
    const crossed = await get(path, { accept: 'xml', headers: { 'If-None-Match': tagOf(json) } })
    expect(crossed.status).to.equal(200)
    await get(path, { json: { title: 'changed' } }, 'PUT')
    const changed = await get(path, { headers: { 'If-None-Match': tagOf(json) } })
    expect(changed.status).to.equal(200)
    expect(tagOf(changed)).to.match(/^"2-/)
  })

  const matches: [of: (tag: string) => string, status: number][] = [
    [(tag) => `W/${tag}`, 304],
    [(tag) => tag.replace(/"$/, '-gzip"'), 304],
    [(tag) => `W/${tag.replace(/"$/, '--gzip"')}`, 304],
    [(tag) => tag.replace(/"$/, '-br"'), 304],
    [(tag) => `"other", ${tag}`, 304],
    [(tag) => `"other",W/${tag.replace(/"$/, '-zstd"')}`, 304],
    [() => '*', 304],
    [(tag) => tag.replace(/"$/, '-other"'), 200],
    [(tag) => tag.replace(/-.*"$/, '"'), 200],
    [(tag) => tag.replaceAll('"', ''), 200],
    [() => '"other"', 200],
    [() => '', 200],
  ]
  for (const [of, status] of matches) {
    it(`leads to ${status} with If-None-Match: ${of('"1-mZ3kQ2v0aB1cD4eF"') || '(empty)'}`, async () => {
      const headers = { 'If-None-Match': of(tagOf(await get(path))) }
      expect((await get(path, { headers })).status).to.equal(status)
    })
  }

  it('leads to 304 with each suffix of a proxy, whatever the digest ends in', async () => {
    for (const tag of [
      '"1-mZ3kQ2v0aB1cD4e-"',
      '"1-mZ3kQ2v0aB1cD4--"',
      '"1-mZ3kQ2v0aB1cD4e_"',
      '"1-Q2v0aB1cD4-gzip"',
      '"a,b"',
    ]) {
      respond = (ctx) => {
        ctx.set('ETag', tag)
        return ctx.respond({ data: {} })
      }
      for (const suffix of ['', '-gzip', '--gzip', '-br', '--zstd']) {
        const headers = { 'If-None-Match': tag.replace(/"$/, `${suffix}"`) }
        expect((await get('/tagged', { headers })).status, headers['If-None-Match']).to.equal(304)
      }
      const headers = { 'If-None-Match': tag.replace(/-*"$/, '"') }
      if (tag.endsWith('-"')) expect((await get('/tagged', { headers })).status).to.equal(200)
    }
  })

  it('changes with a loaded relation, although the version is the same', async () => {
    await newRecord(office.database, Parcel, { letter_id: letter.id })
    const before = await get(`${path}/parcels`)
    expect(before.json.letter).to.include({ title: 'first' })
    await get(path, { json: { title: 'renamed' } }, 'PUT')
    const headers = { 'If-None-Match': tagOf(before) }
    const after = await get(`${path}/parcels`, { headers })
    expect(after.status).to.equal(200)
    expect(after.json.letter).to.include({ title: 'renamed' })
    expect(tagOf(after).slice(0, 3)).to.equal(tagOf(before).slice(0, 3))
  })

  it('has the version of the property of any name', async () => {
    const { id } = await newRecord(office.database, HeardLetter)
    expect(tagOf(await get(`/heard/${id}`))).to.match(/^"1-/)
  })

  const without: [what: string, respond: (ctx: Context) => unknown, status: number][] = [
    ['a list', async (ctx) => ctx.respond({ data: [await ctx.find(Letter, letter.id)] }), 200],
    ['a plain object', (ctx) => ctx.respond({ data: { title: 'x', lock_version: 1 } }), 200],
    ['null', (ctx) => ctx.respond({ data: null }), 200],
    ['an error', async (ctx) => ctx.respond(422, { data: await ctx.find(Letter, letter.id) }), 422],
    ['a record without a version', (ctx) => ctx.respond({ data: new Postcard() }), 200],
    ['a new record that is not saved', (ctx) => ctx.respond({ data: new Letter() }), 200],
  ]
  for (const [what, handler, status] of without) {
    it(`is absent from the response with ${what}`, async () => {
      respond = handler
      const response = await get('/tagged', { headers: { 'If-None-Match': '*' } })
      expect(response.status).to.equal(status)
      expect(tagOf(response)).to.equal('')
    })
  }

  it('is absent from pages, and from errors', async () => {
    respond = async (ctx) => {
      const data = await ctx.find(Letter, letter.id)
      return ctx.respond({ html: () => void (ctx.body = '<h1>Letter</h1>'), data })
    }
    expect(tagOf(await get('/tagged', { accept: 'html' }))).to.equal('')
    expect(tagOf(await get('/tagged'))).to.match(/^"1-/)
    const missing = await get(`/letters/${unknownId}`, { headers: { 'If-None-Match': '*' } })
    expect([missing.status, tagOf(missing)]).to.deep.equal([404, ''])
    const refused = await get(path, { accept: 'image/png', headers: { 'If-None-Match': '*' } })
    expect([refused.status, tagOf(refused)]).to.deep.equal([406, ''])
    expect(tagOf(await get(path, { json: { title: '' } }, 'PUT'))).to.equal('')
    expect(tagOf(await get(path, { headers: { 'If-Match': '"9"' }, json: {} }, 'PUT'))).to.equal('')
  })

  describe('that a handler has set', () => {
    const bodies: [what: string, accept: string, responses: (ctx: Context) => object | Promise<object>][] = [
      ['a page', 'html', (ctx) => ({ html: () => void (ctx.body = '<h1>Letters</h1>') })],
      ['a list', 'json', async (ctx) => ({ data: (await ctx.paginate(Letter)).records })],
      ['a record', 'json', async (ctx) => ({ data: await ctx.find(Letter, letter.id) })],
    ]
    for (const [what, accept, responses] of bodies) {
      it(`is kept with ${what}, and leads to 304`, async () => {
        respond = async (ctx) => {
          ctx.set('ETag', 'W/"of-the-handler"')
          ctx.set('Cache-Control', 'private, max-age=60')
          return ctx.respond(await responses(ctx))
        }
        const shown = await get('/tagged', { accept })
        expect([shown.status, tagOf(shown)]).to.deep.equal([200, 'W/"of-the-handler"'])
        expect(shown.text).to.not.equal('')
        const headers = { 'If-None-Match': '"of-the-handler"' }
        const again = await get('/tagged', { accept, headers })
        expect([again.status, again.text, tagOf(again)]).to.deep.equal([304, '', 'W/"of-the-handler"'])
        expect(again.headers.get('cache-control')).to.equal('private, max-age=60')
        const other = await get('/tagged', { accept, headers: { 'If-None-Match': '"of-the-handler-2"' } })
        expect(other.status).to.equal(200)
      })
    }

    it('lets the page with the message of another page be rendered later', async () => {
      let rendered = 0
      respond = (ctx) => {
        ctx.set('ETag', '"page"')
        return ctx.respond({ html: () => void (ctx.body = `<p>${(rendered += 1)}</p>`) })
      }
      await get('/tagged', { accept: 'html', headers: { 'If-None-Match': '"page"' } })
      expect(rendered).to.equal(0)
    })

    it('is absent from the errors of a record', async () => {
      respond = async (ctx) => {
        ctx.set('ETag', '"page"')
        const errors = await ctx.validate(new Letter())
        return ctx.respond(errors!)
      }
      const response = await get('/tagged', { headers: { 'If-None-Match': '*' } })
      expect([response.status, tagOf(response)]).to.deep.equal([422, ''])
    })
  })
})
