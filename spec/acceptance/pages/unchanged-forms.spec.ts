import { expect } from 'chai'
import { bind, unreadableOf } from '../../../src/http/binder.js'
import type { Database } from '../../../src/index.js'
import { attributesOf, type Attribute } from '../../../src/models/attributes/attributes.js'
import { toLocalTime } from '../../../src/common/time-zones.js'
import { Form } from '../../../src/views/forms/forms.js'
import { openEverything, Thing, thing } from '../../support/applications/everything.js'
import { browserFields } from '../../support/browser-fields.js'
import { describeInBrowser, startBrowser } from '../../support/browser.js'
import { describeOnce, engine, type Engine } from '../../support/engine.js'
import { viewContext } from '../../support/view-context.js'

/** A form with fields that cannot show every value of their columns. */
const template = `
- const form = formFor(thing, { action: thingPath(thing), method: 'PUT' })
form(action=form.action method='post')
  != form.hiddenFields()
  each prefix in ['', 'maybe_']
    != form.text(prefix + 'string', prefix ? { type: 'email' } : {})
    != form.textarea(prefix + 'text')
    != form.number(prefix + 'int')
    != form.number(prefix + 'bigint')
    != form.number(prefix + 'float', { step: 'any' })
    != form.number(prefix + 'decimal', { step: 0.01 })
    != form.checkbox(prefix + 'bool')
    != form.date(prefix + 'date')
    != form.time(prefix + 'time')
    != form.dateTime(prefix + 'datetime')
    != form.text(prefix + 'uuid')
    != form.select(prefix + 'enum', ['low'])
  != form.json('json')
  != form.checkboxes('maybe_json', ['a', 'b'])
  != form.submit()
`

/** Values as SQL, which no form would send. */
const plainRow: Record<string, string> = {
  string: `'two\nlines'`,
  maybe_string: `' a@example.com '`,
  text: `'\n\none\n two\r\nthree\n'`,
  maybe_text: `''`,
  bigint: '-9223372036854775808',
  maybe_bigint: '9007199254740993',
  float: '1e-300',
  bool: 'false',
  enum: `'high'`,
  maybe_enum: `'high'`,
  datetime: `'2026-10-25 01:30:00'`,
  maybe_datetime: `'2026-10-25 00:30:00.120'`,
  maybe_json: `'["z","b","a"]'`,
  json: `'{"b":  1, "a": 12345678901234567890}'`,
}

const ownRow: Record<Engine, Record<string, string>> = {
  sqlite: {
    decimal: '1.239',
    maybe_float: '9e999',
    time: `'10:30'`,
    maybe_time: `'10:30:00.123456'`,
    uuid: `'0193B6A2-7C3E-7000-8000-00000000000A'`,
    maybe_datetime: `'0900-01-01 00:30:00.120'`,
  },
  postgres: {
    maybe_float: `'Infinity'`,
    time: `'24:00:00'`,
    maybe_time: `'10:30:00.123456'`,
    datetime: `'2026-10-25 01:30:00.123456'`,
    maybe_datetime: `'0900-01-01 00:30:00.120'`,
    date: `'12026-01-02'`,
  },
  mariadb: { maybe_time: `'-12:30:00'`, datetime: `'2026-10-25 01:30:00.123456'` },
}

/** Zones of all kinds: with and without changes of clocks, by half an hour, at midnight, and by a whole day. */
const zones =
  `UTC Europe/Berlin Europe/London Europe/Dublin Atlantic/Azores America/New_York America/Los_Angeles
  America/St_Johns America/Havana America/Santiago America/Sao_Paulo Africa/Cairo Africa/Casablanca Asia/Beirut
  Asia/Kolkata Asia/Tehran Australia/Lord_Howe Australia/Adelaide Pacific/Apia Pacific/Chatham Antarctica/Troll`.split(
    /\s+/,
  )

const hour = 3_600_000

/** The instants at which the clocks of a zone change: in 2026, and in 2011, when Apia skipped a day. Of UTC, any other instant. */
function changesOf(zone: string): number[] {
  const offset = (time: number) => toLocalTime(new Date(time), zone).getTime() - time
  const changes = (start: number, step: number, count: number): number[] =>
    Array.from({ length: count }, (_, index) => start + index * step).filter(
      (time) => offset(time) !== offset(time + step),
    )
  const found = [2011, 2026]
    .flatMap((year) => changes(Date.UTC(year, 0, 1), 24 * hour, 365))
    .flatMap((day) => changes(day, hour / 2, 48))
    .map((time) => time + hour / 2)
  return found.length > 0 ? found : [Date.UTC(2026, 2, 29, 1)]
}

