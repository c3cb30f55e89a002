import { expect } from 'chai'
import { requireUser } from '../../../src/auth/index.js'
import { BaseResource, Resource, type Context } from '../../../src/index.js'
import {
  GuardedLetter,
  Letter,
  newRecord,
  openOffice,
  Postcard,
  unknownId,
  type Office,
} from '../../support/applications/letters.js'
import type { SpecRequest, SpecResponse } from '../../support/site.js'

/** A request that changes a letter, which specs make fail. */
interface Change {
  path: string
  headers: Record<string, string>
  json: Record<string, unknown>
  /** The text after the JSON. */
  end?: string
}

/** A reason to reject a change, in the order in which they are checked. */
interface Reason {
  name: string
  status: number
  type?: string
  /** Makes the change fail. Returns false if it cannot fail for this reason as well. */
  apply(change: Change): boolean | void
}

const version = 3

describe('The conditions of a request', () => {
  let office: Office
  let letter: Letter

  before(async () => {
    office = await openOffice({}, (app) => {
      app.put('/explicit/{kind}/{id}', async (ctx) => {
        const found = await ctx.find(Letter, ctx.params['id'])
        const errors = await ctx.save(ctx.bind(found, ['title']))
        return errors ? ctx.respond(errors) : ctx.respond({ data: found })
      })
      app.group('/signed', (signed) => {
        signed.use(requireUser())
        signed.put('/{id}', async (ctx) => ctx.respond({ data: await ctx.find(Letter, ctx.params['id']) }))
      })
      app.post('/nothing', (ctx) => ctx.respond({ data: { done: true } }))
    })
  })

  beforeEach(async () => {
    for (const model of [Letter, GuardedLetter]) await office.database.manager.clear(model)
    const { manager } = office.database
    letter = await newRecord(office.database, Letter, { slug: 'first' })
    await newRecord(office.database, GuardedLetter, { id: letter.id })
    for (const model of [Letter, GuardedLetter])
      for (const title of ['second', 'third']) await manager.update(model, { id: letter.id }, { title })
  })

  after(() => office.site.close())

  async function present(): Promise<Letter> {
    return office.database.manager.findOneByOrFail(Letter, { id: letter.id })
  }

  function request(method: string, path: string, options: SpecRequest = {}): Promise<SpecResponse> {
    return office.site.request(method, path, { accept: 'json', ...options })
  }

  describe('are checked in this order, of which the first that fails determines the response:', () => {
    /** Lets a change have another path, unless an earlier reason has given it one. */
    const at = (path: (id: string) => string) => (change: Change) => {
      if (!change.path.startsWith('/strict')) return false
      change.path = path(letter.id)
      return undefined
    }
    const reasons: Reason[] = [
      { name: 'no such path', status: 404, apply: at((id) => `/nowhere/${id}`) },
      { name: 'another method of the path', status: 405, apply: at((id) => `/letters/${id}/seal`) },
      { name: 'no user', status: 401, apply: at((id) => `/signed/${id}`) },
      {
        name: 'another type of body',
        status: 415,
        apply: ({ headers }) => void (headers['content-type'] = 'text/csv'),
      },
      {
        name: 'a body that is too long',
        status: 413,
        apply: ({ json }) => void (json['body'] = 'x'.repeat(1024 * 1024)),
      },
      { name: 'malformed JSON', status: 400, apply: (change) => void (change.end = '}') },
      { name: 'no such record', status: 404, apply: at(() => `/letters/${unknownId}`) },
      { name: 'a policy', status: 403, apply: at((id) => `/guarded/${id}`) },
      {
        name: 'no condition, where one is required',
        status: 428,
        type: 'precondition-required',
        apply: ({ path, headers }) => {
          delete headers['if-match']
          return path.startsWith('/strict')
        },
      },
      {
        name: 'If-Match with another tag',
        status: 412,
        type: 'precondition-failed',
        apply({ headers }) {
          if (headers['if-match'] === undefined) return false
          headers['if-match'] = '"2"'
          return undefined
        },
      },
      {
        name: 'If-None-Match with the current tag',
        status: 412,
        type: 'precondition-failed',
        apply: ({ headers }) => void (headers['if-none-match'] = `"${version}"`),
      },
      {
        name: 'another version in the body',
        status: 409,
        type: 'stale-record',
        apply({ headers, json }) {
          // If-Match counts when both are sent, and without both, a condition may be required.
          if (headers['if-match'] === '"2"' || json['lock_version'] === null) return false
          delete headers['if-match']
          json['lock_version'] = 2
          return undefined
        },
      },
      { name: 'a value that is not valid', status: 422, apply: ({ json }) => void (json['title'] = '') },
      { name: 'a value that is not unique', status: 409, apply: ({ json }) => void (json['slug'] = 'taken') },
    ]

    beforeEach(async () => {
      await newRecord(office.database, Letter, { slug: 'taken' })
      await office.database.query('UPDATE guarded_letters SET sealed = TRUE')
    })

    for (const [index, reason] of reasons.entries()) {
      it(reason.name, async () => {
        let pairs = 0
        for (const other of [reason, ...reasons.slice(index + 1)]) {
          const change: Change = {
            path: `/strict/${letter.id}`,
            headers: { 'if-match': `"${version}"`, 'content-type': 'application/json' },
            json: { title: 'changed' },
          }
          if (reason.status === 428) change.json['lock_version'] = null
          if (reason.apply(change) === false || other.apply(change) === false) continue
          const { path, headers, json, end = '' } = change
          const response = await request('PUT', path, { headers, body: JSON.stringify(json) + end })
          const title = `${reason.name} before ${other.name}: ${response.text}`
          expect(response.status, title).to.equal(reason.status)
          expect(response.json.type, title).to.equal(reason.type && `urn:resource-kit:${reason.type}`)
          expect(response.headers.get('etag'), title).to.equal(null)
          pairs += 1
        }
        expect(pairs).to.be.greaterThan(index < reasons.length - 1 ? 1 : 0)
        expect(await present()).to.include({ title: 'third', lock_version: version })
      })
    }
  })

  describe('in If-Match', () => {
    const tags: [value: string, passes: boolean][] = [
      ['"3"', true],
      ['"3-mZ3kQ2v0aB1cD4eF"', true],
      ['W/"3-mZ3kQ2v0aB1cD4eF"', true],
      ['"3-mZ3kQ2v0aB1cD4eF-gzip"', true],
      ['W/"3-mZ3kQ2v0aB1cD4eF--gzip"', true],
      ['"3-mZ3kQ2v0aB1cD4e--gzip"', true],
      ['"3--Z3kQ2v0aB1cD4e---gzip"', true],
      ['"3-gzip"', true],
      ['"1", "2-x" ,W/"3-x"', true],
      ['*', true],
      [' * ', true],
      ['"2"', false],
      ['"30"', false],
      ['"33-x"', false],
      ['"-3"', false],
      ['"03"', false],
      ['3', false],
      ["'3'", false],
      ['W/3', false],
      ['w/"3"', false],
      ['"3', false],
      ['"abc"', false],
      ['""', false],
      ['', false],
      ['*, "2"', false],
      ['"1", "2"', false],
    ]
    for (const [value, passes] of tags) {
      it(`${value || 'nothing'} ${passes ? 'names' : 'does not name'} version 3`, async () => {
        const headers = { 'If-Match': value }
        const put = await request('PUT', `/letters/${letter.id}`, { headers, json: { title: 'changed' } })
        expect(put.status, put.text).to.equal(passes ? 200 : 412)
        expect(await present()).to.include(
          passes ? { title: 'changed', lock_version: 4 } : { title: 'third', lock_version: 3 },
        )
        await office.database.query('UPDATE letters SET lock_version = 3')
        const deleted = await request('DELETE', `/letters/${letter.id}`, { headers })
        expect(deleted.status).to.equal(passes ? 200 : 412)
        expect(await office.database.manager.countBy(Letter, { id: letter.id })).to.equal(passes ? 0 : 1)
      })
    }

    it('counts, and not a version in the body', async () => {
      const { id } = letter
      const json = { title: 'changed', lock_version: 1 }
      expect(
        (await request('PUT', `/letters/${id}`, { headers: { 'If-Match': '"3"' }, json })).status,
      ).to.equal(200)
      expect(
        (await request('PUT', `/letters/${id}`, { headers: { 'If-Match': '*' }, json })).status,
      ).to.equal(200)
    })

    it('is ignored by GET and HEAD, which overwrite nothing', async () => {
      const headers = { 'If-Match': '"1"' }
      for (const method of ['GET', 'HEAD'])
        expect((await request(method, `/letters/${letter.id}`, { headers })).status).to.equal(200)
    })
  })

  it('in If-None-Match reject a change of the versions that it lists', async () => {
    const path = `/letters/${letter.id}`
    for (const value of ['"3"', 'W/"3-x"', '"1", "3"', '*'])
      expect((await request('PUT', path, { headers: { 'If-None-Match': value }, json: {} })).status).to.equal(
        412,
      )
    expect((await request('PUT', path, { headers: { 'If-None-Match': '"2"' }, json: {} })).status).to.equal(
      200,
    )
  })

  it('do not include dates, because no response has one', async () => {
    const headers = {
      'If-Unmodified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT',
      'If-Modified-Since': 'Fri, 01 Jan 2100 00:00:00 GMT',
    }
    expect((await request('GET', `/letters/${letter.id}`, { headers })).status).to.equal(200)
    expect((await request('PUT', `/letters/${letter.id}`, { headers, json: {} })).status).to.equal(200)
  })

  describe('in a body', () => {
    const values: [value: unknown, status: number][] = [
      [3, 200],
      ['3', 200],
      [null, 200],
      [undefined, 200],
      [2, 409],
      ['2', 409],
      [4, 409],
      [3.5, 409],
      ['', 409],
      ['three', 409],
      [true, 409],
      [{ a: 3 }, 409],
      [[], 200],
    ]
    for (const [value, status] of values) {
      it(`${JSON.stringify(value)} returns ${status} for version 3`, async () => {
        const json = { title: 'changed', lock_version: value }
        const response = await request('PUT', `/letters/${letter.id}`, { json })
        expect(response.status, response.text).to.equal(status)
        if (status === 200) return
        expect(response.json).to.deep.include({
          type: 'urn:resource-kit:stale-record',
          detail: 'The record has been changed since it was read.',
          codes: { base: ['stale'], title: ['changed'] },
        })
        expect(response.json.errors.title).to.deep.equal(['Now: third'])
      })
    }

    it('are found in forms, of which the last value counts, and in XML', async () => {
      const path = `/letters/${letter.id}`
      const form = (field: string) => `title=x&lock_version=${field}`
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await request('PUT', path, { body: form('2'), headers })).status).to.equal(409)
      expect((await request('PUT', path, { body: form('2&lock_version=3'), headers })).status).to.equal(200)
      expect((await request('PUT', path, { xml: { letter: { lock_version: 3 } } })).status).to.equal(409)
      expect((await request('PUT', path, { xml: { letter: { lock_version: 4 } } })).status).to.equal(200)
    })

    it('name the current value of each field that differs, unless the value is hidden or a reference', async () => {
      const long = 'x'.repeat(300)
      const path = `/letters/${letter.id}`
      const present = { body: long, due: '2026-05-01', sealed: true, note: 'secret', count: 5, slug: null }
      await request('PUT', path, { json: { ...present, reply_to_id: letter.id } })
      const sent = { title: 'third', body: 'y', due: null, sealed: 'no', note: 'z', count: 'many', slug: 's' }
      const json = { ...sent, reply_to_id: null, lock_version: 3 }
      const { status, json: problem, text } = await request('PUT', path, { json })
      expect(status).to.equal(409)
      expect(problem.errors).to.deep.equal({
        base: [
          'The record has been changed since you opened this page. Your changes are not saved yet. Save again to replace the ' +
            'current values.',
        ],
        slug: ['Now: None'],
        body: [`Now: ${'x'.repeat(200)}…`],
        count: ['Now: 5'],
        due: ['Now: May 1, 2026'],
        sealed: ['Now: Yes'],
        note: ['This has been changed, too.'],
        reply_to_id: ['This has been changed, too.'],
      })
      expect(problem.codes).to.deep.include({ base: ['stale'], note: ['changed'] })
      expect(text).to.not.contain('secret')
    })

    it('never become a value of the record, and of a new record mean nothing', async () => {
      const created = await request('POST', '/letters', { json: { title: 'new', lock_version: 70 } })
      expect(created.json).to.include({ lock_version: 1 })
      await request('PUT', `/letters/${letter.id}`, { json: { title: 'changed', lock_version: 3 } })
      expect(await present()).to.include({ title: 'changed', lock_version: 4 })
    })
  })

  describe('concern the record that the path names:', () => {
    const places: Record<string, (id: string) => [method: string, path: string]> = {
      'an item': (id) => ['PUT', `/letters/${id}`],
      'an item in capitals': (id) => ['PUT', `/letters/${id.toUpperCase()}`],
      'an item by PATCH': (id) => ['PATCH', `/letters/${id}`],
      'an item that is deleted': (id) => ['DELETE', `/letters/${id}`],
      'a route beneath an item': (id) => ['POST', `/letters/${id}/seal`],
      'an item of a resource with another parameter': () => ['PUT', '/titles/first'],
      'the record of a singular resource': () => ['PUT', '/first'],
      'a singular resource that is deleted': () => ['DELETE', '/first'],
      'an item with a policy': (id) => ['PUT', `/guarded/${id}`],
      'the last parameter of another route': (id) => ['PUT', `/explicit/${unknownId}/${id}`],
    }
    for (const [place, targetOf] of Object.entries(places)) {
      it(place, async () => {
        const [method, path] = targetOf(letter.id)
        const json = { title: 'changed', slug: 'changed' }
        const failing = await request(method, path, { headers: { 'If-Match': '"2"' }, json })
        expect(failing.status, failing.text).to.equal(412)
        if (method !== 'DELETE') {
          const stale = await request(method, path, { json: { ...json, lock_version: 2 } })
          expect(stale.status, stale.text).to.equal(409)
        }
        const passing = await request(method, path, { headers: { 'If-Match': '"3"' }, json })
        expect(passing.status, passing.text).to.equal(200)
      })
    }

    it('an item that is nested in another one, whose own change is not compared', async () => {
      const reply = await newRecord(office.database, Letter, { reply_to_id: letter.id })
      const path = `/letters/${letter.id}/replies/${reply.id}`
      const put = (tag: string) =>
        request('PUT', path, { headers: { 'If-Match': tag }, json: { title: 'changed' } })
      expect((await put('"3"')).status).to.equal(412)
      expect((await present()).count).to.equal(0)
      expect((await put('"1"')).status).to.equal(200)
      expect((await present()).count).to.equal(1)
    })
  })

  describe('that were compared with nothing', () => {
    const places: Record<string, () => [method: string, path: string]> = {
      'a new record': () => ['POST', '/letters'],
      'a route that uses ctx.tx': () => ['POST', '/letters/empty'],
      'a request that writes nothing': () => ['POST', '/nothing'],
    }
    for (const [place, targetOf] of Object.entries(places)) {
      it(`reject ${place}, and nothing is saved`, async () => {
        const [method, path] = targetOf()
        const conditions: Record<string, string>[] = [{ 'If-Match': '"3"' }, { 'If-None-Match': '*' }]
        for (const headers of conditions) {
          const response = await request(method, path, { headers, json: { title: 'new' } })
          expect(response.status).to.equal(412)
          expect(response.json.type).to.equal('urn:resource-kit:precondition-failed')
        }
        expect(await office.database.manager.count(Letter)).to.equal(1)
        expect((await present()).body).to.equal(null)
        const any = await request(method, path, { headers: { 'If-Match': '*' }, json: { title: 'new' } })
        expect(any.status).to.be.lessThan(300)
      })
    }

    it('do not hide why the request has failed', async () => {
      const headers = { 'If-Match': '"3"' }
      expect((await request('POST', '/letters', { headers, json: { title: '' } })).status).to.equal(422)
      const json = { title: 'new', slug: 'first' }
      expect((await request('POST', '/letters', { headers, json })).status).to.equal(409)
      expect((await request('PUT', `/postcards/${unknownId}`, { headers, json })).status).to.equal(404)
    })

    it('reject a record of a model without a version', async () => {
      const { id } = await newRecord(office.database, Postcard)
      const headers = { 'If-Match': '"1"' }
      expect((await request('PUT', `/postcards/${id}`, { headers, json: { title: 'x' } })).status).to.equal(
        412,
      )
      const json = { title: 'changed', lock_version: 1 }
      expect((await request('PUT', `/postcards/${id}`, { json })).status).to.equal(200)
    })
  })

  describe('are required by requireMatch', () => {
    it('for PUT, PATCH and DELETE of an item, and not for other routes', async () => {
      const path = `/strict/${letter.id}`
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const response = await request(method, path, { json: { title: 'changed', lock_version: null } })
        expect(response.status, response.text).to.equal(428)
        expect(response.json).to.deep.include({
          type: 'urn:resource-kit:precondition-required',
          title: 'Precondition Required',
          detail: 'Send the version that you have read: its ETag in If-Match, or "lock_version" in the body.',
        })
      }
      expect((await request('POST', `${path}/seal`)).status).to.equal(200)
      expect((await request('POST', '/strict', { json: { title: 'new' } })).status).to.equal(201)
      expect((await request('PUT', path, { json: { lock_version: 3 } })).status).to.equal(200)
      expect((await request('PUT', path, { headers: { 'If-Match': '*' }, json: {} })).status).to.equal(200)
      expect((await request('DELETE', path, { headers: { 'If-Match': '"3"' } })).status).to.equal(200)
    })

    it('but not for forms, because the button that deletes a record contains no version', async () => {
      const path = `/strict/${letter.id}`
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await request('PUT', path, { body: 'title=x', headers })).status).to.equal(200)
      expect((await request('DELETE', path, { body: 'a=b', headers })).status).to.equal(200)
    })

    it('also if the handler does not save the record', async () => {
      @Resource('/bulk', { model: Letter, requireMatch: true })
      class BulkResource extends BaseResource {
        override async update(ctx: Context) {
          await ctx.tx.update(Letter, { id: letter.id }, { title: 'bulk' })
          return ctx.respond({ data: {} })
        }
      }
      const other = await openOffice({}, (app) => void app.resource(BulkResource))
      const response = await other.site.put(`/bulk/${letter.id}`, { accept: 'json', json: {} })
      expect(response.status).to.equal(428)
      await other.site.close()
    })

    const wrong: [options: object, message: string][] = [
      [{ requireMatch: true }, 'WrongResource has the option requireMatch, but no model.'],
      [
        { requireMatch: true, model: Postcard },
        'WrongResource has the option requireMatch, but Postcard has no property with @VersionColumn().',
      ],
    ]
    for (const [options, message] of wrong) {
      it(`of a resource ${'model' in options ? 'whose model has no version' : 'without a model'} stop the start`, async () => {
        @Resource('/wrong', options)
        class WrongResource extends BaseResource {}
        let problem = ''
        await openOffice({}, (app) => void app.resource(WrongResource)).catch((error: unknown) => {
          problem = String(error)
        })
        expect(problem).to.contain(message)
      })
    }
  })
})
