import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { openBlogDatabase } from '../../support/applications/blog-database.js'
import { newDatabase } from '../../support/databases.js'
import { engine } from '../../support/engine.js'
import { secretPages } from '../../support/applications/secret-pages.js'

const secret = 'k3y-of-7777-doors'

interface Span {
  name: string
  attributes: Record<string, unknown>
  events: { name: string; attributes: Record<string, unknown> }[]
  status: number
  parent?: string
  id: string
  trace: string
}

describe('telemetry() with the SDK of OpenTelemetry', () => {
  let spans: Span[]
  let lines: Record<string, unknown>[]

  before(async () => {
    const url = await newDatabase()
    const database = await openBlogDatabase(url)
    await database.close()
    const main = fileURLToPath(new URL('../../support/processes/telemetry-main.js', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [main, url, secret, secretPages()], {
      encoding: 'utf8',
      maxBuffer: 10_000_000,
    })
    ;({ spans, lines } = JSON.parse(stdout))
  })

  /** The spans of a request, as a tree of names. */
  function treeOf(name: string): unknown {
    const request = spans.find((span) => span.name === name)
    const below = (id: string | undefined): unknown[] =>
      spans
        .filter(({ parent }) => parent === id)
        .map((span) => {
          const children = below(span.id)
          return children.length > 0 ? { [span.name]: children } : span.name
        })
    return below(request?.id)
  }

  const statements = (...names: string[]): string[] => (engine === 'sqlite' ? names : [])

  it('names requests after their routes, with handler, statements and transaction', () => {
    expect(treeOf('GET /posts')).to.deep.equal([{ listPosts: [...statements('SELECT'), 'transaction'] }])
    expect(spans.find(({ name }) => name === 'GET /posts')?.attributes).to.include({ 'http.route': '/posts' })
  })

  it('has the number of the exported rows', () => {
    const exported = spans.find(({ name }) => name === 'GET /exported.csv')
    expect(exported?.attributes).to.include({ 'resource_kit.rows': 1 })
  })

  it('has no transaction for a record that is not valid', () => {
    expect(treeOf('POST /posts')).to.deep.equal(['createPost'])
    expect(spans.find(({ name }) => name === 'POST /posts')?.status).to.equal(0)
  })

  it('has a span for each attempt of a request that conflicts with another one', () => {
    const requests = spans.filter(({ name }) => name === 'GET /conflicts')
    const outcomes = requests.map(({ trace }) =>
      spans
        .filter((span) => span.name === 'transaction' && span.trace === trace)
        .map(({ attributes }) => [attributes['resource_kit.attempt'], attributes['resource_kit.outcome']]),
    )
    expect(outcomes.toSorted((one, other) => one.length - other.length)).to.deep.equal([
      [[0, 'committed']],
      [
        [0, 'conflict'],
        [1, 'committed'],
      ],
    ])
    expect(requests.map(({ status }) => status)).to.deep.equal([0, 0])
  })

  it('has the page and the mail of a request, which is delivered after the response', () => {
    const found = spans.filter(({ name }) => /^(render|mail) /.test(name))
    expect(found.map(({ name, attributes }) => ({ name, error: attributes['error.type'] }))).to.deep.equal([
      { name: 'render page', error: undefined },
      { name: 'render mails/welcome', error: undefined },
      { name: 'mail welcome', error: 'Error' },
    ])
    const request = spans.find(({ attributes }) => attributes['http.route'] === '/pages/:token')
    expect(new Set(found.map(({ trace }) => trace))).to.deep.equal(new Set([request?.trace]))
  })

  it('gives a failure the problem of the database as its message', () => {
    const failed = spans.filter(({ events }) => events.length > 0)
    expect(failed).to.have.lengthOf(1)
    expect(failed[0]?.status).to.equal(2)
    expect(failed[0]?.events[0]?.attributes).to.include({
      'exception.type': 'QueryFailedError',
      'exception.message': 'QueryFailedError',
    })
    expect(failed[0]?.events[0]?.attributes['exception.stacktrace']).to.match(
      /^QueryFailedError: QueryFailedError\n +at /,
    )
  })

  it('gives no route to an unknown path', () => {
    const unknown = spans.find(({ attributes }) => attributes['url.path'] === '/nothing')
    expect(unknown).to.have.property('name', 'GET')
    expect(unknown?.attributes).to.not.have.property('http.route')
  })

  it('adds the ids of the request to each line of its log', () => {
    const request = spans.find(({ name, parent }) => name === 'GET /posts' && !parent)
    const ids = { trace_id: request?.trace, span_id: request?.id }
    expect(lines.find(({ msg }) => msg === 'listing')).to.include(ids)
    expect(lines.find(({ msg }) => msg === 'GET /posts 200')).to.include(ids)
  })

  it('has the status 499 for a request whose client has left, as the log, and leaves that of the handler as it is', () => {
    const request = spans.find(({ name, parent }) => name === 'GET /closed' && !parent)
    expect(Object.values(request?.attributes ?? {})).to.include(499)
    expect(lines.find(({ msg }) => msg === 'GET /closed 499')).to.include({ status: 499, aborted: true })
    expect(lines.find(({ msg }) => msg === 'closed')).to.include({ chosen: 201 })
  })

  it('has no secret', () => {
    expect(
      spans.filter((span) => JSON.stringify(span).includes(secret)).map(({ name }) => name),
    ).to.deep.equal([])
    const [filtered] = spans.filter(({ attributes }) => attributes['url.query'] !== undefined)
    expect(filtered?.attributes).to.include({ 'url.query': '[FILTERED]' })
    expect(spans.map(({ attributes }) => attributes['url.path'])).to.include('/sessions/[FILTERED]')
  })
})
