import { expect } from 'chai'
import { parseXml } from '../../../src/http/body/xml-reader.js'
import { engine } from '../../support/engine.js'
import { openEverything, Thing, thing } from '../../support/applications/everything.js'
import { browserFields } from '../../support/browser-fields.js'
import type { SpecResponse } from '../../support/site.js'

const json = { accept: 'application/json' }
const xml = { accept: 'application/xml' }

type Fields = Record<string, unknown>

/** A form, and the record as JSON. */
interface Trip {
  form: Record<string, string>
  out: Fields
}

const plain: Trip = {
  form: thing,
  out: {
    string: 'a',
    text: 'b',
    int: 1,
    bigint: '2',
    float: 1.5,
    decimal: '2.50',
    bool: true,
    date: '2026-01-02',
    time: '03:04:05',
    datetime: '2026-01-02T03:04:05.000Z',
    uuid: thing['uuid'],
    json: { a: [1] },
    enum: 'low',
  },
}

const trips: Record<string, Trip> = {
  'plain values': { form: plain.form, out: { ...plain.out, ...maybe(() => null) } },
  'a value in each nullable attribute': {
    form: { ...plain.form, ...maybe((name) => plain.form[name]) },
    out: { ...plain.out, ...maybe((name) => plain.out[name]), maybe_decimal: '2.5000' },
  },
  'blank nullable attributes': {
    form: { ...plain.form, ...maybe(() => '') },
    out: { ...plain.out, ...maybe(() => null) },
  },
  'large, small and odd values': {
    form: {
      string: ' <b>"ä"</b> & \\',
      text: 'x\r\ny\r\n',
      int: '-2147483648',
      bigint: '9223372036854775807',
      float: '-1e-7',
      decimal: '-12345678.9',
      bool: 'false',
      date: '0001-01-01',
      time: '23:59',
      datetime: '2026-12-31T23:59:59.999',
      uuid: thing['uuid'] ?? '',
      json: '[" ",{"a":null}]',
      enum: 'high',
      maybe_bigint: '-9007199254740993',
      maybe_decimal: '12345678901.2345',
      maybe_bool: 'false',
      maybe_time: '12:30:10.678',
      maybe_datetime: '1000-01-01T00:00',
    },
    out: {
      ...maybe(() => null),
      string: ' <b>"ä"</b> & \\',
      text: 'x\r\ny\r\n',
      int: -2147483648,
      bigint: '9223372036854775807',
      float: -1e-7,
      decimal: '-12345678.90',
      bool: false,
      date: '0001-01-01',
      time: '23:59:00',
      datetime: '2026-12-31T23:59:59.999Z',
      uuid: thing['uuid'],
      json: [' ', { a: null }],
      enum: 'high',
      maybe_bigint: '-9007199254740993',
      maybe_decimal: '12345678901.2345',
      maybe_bool: false,
      maybe_time: '12:30:10.678',
      maybe_datetime: '1000-01-01T00:00:00.000Z',
    },
  },
  'JSON that is a text, which looks like JSON': {
    form: { ...plain.form, json: JSON.stringify('{"a":[1]}'), maybe_json: JSON.stringify('12') },
    out: { ...plain.out, ...maybe(() => null), json: '{"a":[1]}', maybe_json: '12' },
  },
  zeros: {
    form: { ...plain.form, int: '0', bigint: '0', float: '0', decimal: '-0', bool: 'false', json: '0' },
    out: {
      ...plain.out,
      ...maybe(() => null),
      int: 0,
      bigint: '0',
      float: 0,
      decimal: '0.00',
      bool: false,
      json: 0,
    },
  },
}

function maybe(value: (name: string) => unknown): Record<string, string> {
  const fields = Object.keys(thing).map((name) => [`maybe_${name}`, value(name)])
  return Object.fromEntries(fields) as Record<string, string>
}

