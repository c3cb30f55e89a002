import { expect } from 'chai'
import { fromLocalTime, knownTimeZone, toLocalTime } from '../../src/common/time-zones.js'

const at = (text: string) => new Date(`${text}Z`)

describe('knownTimeZone(name)', () => {
  it('returns the name of a zone as it is usually written', () => {
    const names = ['Europe/Berlin', 'europe/berlin', 'UTC', 'Asia/Kolkata']
    expect(names.map(knownTimeZone)).to.deep.equal(['Europe/Berlin', 'Europe/Berlin', 'UTC', 'Asia/Kolkata'])
  })

  for (const name of ['', 'Mars/Phobos', 'Europe/Berlin\n', 'x'.repeat(1000), '../etc', undefined, 5]) {
    it(`returns undefined for ${JSON.stringify(name)?.slice(0, 20)}`, () => {
      expect(knownTimeZone(name)).to.equal(undefined)
    })
  }
})

describe('The local time of a zone', () => {
  const rows: [zone: string, utc: string, local: string][] = [
    ['Europe/Berlin', '2026-01-15T10:30:00.250', '2026-01-15T11:30:00.250'],
    ['Europe/Berlin', '2026-07-15T10:30:00', '2026-07-15T12:30:00'],
    ['America/New_York', '2026-07-15T02:30:00', '2026-07-14T22:30:00'],
    ['Asia/Kolkata', '2026-01-15T10:00:00', '2026-01-15T15:30:00'],
    ['Pacific/Kiritimati', '2026-01-15T10:00:00', '2026-01-16T00:00:00'],
    ['Pacific/Pago_Pago', '2026-01-15T10:00:00', '2026-01-14T23:00:00'],
    ['UTC', '2026-01-15T10:00:00', '2026-01-15T10:00:00'],
    ['Europe/Berlin', '9999-12-31T12:00:00', '9999-12-31T13:00:00'],
    // The local mean time of Berlin, before there were zones.
    ['Europe/Berlin', '1000-01-01T00:00:00', '1000-01-01T00:53:28'],
    // The last second before, and the first one after a change of clocks.
    ['Europe/Berlin', '2026-03-29T00:59:59', '2026-03-29T01:59:59'],
    ['Europe/Berlin', '2026-03-29T01:00:00', '2026-03-29T03:00:00'],
  ]
  for (const [zone, utc, local] of rows) {
    it(`is ${local} in ${zone} at ${utc}`, () => {
      expect(toLocalTime(at(utc), zone)).to.deep.equal(at(local))
      expect(fromLocalTime(at(local), zone)).to.deep.equal(at(utc))
    })
  }

  const changes: [what: string, zone: string, local: string, utc: string][] = [
    ['is moved forward if clocks skip it', 'Europe/Berlin', '2026-03-29T02:30:00', '2026-03-29T01:30:00'],
    ['is moved forward if clocks skip it', 'America/New_York', '2026-03-08T02:30:00', '2026-03-08T07:30:00'],
    [
      'is moved forward if clocks skip it',
      'Australia/Lord_Howe',
      '2026-10-04T02:15:00',
      '2026-10-03T15:45:00',
    ],
    [
      'is moved forward if the calendar skips it',
      'Pacific/Apia',
      '2011-12-30T12:00:00',
      '2011-12-30T22:00:00',
    ],
    ['is the earlier of two', 'Europe/Berlin', '2026-10-25T02:30:00', '2026-10-25T00:30:00'],
    ['is the earlier of two', 'America/New_York', '2026-11-01T01:30:00', '2026-11-01T05:30:00'],
    ['is the earlier of two', 'Australia/Lord_Howe', '2026-04-05T01:45:00', '2026-04-04T14:45:00'],
  ]
  for (const [what, zone, local, utc] of changes) {
    it(`${what}: ${local} in ${zone}`, () => {
      expect(fromLocalTime(at(local), zone)).to.deep.equal(at(utc))
    })
  }
})
