import { expect } from 'chai'
import type { Attribute, AttributeKind } from '../../../src/models/attributes/attributes.js'
import { coerce, unreadable } from '../../../src/models/attributes/coerce.js'

const uuid = '0193b6a2-7c3e-7000-8000-00000000000a'

/** Values that no kind but JSON can hold. */
const neverReadable = [{}, { a: 1 }, [], ['1'], [1], '\0', 'ja\0', undefined]

function read(kind: AttributeKind, value: unknown, options: Partial<Attribute> = {}): unknown {
  return coerce(value, { name: 'field', kind, nullable: false, ...options })
}

function label(value: unknown): string {
  if (value === unreadable) return 'unreadable'
  if (typeof value === 'string' && value.length > 60) return `a text of ${value.length} characters`
  if (value instanceof Date && !Number.isNaN(value.getTime())) return value.toISOString()
  return typeof value === 'object' || typeof value === 'string'
    ? (JSON.stringify(value) ?? '')
    : String(value)
}

function table(
  kind: AttributeKind,
  rows: Array<[value: unknown, result: unknown]>,
  options: Partial<Attribute> = {},
): void {
  for (const [value, result] of rows) {
    it(`reads ${label(value)} as ${label(result)}`, () => {
      expect(read(kind, value, options)).to.deep.equal(result)
    })
  }
}

/** Texts that are not of this kind. */
function rejects(kind: AttributeKind, values: unknown[], options: Partial<Attribute> = {}): void {
  for (const value of [...values, ...neverReadable]) {
    it(`rejects ${label(value)}`, () => {
      expect(read(kind, value, options)).to.equal(unreadable)
    })
  }
}