/** Every half hour of the hours before and after a change. */
const around = (change: number, hours: number) =>
  Array.from({ length: hours * 4 + 1 }, (_, index) => new Date(change + (index - hours * 2) * (hour / 2)))

describe('An edit form that is sent back unchanged', () => {
  let everything: Awaited<ReturnType<typeof openEverything>>
  let path: string
  let id: string

  before(async () => {
    everything = await openEverything(template)
  })
  after(() => everything.close())

  beforeEach(async () => {
    const made = await everything.site.post('/things', { form: thing, accept: 'application/json' })
    id = made.json.id
    path = `/things/${id}`
    await update({ ...plainRow, ...ownRow[engine] })
  })

  function update(values: Record<string, string>): Promise<unknown> {
    const { driver } = everything.database.manager.dataSource
    const assignments = Object.entries(values).map(([name, sql]) => `${driver.escape(name)} = ${sql}`)
    return everything.database.query(`UPDATE things SET ${assignments.join(', ')} WHERE id = '${id}'`)
  }

  async function fieldsOf(zone: string): Promise<[string, string][]> {
    return browserFields((await everything.site.get(`${path}/edit`, from(zone))).text)
  }

  for (const encoding of ['form', 'multipart'] as const) {
    it(`changes no column of any kind (${encoding})`, async () => {
      const before = await rowOf(everything.database, id)
      const sent = await fieldsOf('Europe/Berlin')
      const form = encoding === 'form' ? sent : formData(sent)
      const response = await everything.site.post(path, { ...from('Europe/Berlin'), form })
      expect(response.status, response.text).to.equal(303)
      expect(await rowOf(everything.database, id)).to.deep.equal(before)
    })
  }

  it('changes only the column whose visible text was changed', async () => {
    const changed: Record<string, string> = {
      string: 'new',
      text: 'one',
      float: '2',
      maybe_datetime: '2026-10-25T02:31',
      enum: 'low',
    }
    for (const [name, value] of Object.entries(changed)) {
      const before = await rowOf(everything.database, id)
      const sent = await fieldsOf('Europe/Berlin')
      const at = sent.findLastIndex(([field]) => field === name)
      sent[at] = [name, value]
      expect((await everything.site.post(path, { ...from('Europe/Berlin'), form: sent })).status).to.equal(
        303,
      )
      const after = await rowOf(everything.database, id)
      const different = Object.keys(after).filter((column) => after[column] !== before[column])
      expect(different, name).to.have.members([name, 'updated_at'])
    }
    expect((await rowOf(everything.database, id))['maybe_datetime']).to.match(/2026-10-25 00:31:00/)
  })

  for (const zone of zones) {
    // The days around are sent back without HTTP below.
    it(`changes no datetime when the clocks change in ${zone}`, async () => {
      for (const moment of changesOf(zone).flatMap((change) => around(change, 1))) {
        await update({ datetime: `'${moment.toISOString().replace('T', ' ').slice(0, 19)}'` })
        const before = await rowOf(everything.database, id)
        const form = await fieldsOf(zone)
        expect((await everything.site.post(path, { ...from(zone), form })).status).to.equal(303)
        expect(await rowOf(everything.database, id), moment.toISOString()).to.deep.equal(before)
      }
    })
  }
})

