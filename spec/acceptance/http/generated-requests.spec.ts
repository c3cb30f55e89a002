import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import { openEverything, thing } from '../../support/applications/everything.js'
import { Random } from '../../support/random.js'
import type { Site, SpecRequest } from '../../support/site.js'

const count = process.env['KIT_FUZZ'] ? 2000 : 500
const seed = Number(process.env['SEED'] ?? 1)

type Call = SpecRequest & { method: string; path: string }

const methods = ['GET', 'HEAD', 'POST', 'POST', 'POST', 'PUT', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
const pieces = [
  'posts',
  'things',
  'comments',
  'new',
  'edit',
  'application.css',
  '.',
  '..',
  '%2e%2e',
  '%00',
  '%2f',
  '%',
  '%ff',
  'é',
  'a b',
  '',
] as const
const names = [
  'title',
  'description',
  'body',
  'post_id',
  'id',
  '_method',
  '__proto__',
  'constructor',
  'toString',
  'created_at',
  'a[b][c]',
  '',
] as const
const texts = [
  ...([
    '',
    ' ',
    'A',
    '0',
    '-1',
    '1.5',
    '1e999',
    'true',
    'null',
    '2026-02-30',
    '2026-01-01T00:00',
    '{"a":1}',
    '[',
    'DELETE',
    'PUT',
  ] as const),
  ...([
    '\0',
    '\ud800',
    '😀',
    '<b>&amp;</b>',
    ']]>',
    "' OR 1=1 --",
    '%',
    '\r\n',
    'x'.repeat(5000),
    '9'.repeat(50),
  ] as const),
] as const
const accepts = [
  'text/html',
  'application/json',
  'application/xml',
  '*/*',
  'application/*;q=0.5',
  'image/png',
  ';',
  'text/html;q=0',
] as const
const types = [
  ...([
    'application/json',
    'application/json; charset=utf-8',
    'application/x-www-form-urlencoded',
    'application/xml',
    'text/xml',
  ] as const),
  ...([
    'multipart/form-data; boundary=X',
    'multipart/form-data',
    'application/hal+json',
    'text/plain',
    'x',
    '',
  ] as const),
] as const
const headers = [
  'x-request-id',
  'accept-language',
  'cookie',
  'range',
  'if-none-match',
  'x-forwarded-host',
  'x-forwarded-proto',
  'origin',
] as const

/** Creates requests that are valid in some parts, and invalid in others. */
class Requests {
  constructor(
    private readonly random: Random,
    private readonly ids: readonly [string, ...string[]],
  ) {}

  next(): Call {
    const { random } = this
    const method = random.of(methods)
    const content = method === 'GET' || method === 'HEAD' ? {} : this.body()
    const own = Object.fromEntries(random.several(2, () => [random.of(headers), this.headerValue()]))
    return {
      method,
      path: this.path(),
      accept: random.of(accepts),
      ...content,
      headers: { ...own, ...content.headers },
    }
  }

  private path(): string {
    const { random } = this
    const known = [
      `/posts`,
      `/posts/${random.of(this.ids)}`,
      `/posts/${random.of(this.ids)}/comments`,
      '/things',
      `/things/${random.of(this.ids)}`,
    ] as const
    const path = random.chance(0.7)
      ? random.of(known)
      : `/${random.several(5, () => random.of(pieces)).join('/')}`
    return random.chance(0.3)
      ? `${path}?${random.several(3, () => `${random.of(['page', 'per_page', 'a[b]', '__proto__'])}=${encode(random.of(texts))}`).join('&')}`
      : path
  }

  private body(): SpecRequest {
    const { random } = this
    const type = random.of(types)
    const whole = this.content(type)
    const text = random.chance(0.2) ? this.damaged(whole) : whole
    const isCompressed = random.chance(0.1)
    return {
      body: isCompressed && random.chance(0.7) ? gzipSync(text) : Buffer.from(text),
      headers: {
        ...(type && { 'content-type': type }),
        ...(isCompressed && { 'content-encoding': random.of(['gzip', 'deflate', 'br', 'x']) }),
      },
    }
  }

  private content(type: string): string {
    const fields = this.fields()
    if (type.includes('json')) return JSON.stringify(fields)
    if (type.includes('xml'))
      return `<r>${Object.entries(fields)
        .map(([name, value]) => `<${name}>${escape(value)}</${name}>`)
        .join('')}</r>`
    if (!type.startsWith('multipart'))
      return Object.entries(fields)
        .map(([name, value]) => `${encode(name)}=${encode(textOf(value))}`)
        .join('&')
    const parts = Object.entries(fields).map(
      ([name, value]) =>
        `--X\r\nContent-Disposition: form-data; name="${name}"${this.partHeaders()}\r\n\r\n${textOf(value)}\r\n`,
    )
    return `${parts.join('')}--X--\r\n`
  }

  private partHeaders(): string {
    const { random } = this
    const extra = [
      '\r\nContent-Type: text/plain',
      '; filename="a.txt"\r\nContent-Type: text/plain',
      '\r\nContent-Transfer-Encoding: 7bit',
      '\r\nContent-Transfer-Encoding: x',
    ] as const
    return random.chance(0.3) ? random.of(extra) : ''
  }

  private fields(): Record<string, unknown> {
    const { random } = this
    const all = Object.keys(thing)
    const base = random.chance(0.5) ? thing : { title: 'A', body: 'B' }
    const odd = random.several(4, () => [
      random.chance(0.5) ? random.of(names) : random.of(['int', ...all]),
      this.value(3),
    ])
    return { ...base, ...Object.fromEntries(odd) }
  }

  private value(depth: number): unknown {
    const { random } = this
    if (depth > 0 && random.chance(0.15)) return random.several(3, () => this.value(depth - 1))
    if (depth > 0 && random.chance(0.15))
      return Object.fromEntries(random.several(3, () => [random.of(names), this.value(depth - 1)]))
    return random.of([null, true, false, 0, -1, 1.5, 1e300, ...texts, ...texts])
  }

  private damaged(text: string): string {
    const at = this.random.below(text.length + 1)
    return this.random.chance(0.5)
      ? text.slice(0, at)
      : text.slice(0, at) + this.random.of(['<', '"', '}', '\0', '--X', '&', '%', '\ud800']) + text.slice(at)
  }

  private headerValue(): string {
    return encode(this.random.of(texts)).slice(0, 1000)
  }
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function escape(value: unknown): string {
  if (typeof value !== 'object' || value === null)
    return String(value).replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return Object.entries(value)
    .map(([name, inner]) => `<${name}>${escape(inner)}</${name}>`)
    .join('')
}

describe(`${count} generated requests`, () => {
  let blog: Awaited<ReturnType<typeof openExampleBlog>>
  let everything: Awaited<ReturnType<typeof openEverything>>
  const crashes: unknown[] = []
  const note = (error: unknown) => crashes.push(error)

  before(async () => {
    process.on('uncaughtException', note).on('unhandledRejection', note)
    blog = await openExampleBlog()
    everything = await openEverything()
  })

  after(async () => {
    await blog.site.close()
    await everything.close()
    process.off('uncaughtException', note).off('unhandledRejection', note)
  })

  async function make(site: Site, path: string, form: Record<string, string>): Promise<string> {
    return (await site.post(path, { form, accept: 'application/json' })).json.id
  }

  it('get responses, and none is a 5xx', async () => {
    const posts = await Promise.all(
      [1, 2, 3, 4].map((number) => make(blog.site, '/posts', { title: `Post ${number}` })),
    )
    const things = await Promise.all([1, 2, 3, 4].map(() => make(everything.site, '/things', thing)))
    const requests = new Requests(new Random(seed), ['no-id', ...posts, ...things])
    const statuses = new Map<number, number>()

    for (let index = 0; index < count; index++) {
      const { method, path, ...request } = requests.next()
      const site = path.startsWith('/things') ? everything.site : blog.site
      const what = `request ${index} of seed ${seed}: ${method} ${path} ${JSON.stringify(request).slice(0, 1500)}`
      const response = await site.request(method, path, request).catch((error: unknown) => {
        throw new Error(`no answer to ${what}`, { cause: error })
      })
      expect(response.status, what).to.be.below(500)
      expect(crashes, what).to.deep.equal([])
      expect(response.headers.get('x-request-id'), what).to.match(/^[\w.-]{1,128}$/)
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    }
    expect([...statuses.keys()]).to.include.members([200, 201, 303, 400, 404, 405, 406, 415, 422])
  })
})
