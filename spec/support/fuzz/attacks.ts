import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import type { Random } from '../random.js'

/** The behavior of a hostile client on one connection. */
export interface Attack {
  /** The pieces that it sends, in turn; a number is a pause in milliseconds. */
  steps: readonly (Buffer | string | number)[]
  /** The responses that it waits for. Without them, it leaves after its last step. */
  responses: number
  /** Whether it reads what it receives; true by default. */
  reads?: boolean
  /** It leaves as soon as it has this many bytes. */
  leavesAfter?: number
  /** It sends the end of the connection after its last step, and still reads. */
  ends?: boolean
}

/** The accounts and records of the application under attack. */
export interface Victim {
  /** The address of a user, the value of the cookie header of their session, and the token of its forms. */
  email: string
  cookie: string
  token: string
  /** The text of a bearer token. */
  bearer: string
  /** The ids of posts. */
  posts: [string, ...string[]]
}

type Headers = readonly string[]

/** The text of a request. Its headers are lines, so that they can be repeated and malformed. */
function request(
  method: string,
  path: string,
  headers: Headers = [],
  body: string | Buffer = '',
  length: Headers = [`Content-Length: ${Buffer.byteLength(body)}`],
): Buffer {
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: shop.example',
    'X-Forwarded-Proto: https',
    ...headers,
    ...(body.length > 0 || method === 'POST' ? length : []),
  ]
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)])
}

const json = ['Accept: application/json', 'Content-Type: application/json']
const junk: readonly [string, ...string[]] = [
  '',
  ' ',
  '\t',
  '\x7f',
  '\xff\xfe',
  '%00',
  '<b>',
  "' OR 1=1--",
  '-1',
  '9'.repeat(300),
  '../..',
  '::1',
  '[',
]
const sizes = [0, 1, 100, 2047, 2048, 2049, 16_383, 65_536, 70_000, 200_000] as const

/** Sends a body with a valid account. */
function write(
  victim: Victim,
  type: string,
  body: string | Buffer,
  more: Headers = [],
  path = '/posts',
): Buffer {
  return request(
    'POST',
    path,
    [`Authorization: Bearer ${victim.bearer}`, 'Accept: application/json', `Content-Type: ${type}`, ...more],
    body,
  )
}

function address(random: Random): string {
  return `X-Forwarded-For: 203.${random.below(256)}.${random.below(256)}.${random.below(256)}`
}

/** A request that an honest client could send. */
function honest(random: Random, victim: Victim): Buffer {
  const signedIn = [
    random.chance(0.5) ? `Cookie: ${victim.cookie}` : `Authorization: Bearer ${victim.bearer}`,
  ]
  const accept = `Accept: ${random.of(['text/html', 'application/json', 'application/xml'])}`
  const post = `/posts/${random.of(victim.posts)}`
  const path = random.of([
    '/',
    '/posts',
    '/posts/new',
    post,
    `${post}/comments`,
    '/account/edit',
    '/session/new',
    '/query',
  ])
  if (random.chance(0.7)) return request('GET', path, [...signedIn, accept])
  const body = JSON.stringify({ title: 'a', body: 'b', rank: 1, state: 'draft' })
  return request(
    random.of(['PUT', 'POST']),
    random.of(['/conflicts', '/basket', '/posts', post]),
    [...signedIn, ...json],
    body,
  )
}

/** A part of a multipart form with one of many mistakes. */
function part(random: Random, boundary: string): string {
  const header = random.of([
    'Content-Disposition: form-data; name="a"',
    'Content-Disposition: form-data; name="f"; filename="f.txt"',
    'Content-Disposition: form-data; name="title"; filename=""',
    "Content-Disposition: form-data; name*=utf-8''%ff; filename*=x''%",
    'Content-Disposition: attachment; name="a"',
    'Content-Disposition: form-data',
    'Content-Type: text/plain',
    'X: y',
    '',
  ])
  const other = random.of([
    '',
    'foo\r\n',
    ' folded\r\n',
    'Content-Transfer-Encoding: base64\r\n',
    ': x\r\n',
    'X :y\r\n',
    '\0: \r\n',
    'a: \x01\r\n',
  ])
  const headers = random.chance(0.5) ? `${other}${header}` : `${header}\r\n${other.slice(0, -2)}`
  const content = random.of(['x', '\r', '\r\n', `\r\n--${boundary}`, '=', '\0']).repeat(random.of(sizes) / 2)
  return `--${boundary}${random.of(['\r\n', '\r\n', '\r\n', '\n', ''])}${headers}\r\n\r\n${content.slice(0, 200_000)}\r\n`
}