describeOnce('A datetime field that is sent back unchanged', () => {
  const datetime: Attribute = { name: 'at', kind: 'datetime', nullable: false }

  class Meeting {
    constructor(public at?: Date) {}
  }

  /** Shows a meeting in one zone, and reads the fields for a record in another zone. */
  function sendBack(shown: Date, zone: string, record = new Meeting(shown), sentIn = zone): Meeting {
    const form = new Form(viewContext({ timeZone: zone }), new Meeting(shown), { action: '/' })
    const values = browserFields(String(form.dateTime('at'))).map(([, value]) => value)
    const body = { at: values.length > 1 ? values : values[0] }
    return bind(record, [datetime], { body, isJson: false, isForm: true, timeZone: sentIn })
  }

  for (const zone of zones) {
    it(`keeps each half hour of the days on which the clocks change in ${zone}`, () => {
      for (const moment of changesOf(zone).flatMap((change) => around(change, 36))) {
        expect(sendBack(moment, zone).at).to.deep.equal(moment)
        // A new record has no value that it could keep.
        expect(sendBack(moment, zone, new Meeting()).at).to.deep.equal(moment)
        expect(sendBack(moment, zone, new Meeting(moment), 'Asia/Tokyo').at).to.deep.equal(moment)
      }
    })
  }

  it('keeps what only the database has, also of a page without the hidden field', () => {
    const moment = new Date('2026-10-25T01:30:00Z')
    const submission = { isJson: false, isForm: true, timeZone: 'Europe/Berlin' }
    const meeting = new Meeting(moment)
    bind(meeting, [datetime], { body: { at: '2026-10-25T02:30' }, ...submission })
    expect(meeting.at).to.deep.equal(moment)
    bind(meeting, [datetime], { body: { at: '2026-10-25T02:31' }, ...submission })
    expect(meeting.at).to.deep.equal(new Date('2026-10-25T00:31:00Z'))
  })

  const hidden: [what: string, hidden: string, visible: string, read: string | undefined][] = [
    ['of another time', '2026-10-25T02:30+01:00', '2026-10-25T02:31', '2026-10-25T00:31:00.000Z'],
    [
      'that only begins like the visible time',
      '2026-10-25T02:30:45+01:00',
      '2026-10-25T02:30',
      '2026-10-25T00:30:00.000Z',
    ],
    ['without a visible time', '2026-10-25T02:30+01:00', '', undefined],
    ["that isn't a time", 'x+01:00', 'x', undefined],
    ['that is not an offset', '2026-10-25T02:30Z', '2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ]
  for (const [what, first, visible, read] of hidden) {
    it(`ignores a hidden value ${what}`, () => {
      const meeting = bind(new Meeting(), [datetime], {
        body: { at: [first, visible] },
        isJson: false,
        isForm: true,
        timeZone: 'Europe/Berlin',
      })
      expect(meeting.at?.toISOString()).to.equal(read)
      expect(unreadableOf(meeting)).to.have.length(read === undefined ? 1 : 0)
    })
  }
})

const describeInOneBrowser = engine === 'sqlite' ? describeInBrowser : () => undefined

describeInOneBrowser('The fields that a browser sends', () => {
  it('are those that the specs of forms send', async () => {
    const values = [
      '',
      ' a ',
      'a@b.c',
      'two\nlines',
      '\r\n1',
      '1',
      '-1e-7',
      '.5',
      '+5',
      'NaN',
      '2026-01-02',
      '12026-01-02',
    ]
    const times = ['10:30', '10:30:05', '10:30:00.5', '10:30:00.123456', '24:00', '-12:30:00', '10:30:00+02']
    const texts = [...values, ...times, ...times.map((time) => `2026-10-25T${time}`), 'infinity']
    const types = [
      'text',
      'email',
      'url',
      'search',
      'tel',
      'number',
      'date',
      'time',
      'datetime-local',
      'hidden',
    ]
    const inputs = types.flatMap((type, column) =>
      texts.map((text, row) => `<input type="${type}" name="f${column}_${row}" value="${text}">`),
    )
    const areas = texts.map((text, row) => `<textarea name="t${row}">\n${text}</textarea>`)
    const html = [...inputs, ...areas].join('')
    const browser = await startBrowser()
    try {
      const page = await browser.newPage()
      await page.setContent(`<form method="post">${html}</form>`)
      const sent: [string, string][] = await page.evaluate('[...new FormData(document.forms[0])]')
      const expected = browserFields(html).map(([name, value]) => [name, value.replaceAll('\r\n', '\n')])
      expect(sent.map(([name, value]) => [name, value.replaceAll('\r\n', '\n')])).to.deep.equal(expected)
    } finally {
      await browser.close()
    }
  })
})

function formData(fields: readonly [string, string][]): FormData {
  const form = new FormData()
  for (const [name, value] of fields) form.append(name, value)
  return form
}

/** The options of a request from a visitor in a time zone. */
const from = (zone: string) => ({ headers: { cookie: `time_zone=${zone}` } })

/** The columns of a row as the database writes them. */
async function rowOf(database: Database, id: string): Promise<Record<string, string>> {
  const { driver } = database.manager.dataSource
  const textOf: Record<Engine, (column: string) => string> = {
    sqlite: (column) => `quote(${column})`,
    postgres: (column) => `${column}::text`,
    mariadb: (column) => `CAST(${column} AS CHAR)`,
  }
  const columns = [...attributesOf(Thing).map(({ name }) => name), 'updated_at'].map((name) => {
    const column = driver.escape(name)
    return `${textOf[engine](column)} AS ${column}`
  })
  const [row] = await database.query(`SELECT ${columns.join(', ')} FROM things WHERE id = '${id}'`)
  return { ...row }
}