describe('A form with every kind of attribute', () => {
  let everything: Awaited<ReturnType<typeof openEverything>>
  before(async () => {
    everything = await openEverything()
  })
  after(() => everything.close())

  for (const [what, { form, out }] of Object.entries(trips)) {
    describe(`with ${what}`, () => {
      let path: string
      before(async () => {
        const made = await everything.site.post('/things', { form })
        expect(made.status, made.text).to.equal(303)
        path = made.headers.get('location') ?? ''
      })

      it('is returned from the database as JSON and as XML', async () => {
        expect(fieldsOf(await everything.site.get(path, json))).to.deep.equal(out)
        const shown = (await parseXml((await everything.site.get(path, xml)).text)) as Fields
        for (const [name, value] of Object.entries(out)) {
          if (!name.endsWith('json'))
            expect(shown[name], name).to.equal(value === null ? null : String(value))
        }
      })

      it('has the same response when it is created and when it is read', async () => {
        const made = await everything.site.post('/things', { form, ...json })
        expect(fieldsOf(made)).to.deep.equal(
          fieldsOf(await everything.site.get(`/things/${made.json.id}`, json)),
        )
      })

      it('keeps its values if its page is submitted unchanged', async () => {
        const page = await everything.site.get(`${path}/edit`)
        const fields = browserFields(page.text)
        const names = fields.map(([name]) => name).filter((name) => name in out)
        expect(new Set(names)).to.deep.equal(new Set(Object.keys(out)))
        const sent = await everything.site.post(path, { form: fields })
        expect(sent.status, sent.text).to.equal(303)
        expect(fieldsOf(await everything.site.get(path, json))).to.deep.equal(out)
      })

      it('keeps its values if its JSON is sent back', async () => {
        const read = (await everything.site.get(path, json)).json
        expect((await everything.site.put(path, { json: read, ...json })).status).to.equal(200)
        expect(fieldsOf(await everything.site.get(path, json))).to.deep.equal(out)
      })
    })
  }

  it('returns an error for each blank field, in the order of the form', async () => {
    const form = { datetime: ' ', int: '', enum: '', bigint: 'x' }
    const response = await everything.site.post('/things', { form: { ...thing, ...form }, ...json })
    expect(response.status).to.equal(422)
    expect(Object.entries(response.json.errors)).to.deep.equal([
      ['int', ['Int cannot be blank.']],
      ['bigint', ['Bigint must be a whole number that is not too large.']],
      ['datetime', ['Datetime cannot be blank.']],
      ['enum', ['Enum cannot be blank.']],
    ])
  })

  for (const name of Object.keys(thing)) {
    it(`returns 422 without its ${name}`, async () => {
      const { [name]: _, ...form } = thing
      const response = await everything.site.post('/things', { form, ...json })
      expect(response.status, response.text).to.equal(422)
      expect(Object.keys(response.json.errors)).to.deep.equal([name])
    })
  }

  it('is ordered and compared as numbers', async () => {
    const { database } = everything
    await database.query('DELETE FROM things')
    for (const number of ['9', '10', '-1', '1000000']) {
      const form = { ...thing, decimal: `${number}.50`, bigint: `90071992547${number}`.replace('-', '') }
      expect((await everything.site.post('/things', { form, ...json })).status).to.equal(201)
    }
    const rows = await database
      .getRepository(Thing)
      .createQueryBuilder('thing')
      .where('thing.decimal > :least', { least: '0' })
      .orderBy('thing.decimal')
      .getMany()
    expect(rows.map(({ decimal }) => decimal)).to.deep.equal(['9.50', '10.50', '1000000.50'])
  })

  const digits = '1234567890123456.7000'
  const sendDigits = () =>
    everything.site.post('/things', { form: { ...thing, maybe_decimal: digits }, ...json })

  if (engine === 'sqlite') {
    it('returns 422 if SQLite could not keep every digit', async () => {
      const response = await sendDigits()
      expect(response.status).to.equal(422)
      expect(response.json.errors).to.deep.equal({
        maybe_decimal: ['Maybe decimal must have 15 digits or fewer.'],
      })
    })
  } else {
    it('keeps every digit', async () => {
      const { id } = (await sendDigits()).json
      expect((await everything.site.get(`/things/${id}`, json)).json.maybe_decimal).to.equal(digits)
    })
  }
})

function fieldsOf(response: SpecResponse): Fields {
  const { id: _id, created_at: _created, updated_at: _updated, ...fields } = response.json
  return fields
}