/** Compresses a body, and damages it sometimes. */
function compressed(random: Random, body: string): { headers: Headers; body: Buffer } {
  const [encoding, compress] = random.of<[string, (body: string) => Buffer]>([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', (text) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ])
  const whole = compress(body)
  const damaged = Buffer.from(whole)
  damaged[random.below(whole.length)] = random.below(256)
  const sent = random.of([
    whole,
    whole,
    damaged,
    whole.subarray(0, random.below(whole.length)),
    Buffer.concat([whole, whole]),
  ])
  const named = random.of([
    encoding,
    encoding,
    encoding,
    'gzip',
    'br',
    'identity',
    `${encoding}, ${encoding}`,
    'x',
  ])
  return { headers: [`Content-Encoding: ${named}`], body: sent }
}

function post(random: Random, victim: Victim, type: string, text: string): Attack {
  const { headers, body } = random.chance(0.4) ? compressed(random, text) : { headers: [], body: text }
  return {
    steps: [write(victim, type, body, headers, random.of(['/posts', '/query', '/basket', '/tokens']))],
    responses: 1,
  }
}

/** Splits a request into pieces with pauses between them. */
function slowly(random: Random, whole: Buffer): (Buffer | number)[] {
  const steps: (Buffer | number)[] = []
  const size = Math.ceil(whole.length / (1 + random.below(30)))
  for (let at = 0; at < whole.length; at += size) steps.push(whole.subarray(at, at + size), random.below(60))
  return steps
}

const slash = String.fromCharCode(92)

/** The kinds of attacks by their names. Each returns another attack for each state of the random numbers. */
export const attacks: Record<string, (random: Random, victim: Victim) => Attack> = {
  'malformed multipart form': (random, victim) => {
    const parts = random.several(4, () => part(random, 'x')).join('')
    const end = random.of(['--x--\r\n', '--x--', '--x', '', '--y--\r\n'])
    const type = random.of([
      '; boundary=x',
      '; boundary=x',
      '; boundary="x"',
      '; boundary=',
      `; boundary=${'x'.repeat(71)}`,
    ])
    return {
      steps: [write(victim, `multipart/form-data${type}`, parts + end, [address(random)], '/uploads')],
      responses: 1,
    }
  },

  'multipart form with a part without a colon': (random, victim) => {
    const content = 'x'.repeat(70_000)
    const body = `--x\r\nfoo\r\nContent-Disposition: form-data; name="a"\r\n\r\n${content}\r\n--x--`
    return {
      steps: [write(victim, 'multipart/form-data; boundary=x', body, [address(random)], '/uploads')],
      responses: 1,
    }
  },

  'upload that ends early': (random, victim) => {
    const whole = write(
      victim,
      'multipart/form-data; boundary=x',
      `--x\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n${'x'.repeat(random.of(sizes))}\r\n--x--`,
      [address(random)],
      '/uploads',
    )
    const sent = whole.subarray(0, random.below(whole.length))
    return { steps: [sent, random.below(40)], responses: 0, ends: random.chance(0.5) }
  },

  'malformed JSON': (random, victim) =>
    post(
      random,
      victim,
      'application/json',
      random.of([
        '{',
        '{"title":',
        '{"title":"a"}}',
        '{"__proto__":{"a":1}}',
        '{"title":"\\ud800"}',
        '{"title":{"$ne":1},"rank":[1]}',
        '[['.repeat(4000),
        `{${'"a":1,'.repeat(9000)}"b":1}`,
        `{"title":"${'x'.repeat(900_000)}"}`,
        `{"title":"${'\\u0000'.repeat(1000)}"}`,
        `[${'{},'.repeat(20_000)}{}]`,
        ' '.repeat(2 ** 20 + 1),
        '\ufeff{}',
        'NaN',
        '1e999',
      ]),
    ),

  'malformed XML': (random, victim) =>
    post(
      random,
      victim,
      random.of(['application/xml', 'text/xml; charset=utf-8', 'text/xml; charset=utf-16']),
      random.of([
        '<post>',
        '<post><title>a</post>',
        '<!DOCTYPE a [<!ENTITY b "c">]><post>&b;</post>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        `<post>${'<a>'.repeat(9000)}`,
        `<post>${'<a/>'.repeat(20_000)}</post>`,
        `<post><title>${'&amp;'.repeat(20_000)}</title></post>`,
        `<post><title><![CDATA[${']'.repeat(100_000)}]]></title></post>`,
        `<post ${'a="b" '.repeat(5000)}/>`,
        '<post><title>&#0;</title></post>',
        '<post xmlns:a="b"><a:title nil="true"/></post>',
        '<?xml version="1.0" encoding="utf-7"?><a/>',
        '\0'.repeat(100),
      ]),
    ),

  'malformed form': (random, victim) =>
    post(
      random,
      victim,
      'application/x-www-form-urlencoded',
      random.of([
        'title=%',
        'title=%zz&body=%ff',
        '&&&===&',
        'a[b'.repeat(3000),
        'a[]=1&'.repeat(3000),
        `a${'[b]'.repeat(3000)}=1`,
        `title=${'+'.repeat(900_000)}`,
        'title=1&title=2&rank[]=1&body[a]=b',
        '_method=DELETE&_method=PUT',
        '__proto__[a]=b&constructor=1',
      ]),
    ),

  'body that decompresses to megabytes': (random, victim) => {
    const body = gzipSync(
      Buffer.alloc(2 ** 20 * (1 + random.below(10)), random.of(['{', ' ', 'a=', '<a>'])),
      {
        level: 1,
      },
    )
    const type = random.of(['application/json', 'application/xml', 'application/x-www-form-urlencoded'])
    return { steps: [write(victim, type, body, ['Content-Encoding: gzip'])], responses: 1 }
  },

  'query of 15 KB': (random, victim) => {
    const path = random.of([
      '/',
      '/posts',
      '/query',
      '/posts/new',
      '/session/new',
      `/posts/${random.of(victim.posts)}`,
    ])
    const query = random.of([
      'x'.repeat(15_000),
      `a=${'x'.repeat(15_000)}`,
      '%00'.repeat(5000),
      '%'.repeat(15_000),
      `search=${'%F0%9F%98%80'.repeat(1200)}`,
      `search=${"%25_' ".replaceAll(' ', '+').repeat(2000)}`,
      `title=${'a,'.repeat(7000)}`,
      `sort=${'-title,'.repeat(2000)}`,
      `page=${'9'.repeat(15_000)}`,
      `state=${'draft,'.repeat(2000)}&rank=1..${'9'.repeat(400)}`,
    ])
    return { steps: [request('GET', `${path}?${query}`, [`Cookie: ${victim.cookie}`])], responses: 1 }
  },

  'query of thousands of parameters': (random, victim) => {
    const parameter = random.of(['a', 'a=1', 'a[]=1', '', 'a[b]=1', 'title=a', 'rank=1'])
    const query = `${parameter}&`.repeat(Math.floor(15_000 / (parameter.length + 1)))
    return {
      steps: [
        request('GET', `${random.of(['/', '/posts', '/query'])}?${query}`, [`Cookie: ${victim.cookie}`]),
      ],
      responses: 1,
    }
  },

  'list with odd filters': (random, victim) => {
    const parameters = random.several(4, () => {
      const name = random.of([
        'page',
        'per_page',
        'sort',
        'search',
        'title',
        'rank',
        'state',
        'filter[rank]',
        'rank[gt]',
        'include',
        'after',
      ])
      return `${name}=${encodeURIComponent(random.of(['1', '1..', '..', 'a,b', '*', 'null', '-title', '2147483648', ...junk]))}`
    })
    const accept = `Accept: ${random.of(['text/html', 'application/json', 'application/xml', 'text/csv'])}`
    return {
      steps: [
        request('GET', `/posts?${parameters.join('&')}`, [`Authorization: Bearer ${victim.bearer}`, accept]),
      ],
      responses: 1,
    }
  },

  'wrong method': (random, victim) => {
    const method = random.of([
      'PROPFIND',
      'TRACE',
      'CONNECT',
      'M-SEARCH',
      'get',
      'FOO',
      'PATCH',
      'DELETE',
      'PUT',
      'OPTIONS',
      'LINK',
      'QUERY',
      '',
      'G\0T',
    ])
    const path = random.of([
      '/',
      '/posts',
      '/session',
      '/up',
      '/nowhere',
      '*',
      'shop.example:443',
      '/application.css',
    ])
    return {
      steps: [request(method, path, [`Authorization: Bearer ${victim.bearer}`, ...json])],
      responses: 1,
    }
  },

  'conflicting headers': (random, victim) => {
    const headers = random.several(4, () =>
      random.of([
        'Content-Length: 2',
        'Content-Length: 3',
        'Content-Length: -1',
        'Content-Length: 99999999999999999999',
        'Transfer-Encoding: chunked',
        'Transfer-Encoding: identity, chunked',
        'Transfer-Encoding: chunked, chunked',
        'Host: evil.example',
        'Host: ',
        'Content-Type: text/plain',
        'Content-Type: application/json',
        'Accept: text/html',
        'Accept: application/xml',
        'Connection: close, keep-alive',
        'Connection: host, cookie',
        'TE: trailers, deflate',
        'Trailer: Content-Length',
        'Authorization: Basic eDp5',
        `Authorization: Bearer ${victim.bearer}`,
        `Cookie: ${victim.cookie}`,
        'If-Match: *',
        'If-None-Match: *, "x"',
        'If-Modified-Since: never',
        'Range: bytes=0-0,5-1,-1',
        'Idempotency-Key: x',
        'X: a\rb',
        'X\0: y',
        ' folded: x',
        ': empty',
      ]),
    )
    const body = random.of([
      '{}',
      '0\r\n\r\n',
      '2\r\n{}\r\n0\r\n\r\n',
      'ffffffffffffffff\r\n',
      '2;x=y\r\n{}\r\n0\r\nX: y\r\n\r\n',
    ])
    return {
      steps: [
        request(random.of(['POST', 'PUT', 'GET']), random.of(['/posts', '/basket', '/']), headers, body, []),
        50,
      ],
      responses: 0,
    }
  },

  'slow request': (random, victim) => ({ steps: slowly(random, honest(random, victim)), responses: 1 }),

  'half a request': (random, victim) => {
    const whole = honest(random, victim)
    const sent = whole.subarray(0, random.below(whole.length))
    return { steps: [sent, random.below(300)], responses: 0, ends: random.chance(0.5) }
  },

  'request whose client leaves at once': (random, victim) => ({
    steps: [honest(random, victim), random.below(12)],
    responses: 0,
    ends: random.chance(0.3),
  }),

  pipelining: (random, victim) => {
    const requests = [honest(random, victim), ...random.several(15, () => honest(random, victim))]
    const isCut = random.chance(0.2)
    const damage = isCut ? [random.of(['\r\n\r\n', 'GET\r\n\r\n', '\0', 'HTTP/1.1 500 \r\n\r\n'])] : []
    return { steps: [Buffer.concat(requests), ...damage], responses: isCut ? 1 : requests.length }
  },

  'body in small chunks': (random, victim) => {
    const [type, start] = random.of([
      ['application/json', '{"title":"'],
      ['application/xml', '<post><title>'],
      ['application/x-www-form-urlencoded', 'title='],
      ['multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'],
    ])
    const chunk = 'x'.repeat(random.of([1, 1, 15, 16, 100]))
    const chunks = `${chunk.length.toString(16)}\r\n${chunk}\r\n`.repeat(random.of([100, 9000, 30_000]))
    const path = random.of(['/posts', '/uploads', '/basket', '/', '/nowhere'])
    const headers = [`Authorization: Bearer ${victim.bearer}`, `Content-Type: ${type}`, address(random)]
    const length = ['Transfer-Encoding: chunked']
    const body = `${start.length.toString(16)}\r\n${start}\r\n${chunks}${random.of(['0\r\n\r\n', ''])}`
    return { steps: [request('POST', path, headers, body, length), random.below(300)], responses: 0 }
  },

  'hundreds of requests at once': (random, victim) => {
    const one = honest(random, victim)
    const count = random.of([50, 108, 300, 1000])
    return {
      steps: [Buffer.concat(Array.from({ length: count }, () => one)), random.below(300)],
      responses: 0,
    }
  },

  'responses that are not read': (random, victim) => {
    const path = random.of(['/large', '/application.css', '/rows', '/posts'])
    const one = request('GET', path, [`Cookie: ${victim.cookie}`])
    return {
      steps: [Buffer.concat(Array.from({ length: 20 }, () => one)), random.below(1000)],
      responses: 0,
      reads: false,
    }
  },

  'Expect header': (random, victim) => {
    const expect = `Expect: ${random.of(['100-continue', '100-continue', '200-ok', '', '100-continue, x'])}`
    const whole = write(victim, 'application/json', '{"title":"a"}', [expect])
    const head = whole.subarray(0, whole.indexOf('\r\n\r\n') + 4)
    return random.chance(0.5)
      ? { steps: [head, random.below(40), whole.subarray(head.length)], responses: 1 }
      : { steps: [head, random.below(40)], responses: 0 }
  },

  'Upgrade header': (random, victim) => {
    const headers = [
      `Connection: ${random.of(['Upgrade', 'Upgrade, HTTP2-Settings', 'close'])}`,
      `Upgrade: ${random.of(['websocket', 'h2c', 'TLS/1.2', 'x', ''])}`,
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
      'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
      `Cookie: ${victim.cookie}`,
    ]
    const whole = request(
      random.of(['GET', 'POST', 'OPTIONS']),
      random.of(['/', '/posts', '/nowhere']),
      headers,
    )
    return {
      steps: [whole, random.of(['', '\x81\x80\0\0\0\0', '\x16\x03\x01']), random.below(30)],
      responses: 0,
    }
  },

  'not HTTP': (random) => ({
    steps: [
      random.of([
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        '\x16\x03\x01\x02\0\x01',
        'GET /\r\n\r\n',
        'GET / HTTP/0.9\r\n\r\n',
        'GET / HTTP/1.0\r\n\r\n',
        'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
        'GET  /  HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET http://evil.example/posts HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET http:// HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET //evil.example/%2f.. HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET ?a HTTP/1.1\r\nHost: x\r\n\r\n',
        'GET / HTTP/1.1\r\nHost: a b\r\n\r\n',
        'GET / HTTP/1.1\r\nHost: x:99999\r\n\r\n',
        'GET / HTTP/1.1\r\nHost: [::1\r\n\r\n',
        '\r\n'.repeat(1000),
        '\0'.repeat(1000),
      ]),
      20,
    ],
    responses: 0,
    ends: random.chance(0.5),
  }),

  'response that is not read': (random, victim) => ({
    steps: [
      request('GET', random.of(['/large', '/chunks', '/posts', '/application.css']), [
        `Cookie: ${victim.cookie}`,
        'Connection: close',
      ]),
      random.below(60),
    ],
    responses: random.below(2),
    leavesAfter: 1 + random.below(100_000),
  }),

  'response of rows that is not read': (random, victim) => ({
    steps: [request('GET', '/rows', [`Cookie: ${victim.cookie}`, 'Connection: close']), random.below(20)],
    responses: random.below(2),
    leavesAfter: 1 + random.below(2000),
  }),

  'response of rows': () => ({ steps: [request('GET', '/rows', ['Connection: close'])], responses: 1 }),

  'path traversal': (random) => {
    const step = random.of([
      '..',
      '%2e%2e',
      '..%2f',
      `..${slash}`,
      '%5c..',
      '..;',
      '.%00.',
      '%c0%ae%c0%ae',
      '%252e%252e',
      '\xff',
    ])
    const start = random.of(['', '/public', '/application.css', '/kit', '/posts'])
    const end = random.of([
      'etc/passwd',
      'package.json',
      'dist/src/app.js',
      'con',
      '.',
      '',
      'x'.repeat(300),
      'a'.repeat(5000),
    ])
    return {
      steps: [
        request(random.of(['GET', 'HEAD']), `${start}/${`${step}/`.repeat(1 + random.below(8))}${end}`),
        40,
      ],
      responses: 0,
    }
  },

  'huge cookies': (random, victim) => {
    const [name = ''] = victim.cookie.split('=')
    const cookie = random.of([
      `${name}=${'x'.repeat(14_000)}`,
      'a=b; '.repeat(2500),
      `${victim.cookie}; ${victim.cookie}; ${'c=d; '.repeat(1000)}`,
      `${name}=%ff%; ${name}.sig=${'='.repeat(500)}`,
      `time_zone=${'A/'.repeat(500)}; locale=${'x'.repeat(500)}`,
      'time_zone=__proto__; locale=constructor',
      `${'x'.repeat(7000)}; =;;`,
    ])
    return {
      steps: [request('GET', random.of(['/', '/posts', '/session/new']), [`Cookie: ${cookie}`])],
      responses: 1,
    }
  },

  'forged headers of a proxy': (random, victim) => {
    const value = () => random.several(5, () => random.of(junk)).join(', ')
    const headers = [
      `X-Forwarded-For: ${value()}`,
      `X-Forwarded-Host: ${value()}`,
      `X-Forwarded-Proto: ${value()}`,
      `X-Forwarded-Port: ${value()}`,
      `Forwarded: for=${value()};host=${value()}`,
      `X-Real-IP: ${value()}`,
    ]
    const form = `email=a%40b.example&password=${random.below(1000)}&authenticity_token=${encodeURIComponent(victim.token)}`
    const type = 'Content-Type: application/x-www-form-urlencoded'
    const whole = random.chance(0.5)
      ? request('GET', random.of(['/', '/posts', '/session/new']), [...headers, `Cookie: ${victim.cookie}`])
      : request(
          'POST',
          random.of(['/session', '/password_reset', '/registration']),
          [...headers, type, `Cookie: ${victim.cookie}`],
          form,
        )
    return { steps: [whole, 30], responses: 0 }
  },

  'odd credentials': (random) => {
    const email = random.of([
      'ada@example.com',
      `${random.below(50)}@example.com`,
      '\ud800@example.com',
      'a@b',
      `${'x'.repeat(5000)}@example.com`,
      ...junk,
    ])
    const password = random.of(['wrong', 'x'.repeat(100_000), '', '\0', 'a password that is long enough'])
    const odd: unknown[] = [[email], { $ne: '' }, null, 1, email, email, email]
    const credentials = {
      email: odd[random.below(odd.length)],
      password,
      name: 'x',
      expires_at: random.of(['', 'never', '9999-12-31']),
    }
    const path = random.of(['/session', '/tokens', '/registration', '/password_reset', '/confirmation'])
    return {
      steps: [
        request(
          random.of(['POST', 'POST', 'PUT']),
          path,
          [address(random), ...json],
          JSON.stringify(credentials),
        ),
      ],
      responses: 1,
    }
  },

  'odd tokens': (random, victim) => {
    const token = random.of([
      victim.bearer.slice(0, -1),
      victim.bearer.toUpperCase(),
      'x'.repeat(12_000),
      'eyJ.eyJ.x',
      ...junk,
    ])
    const path = random.of([
      '/posts',
      '/tokens',
      '/account',
      `/password_reset/open/${encodeURIComponent(token.slice(0, 7000))}`,
      `/confirmation/open/${encodeURIComponent(token.slice(0, 7000))}`,
    ])
    const header = random.of([
      `Authorization: Bearer ${token}`,
      `Authorization: ${token}`,
      `Authorization: Basic ${token}`,
      `X-CSRF-Token: ${token}`,
    ])
    return {
      steps: [request(random.of(['GET', 'POST', 'DELETE']), path, [header, address(random), ...json]), 40],
      responses: 0,
    }
  },

  conflict: (random, victim) => {
    const path = random.chance(0.8) ? '/conflicts' : `/posts/${victim.posts[random.below(2)] ?? ''}`
    const body = JSON.stringify({ title: 'a', rank: random.below(100) })
    const whole = request(
      random.of(['PUT', 'POST', 'PUT']),
      path,
      [`Authorization: Bearer ${victim.bearer}`, ...json],
      body,
    )
    return { steps: [whole, random.below(40)], responses: random.chance(0.8) ? 1 : 0 }
  },
}
