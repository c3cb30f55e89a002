import { gzipSync } from 'node:zlib'
import * as fc from 'fast-check'
import { anyText } from './any-text.js'

/** A request as the fuzzing spec sends it. */
export interface FuzzRequest {
  method: string
  path: string
  headers: Record<string, string>
  body: Buffer
}

/** The input of the generator: the collections of an application, and the attributes of their records. */
export interface FuzzTarget {
  /** Methods with their paths, in which `{id}` stands for the id of a record. The generator also combines any method with any path. */
  routes: readonly string[]
  /** The attributes of a record, each with a valid value. */
  record: Readonly<Record<string, string>>
  /** Headers of most requests: a cookie. */
  headers: Readonly<Record<string, string>>
  /** Fields of most forms: a token. */
  fields: Readonly<Record<string, string>>
}

const absent = '0193b6a2-7c3e-7000-8000-00000000000a'

/** Texts that have caused errors in some programs. */
const knownTexts = [
  '',
  ' ',
  '\u00a0',
  '\u2028',
  '\0',
  'a\0b',
  '\ud800',
  'a\udc00b',
  '\ufeff',
  '\ufffe',
  '😀',
  '👩‍👩‍👧‍👦',
  'שלום\u202eabc',

  '0',
  '-0',
  '1',
  '+1',
  '1.',
  '.5',
  '1e3',
  '1e999',
  '-1e999',
  '5e-324',
  '0x10',
  'NaN',
  'Infinity',
  '1_000',
  '１',

  '2147483647',
  '2147483648',
  '-2147483649',
  '9223372036854775807',
  '9223372036854775808',
  '9'.repeat(400),

  '99999999.99',
  '100000000',
  '1.005',
  '-12345678.90',
  '9999999999999999.9999',
  '0.00001',
  '999999999999999.9',

  '2026-01-02',
  '2026-02-30',
  '0000-00-00',
  '0000-01-01',
  '0001-01-01',
  '9999-12-31',
  '10000-01-01',
  '-0001-01-01',

  '2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05.123456789Z',
  '2026-01-02T24:00:00Z',
  '2026-12-31T23:59:60Z',

  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-14:00',
  '0000-01-01T00:00:00Z',

  '0001-01-01T00:00:00+14:00',
  '1000-01-01T00:00:00Z',
  '1969-12-31T23:59:59Z',
  '2026-03-29T02:30',
  '+010000-01-01T00:00:00Z',
  '00:00',
  '23:59:59',
  '24:00:00',
  '23:59:60',
  '3:04',
  '03:04:05.678',

  'true',
  'false',
  'on',
  'off',
  'yes',
  'TRUE',
  'null',
  'undefined',
  'low',
  'high',
  'LOW',
  'low ',
  'low,high',

  '{"a":1}',
  '[',
  '{"__proto__":{"a":1}}',
  '"\\u0000"',
  '"\\ud800"',
  '[1e400]',
  '1',
  '"x"',
  'null',
  '[[[[[[1]]]]]]',
  absent,
  absent.toUpperCase(),
  `{${absent}}`,
  absent.replaceAll('-', ''),
  `${absent} `,

  '<b>&amp;</b>',
  ']]>',
  '<!--',
  '%00',
  '%',
  '../../etc/passwd',
  `' OR 1=1--`,
  '\\',
  '${1}',
  '{{1}}',
  '\r\n\r\nX: y',

  'x'.repeat(255),
  'x'.repeat(256),
  'ä'.repeat(256),
  '😀'.repeat(200),
  'x'.repeat(65_535),
  'x'.repeat(65_536),
]

const keys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'id',
  'created_at',
  'updated_at',

  '_method',
  'authenticity_token',
  'a[b]',
  'a[]',
  'a[b][c]',
  '',
  ' ',
  '\0',
  '$',
  '.',
  'toJSON',
  'then',
  'length',
]

const text = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...knownTexts) },
  { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 20 }) },
  { weight: 1, arbitrary: anyText(20) },
  { weight: 1, arbitrary: fc.double().map(String) },
  { weight: 1, arbitrary: fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String) },
  { weight: 1, arbitrary: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()) },
)