describe('coerce(value, attribute)', () => {
  for (const kind of ['string', 'text'] as const) {
    describe(`a ${kind}`, () => {
      table(kind, [
        ['', ''],
        [' a ', ' a '],
        ['null', 'null'],
        ['1', '1'],
        ['ä € 😀', 'ä € 😀'],
        ['a\r\nb', 'a\r\nb'],
        ['x'.repeat(1024 * 1024), 'x'.repeat(1024 * 1024)],
        [null, null],
      ])
      rejects(kind, [1, 0, 1.5, true, false, 'a\0b', '\ud800', 'a\udc00', Number.NaN])
    })
  }

  describe('an int', () => {
    table('int', [
      ['0', 0],
      ['-1', -1],
      ['+1', 1],
      [' 42 ', 42],
      ['007', 7],
      ['-0', 0],
      ['2147483647', 2_147_483_647],
      ['-2147483648', -2_147_483_648],
      [7, 7],
      [-7, -7],
      [1e3, 1000],
      [null, null],
    ])
    rejects('int', [
      '',
      ' ',
      '1.5',
      '1.0',
      '1e3',
      '0x10',
      '1,000',
      '1 000',
      '٣',
      '--1',
      '2147483648',
      '-2147483649',
      '9'.repeat(30),
      'Infinity',
      'NaN',
      'null',
      'true',
      '1n',
      '9'.repeat(1024 * 1024),
      1.5,
      2_147_483_648,
      1e308,
      Number.POSITIVE_INFINITY,
      Number.NaN,
      true,
      false,
    ])
  })

  describe('a bigint', () => {
    table('bigint', [
      ['9223372036854775807', '9223372036854775807'],
      ['-9223372036854775808', '-9223372036854775808'],
      ['0', '0'],
      ['00000000000000000001', '1'],
      [9_007_199_254_740_991, '9007199254740991'],
    ])
    rejects('bigint', ['', '9223372036854775808', '-9223372036854775809', '1.0', 2 ** 53, 1e19, true])
  })

  describe('a float', () => {
    table('float', [
      ['1.5', 1.5],
      ['.5', 0.5],
      ['5.', 5],
      ['-1e3', -1000],
      ['1E-3', 0.001],
      ['1e-400'.replace('400', '399'), 0],
      [' 2 ', 2],
      [1.5, 1.5],
      [0, 0],
    ])
    rejects('float', [
      '',
      '.',
      'e5',
      '1e',
      '1,5',
      '0x1p3',
      'Infinity',
      '-Infinity',
      'NaN',
      '1e999',
      '1'.repeat(1024 * 1024),
      Number.NaN,
      Number.POSITIVE_INFINITY,
      true,
    ])
  })

  describe('a decimal', () => {
    table(
      'decimal',
      [
        ['1.50', '1.50'],
        ['-1.5', '-1.50'],
        ['+1', '1.00'],
        ['007.1', '7.10'],
        ['12345678.12', '12345678.12'],
        ['0', '0.00'],
        ['-0', '0.00'],
        ['1.5000', '1.50'],
        [1.25, '1.25'],
        [0.1, '0.10'],
        ['.5', '0.50'],
        ['-.5', '-0.50'],
        ['5.', '5.00'],
        ['1e2', '100.00'],
        ['1.25E+2', '125.00'],
        ['125e-2', '1.25'],
        ['5e-1', '0.50'],
      ],
      { precision: 10, scale: 2 },
    )
    rejects(
      'decimal',
      [
        '',
        '1e8',
        '1e-3',
        '1e',
        'e2',
        '.',
        '.e2',
        '1.505',
        0.125,
        '1,5',
        '123456789',
        'NaN',
        1e21,
        1e-7,
        Number.NaN,
        true,
      ],
      {
        precision: 10,
        scale: 2,
      },
    )

    it('reads a number that JavaScript writes with an exponent', () => {
      expect(read('decimal', 1e-7)).to.equal('0.0000001')
      expect(read('decimal', -1.5e-7)).to.equal('-0.00000015')
      expect(read('decimal', 1e21)).to.equal('1000000000000000000000')
    })

    it('keeps all digits of its text if the column has no precision', () => {
      expect(read('decimal', '12345678901234567890.123456789')).to.equal('12345678901234567890.123456789')
    })

    it('is whole if the column has a precision and no scale', () => {
      expect(read('decimal', '12.0', { precision: 5 })).to.equal('12')
      expect(read('decimal', '12.5', { precision: 5 })).to.equal(unreadable)
    })

    it('is rejected if it is a megabyte of zeros, in linear time', () => {
      expect(read('decimal', `${'0'.repeat(1024 * 1024)}x`)).to.equal(unreadable)
    })
  })

  describe('a bool', () => {
    table('bool', [
      ...[true, 1, 'true', 'TRUE', '1', 'on', 'yes', ' true '].map((value): [unknown, unknown] => [
        value,
        true,
      ]),
      ...[false, 0, 'false', 'False', '0', 'off', 'no'].map((value): [unknown, unknown] => [value, false]),
      [null, null],
    ])
    rejects('bool', ['', 'wahr', '2', 'truefalse', 2, -1, 0.5, Number.NaN])
  })

  describe('a date', () => {
    table('date', [
      ['2026-02-28', '2026-02-28'],
      ['2024-02-29', '2024-02-29'],
      ['0001-01-01', '0001-01-01'],
      ['9999-12-31', '9999-12-31'],
      [' 2026-01-01 ', '2026-01-01'],
    ])
    rejects('date', [
      '',
      '2026-02-30',
      '2026-02-29',
      '2026-13-01',
      '2026-00-10',
      '2026-01-00',
      '0000-01-01',
      '26-01-01',
      '+002026-01-01',
      '2026-1-1',
      '2026/01/01',
      '01.02.2026',
      '2026-01-01T00:00:00Z',
      'today',
      20260101,
      true,
    ])
  })

  describe('a time', () => {
    table('time', [
      ['00:00', '00:00:00'],
      ['23:59:59', '23:59:59'],
      ['12:30:15.123456', '12:30:15.123456'],
      ['12:30:10.500', '12:30:10.5'],
      ['12:30:10.000', '12:30:10'],
    ])
    rejects('time', ['', '24:00', '12:60', '12:00:60', '1:00', '12', '12:00Z', 'noon', 1200, true])
  })

  describe('a datetime', () => {
    table('datetime', [
      ['2026-01-02T03:04', new Date('2026-01-02T03:04:00Z')],
      ['2026-01-02 03:04:05', new Date('2026-01-02T03:04:05Z')],
      ['2026-01-02T03:04:05.678Z', new Date('2026-01-02T03:04:05.678Z')],
      ['2026-01-02T03:04:05+02:00', new Date('2026-01-02T01:04:05Z')],
      ['2026-01-02T03:04:05-0230', new Date('2026-01-02T05:34:05Z')],
      ['2026-01-02', new Date('2026-01-02T00:00:00Z')],
      [new Date(0), new Date(0)],
    ])
    rejects('datetime', [
      '',
      '2026-02-30T00:00',
      '2026-01-01T25:00',
      '2026-01-01T00:61',
      '2026-01-01T00:00+99:00',
      'now',
      '1767312000',
      '0000-01-01T00:00',
      '9999-12-31T23:59:59-14:00',
      '0001-01-01T00:00:00+14:00',
      '0999-12-31T23:59:59.999Z',
      '1000-01-01T00:00:00+00:01',
      '+275760-09-13T00:00:00Z',
      'Fri, 02 Jan 2026 03:04:05 GMT',
      1_767_312_000,
      true,
      new Date(Number.NaN),
    ])
  })

  describe('a uuid', () => {
    table('uuid', [
      [uuid, uuid],
      [uuid.toUpperCase(), uuid],
      [` ${uuid} `, uuid],
    ])
    rejects('uuid', ['', '1', uuid.slice(1), `${uuid}0`, `{${uuid}}`, uuid.replaceAll('-', ''), 1, true])
  })

  describe('an enum', () => {
    const values = ['draft', 'out', '']
    table(
      'enum',
      [
        ['draft', 'draft'],
        ['out', 'out'],
        [null, null],
      ],
      { values },
    )
    rejects('enum', ['Draft', ' draft', 'toString', '__proto__', 0, true], { values })
  })

  describe('a json', () => {
    table('json', [
      ['{"a":[1,null]}', { a: [1, null] }],
      ['"text"', 'text'],
      ['1', 1],
      ['null', null],
      [{ a: 1 }, { a: 1 }],
      [[1], [1]],
      [false, false],
      [null, null],
    ])

    for (const value of ['', ' ', '{', 'text', "{'a':1}", '[1,]', '\0']) {
      it(`rejects ${label(value)}`, () => {
        expect(read('json', value)).to.equal(unreadable)
      })
    }

    it('is rejected if it is nested too deeply', () => {
      expect(read('json', '['.repeat(1000) + ']'.repeat(1000))).to.equal(unreadable)
    })

    it('is rejected with a key __proto__, which could not be stored', () => {
      expect(read('json', '{"__proto__":{"polluted":true}}')).to.equal(unreadable)
      expect(read('json', '[{"a":{"__proto__":null}}]')).to.equal(unreadable)
      expect({}).not.to.have.property('polluted')
    })

    it('is rejected with half a surrogate pair, which not every engine stores', () => {
      for (const value of ['"\\ud800"', { a: ['\ud83d'] }, { '\udc00': 1 }])
        expect(read('json', value)).to.equal(unreadable)
      expect(read('json', '"😀"')).to.equal('😀')
    })
  })

  describe('in a nullable column', () => {
    const kinds: AttributeKind[] = [
      'int',
      'bigint',
      'float',
      'decimal',
      'bool',
      'date',
      'time',
      'datetime',
      'uuid',
      'json',
    ]
    for (const kind of kinds) {
      it(`reads blank text as null for ${kind}`, () => {
        expect([read(kind, '', { nullable: true }), read(kind, ' \t', { nullable: true })]).to.deep.equal([
          null,
          null,
        ])
      })
    }

    for (const kind of ['string', 'text'] as const) {
      it(`reads the empty text as null for ${kind}, but keeps white space`, () => {
        expect([read(kind, '', { nullable: true }), read(kind, ' ', { nullable: true })]).to.deep.equal([
          null,
          ' ',
        ])
      })
    }

    it('reads the empty text as null for an enum', () => {
      expect(read('enum', '', { nullable: true, values: ['a'] })).to.equal(null)
      expect(read('enum', ' ', { nullable: true, values: ['a'] })).to.equal(unreadable)
    })

    it('still rejects malformed values', () => {
      expect(read('int', 'many', { nullable: true })).to.equal(unreadable)
    })
  })
})
