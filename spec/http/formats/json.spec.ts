import { expect } from 'chai'
import { toJson } from '../../../src/http/formats/json.js'

class Note {
  title = 'A "quoted" title'
  created_at = new Date(0)
  empty = null
  absent = undefined
  tags = ['a', 'b']
}

class Secret {
  value = 'hidden'
  toJSON() {
    return 'shown'
  }
}

/** A date that serializes itself in its own way. */
class Day extends Date {
  override toJSON(): string {
    return this.toISOString().slice(0, 10)
  }
}

describe('toJson(value)', () => {
  const dates = {
    'in this century': Date.UTC(2026, 10, 22, 23, 59, 59, 9),
    'at midnight': Date.UTC(2026, 10, 22),
    'before 1970': -1,
    'before the year 0': Date.UTC(-1, 0, 1, 1, 2, 3, 4),
    'after the year 9999': 8.64e15,
    'that is invalid': Number.NaN,
  }
  for (const [which, time] of Object.entries(dates)) {
    it(`writes a date ${which} like JSON.stringify`, () => {
      const record = { at: new Date(time) }
      expect(toJson(record)).to.equal(JSON.stringify(record))
    })
  }

  it('writes 10,000 dates of 2,000 days like JSON.stringify', () => {
    const records = Array.from({ length: 10_000 }, (_, index) => ({
      at: new Date((index % 2000) * 86_400_000 + index * 7_919),
    }))
    expect(toJson(records)).to.equal(JSON.stringify(records))
  })

  const values = {
    'a record': new Note(),
    'a list of records': [new Note(), new Note()],
    'a record with a method toJSON': new Secret(),
    'a record in a record': { note: new Note(), secret: new Secret() },
    'a date of its own class': { at: new Day(0) },
    'a date alone': new Date(0),
    'a list of dates': [new Date(0), null, [new Date(1)]],
    'a field named __proto__': JSON.parse('{ "__proto__": { "a": 1 }, "b": 2 }') as unknown,
    null: null,
    'a text': 'text',
    'a number': 1.5,
  }
  for (const [which, value] of Object.entries(values)) {
    it(`writes ${which} like JSON.stringify`, () => {
      expect(toJson(value)).to.equal(JSON.stringify(value))
    })
  }

  it('throws for a value that JSON cannot represent', () => {
    const circle: { self?: object } = {}
    circle.self = circle
    expect(() => toJson(circle)).to.throw(TypeError)
    expect(() => toJson({ big: 1n })).to.throw(TypeError)
  })
})