const jsonValue = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -0, 1.5, 1e300, 2 ** 53, [], {}, [[]], {
      a: null,
    }),
  },
)

/** True most of the time. */
const often = fc.nat(9).map((luck) => luck > 1)

/** Fields: usually those of a valid record, with some of them changed. */
function fieldsOf<T>(target: FuzzTarget, value: fc.Arbitrary<T>): fc.Arbitrary<[string, string | T][]> {
  const names = Object.keys(target.record)
  const name = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...names, ...names.map((name) => `maybe_${name}`)) },
    { weight: 1, arbitrary: fc.constantFrom(...keys) },
    { weight: 1, arbitrary: fc.string({ maxLength: 8 }) },
  )
  const changes = fc.array(fc.tuple(name, value), { maxLength: 3 })
  return fc
    .tuple(often, often, changes)
    .map(([isWhole, isTrusted, changed]) => [
      ...(isTrusted || isWhole ? Object.entries(target.fields) : []),
      ...(isWhole ? Object.entries(target.record) : []),
      ...changed,
    ])
}

interface Content {
  type: string
  body: Buffer
  isCompressed?: boolean
}

function form(target: FuzzTarget): fc.Arbitrary<Content> {
  const method = fc.option(fc.constantFrom('PUT', 'PATCH', 'DELETE', 'GET', 'put', 'TRACE', ''), { freq: 3 })
  return fc.tuple(fieldsOf(target, text), method, fc.boolean()).map(([fields, method, isRough]) => {
    const pairs = [...fields, ...(method === null ? [] : [['_method', method] as [string, string]])]
    const encode = (part: string): string =>
      isRough ? part.replaceAll(/[&=\r\n]/g, '') : encodeURIComponent(part.toWellFormed())
    const body = Buffer.from(pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&'))
    return { type: 'application/x-www-form-urlencoded', body }
  })
}

function json(target: FuzzTarget): fc.Arbitrary<Content> {
  const object = fieldsOf(target, jsonValue).map(
    (fields) =>
      // Assigned by hand: `__proto__` is a key like any other.
      `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value) ?? 'null'}`).join(',')}}`,
  )
  const other = fc.oneof(
    fc.json({ maxDepth: 5 }),
    fc.constantFrom(
      '',
      '[]',
      '{}',
      'null',
      '{"title":1e400}',
      '{"title":-0}',
      '['.repeat(5000),
      '{"a":'.repeat(5000),
    ),
  )
  const source = fc.oneof({ weight: 5, arbitrary: object }, { weight: 1, arbitrary: other })
  return source.map((text) => ({ type: 'application/json', body: Buffer.from(text) }))
}

function xml(target: FuzzTarget): fc.Arbitrary<Content> {
  const escape = (value: string): string =>
    value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const source = fc.tuple(fieldsOf(target, text), fc.boolean()).map(([fields, isEscaped]) => {
    const elements = fields.map(([name, value]) => `<${name}>${isEscaped ? escape(value) : value}</${name}>`)
    return `<record>${elements.join('')}</record>`
  })
  const other = fc.constantFrom(
    '',
    '<a/>',
    '<a>',
    '<!DOCTYPE a><a/>',
    '<a><a><a/></a></a>',
    '<a>'.repeat(3000),
    '<a b="c">&#0;</a>',
    '<a>&x;</a>',
    '<?xml version="1.0" encoding="utf-16"?><a/>',
  )
  return fc
    .oneof({ weight: 5, arbitrary: source }, { weight: 1, arbitrary: other })
    .map((text) => ({ type: 'application/xml', body: Buffer.from(text) }))
}

function multipart(target: FuzzTarget): fc.Arbitrary<Content> {
  const file = fc.option(fc.constantFrom('a.txt', '', '../a', 'a\0b', '"', 'ä'), { freq: 5 })
  return fc
    .tuple(fieldsOf(target, text), file, fc.integer({ min: 0, max: 9 }))
    .map(([fields, file, flaw]) => {
      const parts = fields.map(
        ([name, value], index) =>
          `--x\r\nContent-Disposition: form-data; name="${name.replaceAll(/["\r\n]/g, '')}"` +
          `${file !== null && index === 0 ? `; filename="${file}"` : ''}` +
          `${flaw === 1 ? '\r\nContent-Transfer-Encoding: y' : ''}\r\n\r\n${value}\r\n`,
      )
      const end = flaw === 2 ? '' : '--x--\r\n'
      const boundary = ['; boundary=x', '; boundary=x', '; boundary=y', ''][
        flaw === 3 ? 2 : flaw === 4 ? 3 : 0
      ]
      return { type: `multipart/form-data${boundary}`, body: Buffer.from(parts.join('') + end) }
    })
}

/** Bodies that are cheap to send and expensive to read: line breaks in a file, and many small values. */
const expensive: fc.Arbitrary<Content> = fc
  .tuple(
    fc.constantFrom('\r', '\r\n', '\r\n--', '\r\n--x', '--x\r\n\r\n\r\n', '<a/>', 'x<a/>', '&amp;', '&foo;'),
    fc.constantFrom(' a="b"', '<![CDATA[', '<!--', '{},', '[', '"k":1,', 'a[]=1&', 'a[b]=1&', '%'),
    fc.constantFrom(1, 100, 9000, 40_000),
    fc.constantFrom<[type: string, start: string, end: string]>(
      [
        'multipart/form-data; boundary=x',
        '--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n',
        '\r\n--x--\r\n',
      ],
      [
        'multipart/form-data; boundary=x',
        '--x\r\nContent-Disposition: form-data; name="f"\r\n\r\n',
        '\r\n--x--\r\n',
      ],
      ['multipart/form-data; boundary=x', '', '--x--\r\n'],
      ['application/xml', '<r>', '</r>'],
      ['application/xml', '<r>&amp;', '</r>'],
      ['application/xml', '<r', '/>'],
      ['application/json', '{"a":[', '1]}'],
      ['application/json', '{', '"z":1}'],
      ['application/x-www-form-urlencoded', '', 'a=1'],
    ),
    fc.boolean(),
  )
  .map(([one, other, times, [type, start, end], isFirst]) => ({
    type,
    body: Buffer.from(start + (isFirst ? one : other).repeat(times) + end),
  }))

/** A content, sometimes compressed, with a few bytes of it changed, truncated, or with another type. */
function content(target: FuzzTarget): fc.Arbitrary<Content> {
  const sound = fc.oneof(
    { weight: 3, arbitrary: form(target) },
    { weight: 3, arbitrary: json(target) },
    { weight: 2, arbitrary: xml(target) },
    { weight: 2, arbitrary: multipart(target) },
    { weight: 1, arbitrary: expensive },
    {
      weight: 1,
      arbitrary: fc.uint8Array({ maxLength: 50 }).map((body) => ({ type: '', body: Buffer.from(body) })),
    },
  )
  const flaw = fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.record({ at: fc.nat(1000), byte: fc.nat(255) }) },
    { weight: 1, arbitrary: fc.record({ cutAt: fc.nat(1000) }) },
    { weight: 1, arbitrary: fc.constant({ isCompressed: true }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constantFrom(
          '',
          'text/plain',
          'application/json',
          'application/xml',
          'text/xml; charset=utf-16',
          'image/png',
          'x',

          'application/json; charset=latin1',
          'application/vnd.api+json',
          'multipart/form-data; boundary=',
          ';',
          '/',
          'application/x-www-form-urlencoded; charset=utf-8',
        ),
      }),
    },
  )
  return fc.tuple(sound, flaw).map(([{ type, body }, flaw]) => {
    if (!flaw) return { type, body }
    if ('type' in flaw) return { type: flaw.type, body }
    if ('cutAt' in flaw) return { type, body: body.subarray(0, flaw.cutAt) }
    if ('isCompressed' in flaw) return { type, body: gzipSync(body), ...flaw }
    const changed = Buffer.from(body)
    if (flaw.at < changed.length) changed[flaw.at] = flaw.byte
    return { type, body: changed }
  })
}

const query = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  {
    weight: 2,
    arbitrary: fc
      .array(
        fc.tuple(
          fc.constantFrom(
            'page',
            'per_page',
            'page[]',
            'per_page[a]',
            'q',
            '__proto__',
            '',
            'id',
            'int',
            'string',
          ),
          text,
        ),
        {
          maxLength: 3,
        },
      )
      .map(
        (pairs) =>
          `?${pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.slice(0, 200).toWellFormed())}`).join('&')}`,
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '?',
      '??',
      '?%',
      '?page=%zz',
      '?page=%00',
      '?page=1&page=2',
      '?id=a&id=b',
      '?int=1&int=2&string=a&string=a',
      '?page=-1',
      '?&&&=',
      `?${'a=1&'.repeat(1000)}`,
    ),
  },
)

const id = fc.oneof(
  { weight: 12, arbitrary: fc.nat(999).map((number) => `{${number}}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      absent,
      absent.toUpperCase(),
      'x',
      '0',
      '%00',
      '%',
      '%ff',
      '..',
      'new',
      '%F0%9F%98%80',
      "'",
      '%2f',
    ),
  },
  { weight: 1, arbitrary: text.map((value) => encodeURIComponent(value.slice(0, 100).toWellFormed())) },
)

const accept = fc.oneof(
  { weight: 3, arbitrary: fc.constant('application/json') },
  { weight: 2, arbitrary: fc.constantFrom('text/html', 'application/xml', '*/*', '') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'application/json;q=0',
      'text/html;q=x',
      'image/png',
      'a',
      ',,,',
      '*/*;q=0',
      'text/*',
      'application/xml;q=0.5, application/json;q=0.4',
    ),
  },
)

const oddHeaders: fc.Arbitrary<Record<string, string>> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Record<string, string>>(
      { 'x-request-id': 'x'.repeat(200) },
      { 'x-request-id': 'ä <b>' },
      { cookie: '_things=x; _blog_session=y; locale=xx' },
      { cookie: `a=${'x'.repeat(4000)}` },
      { cookie: '=;;=,%' },
      { 'accept-language': 'xx-YY;q=9, *;q=-1, de' },
      { 'accept-encoding': 'x' },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'x' },
      { 'if-none-match': '*', 'if-modified-since': 'never' },
      { range: 'bytes=5-1' },
      { origin: 'null' },
      { origin: 'http://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { 'x-forwarded-proto': 'https', 'x-forwarded-host': '<b>' },
      { host: 'ä' },
      { host: '' },
      { expect: '100-continue' },
      { 'x-http-method-override': 'DELETE' },
      { 'x-csrf-token': 'x' },
    ),
  },
)

const methods = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK']

/** Requests for an application: many that it should accept, and many that it should reject. */
export function fuzzRequests(target: FuzzTarget): fc.Arbitrary<FuzzRequest> {
  const route = fc.constantFrom(...target.routes)
  const odd = fc
    .tuple(fc.constantFrom(...methods), route)
    .map(([method, route]) => `${method} ${pathOf(route)}`)
  const chosen = fc.oneof({ weight: 6, arbitrary: route }, { weight: 1, arbitrary: odd })
  return fc
    .tuple(chosen, id, query, accept, oddHeaders, content(target), fc.nat(19))
    .map(([route, id, query, accept, odd, { type, body, isCompressed }, luck]): FuzzRequest => {
      const method = route.slice(0, route.indexOf(' '))
      const hasBody = !['GET', 'HEAD', 'OPTIONS', 'TRACE'].includes(method)
      return {
        method,
        path: pathOf(route).replaceAll('{id}', id) + query,
        headers: {
          ...(luck > 0 && target.headers),
          ...(accept && { accept }),
          ...(hasBody && type && { 'content-type': type }),
          ...(hasBody && isCompressed && { 'content-encoding': 'gzip' }),
          ...odd,
        },
        body: hasBody ? body : Buffer.alloc(0),
      }
    })
}

function pathOf(route: string): string {
  return route.slice(route.indexOf(' ') + 1)
}
