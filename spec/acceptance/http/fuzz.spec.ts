import { expect } from 'chai'
import * as fc from 'fast-check'
import { openExampleBlog } from '../../support/applications/example-blog.js'
import { engine } from '../../support/engine.js'
import { openEverything, Thing, thing } from '../../support/applications/everything.js'
import { disconnect, flawOf, send, type FuzzResponse } from '../../support/fuzz/client.js'
import { fuzzRequests, type FuzzRequest, type FuzzTarget } from '../../support/fuzz/requests.js'
import { flawOfThing } from '../../support/fuzz/rules.js'
import type { Database } from '../../../src/index.js'
import type { Site } from '../../support/site.js'

/** The number of requests: a few with `npm test`, half as many on a server, or `KIT_FUZZ`. */
const total = Number(process.env['KIT_FUZZ'] ?? (engine === 'sqlite' ? 400 : 200))
/** The seed of a failed run, which is printed with the failure. */
const seed = process.env['KIT_FUZZ_SEED'] ? Number(process.env['KIT_FUZZ_SEED']) : Date.now() % 2 ** 31
/** The number of requests in flight. */
const batch = 10

interface Fuzzed {
  site: Site
  database: Database
}

describe(`${total} requests that no client would send (KIT_FUZZ_SEED=${seed})`, function () {
  this.timeout(180_000 + total * 60)
  const crashes: unknown[] = []
  const note = (error: unknown) => crashes.push(error)
  /** Closes everything that a spec has opened. */
  let close = async (): Promise<void> => {}

  before(() => void process.on('uncaughtException', note).on('unhandledRejection', note))
  afterEach('closes the application, even after a failure', () => {
    disconnect()
    return close()
  })
  after(() => void process.off('uncaughtException', note).off('unhandledRejection', note))

  it('get a response from an application with columns of every type, and leave no row that breaks its rules', async () => {
    const everything = await openEverything()
    close = () => everything.close()
    const target: FuzzTarget = {
      routes: [
        ...Array.from({ length: 8 }, () => 'POST /things'),

        'PUT /things/{id}',
        'PATCH /things/{id}',
        'PUT /things/{id}',
        'POST /things/{id}',
        'DELETE /things/{id}',
        'GET /things',
        'GET /things/{id}',
        'GET /things/{id}/edit',
        'GET /things/new',
        'GET /nope',
        'POST /find',
        'POST /find',
        'POST /search',
        'POST /search',
        'GET /search',
      ],
      record: thing,
      headers: {},
      fields: {},
    }
    await fuzz(everything, target, 'things')
    expect(crashes).to.deep.equal([])
    for (const row of await everything.database.manager.find(Thing))
      expect(flawOfThing(row), JSON.stringify(row)).to.equal(undefined)
  })

  it('get a response from examples/blog, and leave no row that breaks its rules', async () => {
    const blog = await openExampleBlog()
    close = () => blog.site.close()
    const page = await fetch(`${blog.site.url}/posts/new`)
    const token = /name="authenticity_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    const [cookie = ''] = page.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
    const post = '/posts/{id}'
    const target: FuzzTarget = {
      routes: [
        'POST /posts',
        'POST /posts',
        'POST /posts',
        `POST ${post}/comments`,
        `POST ${post}/comments`,
        `PUT ${post}`,
        `PATCH ${post}`,
        `POST ${post}`,
        `DELETE ${post}`,
        `PUT ${post}/comments/{id}`,
        'GET /posts',
        `GET ${post}`,
        `GET ${post}/edit`,
        'GET /posts/new',
        `GET ${post}/comments`,
        'GET /',
        'GET /nope',
        'GET /application.css',
        `GET ${post}/comments/new`,
      ],
      record: { title: 'a', description: 'b', body: 'c' },
      headers: { cookie },
      fields: { authenticity_token: token },
    }
    await fuzz(blog, target, 'posts')
    expect(crashes).to.deep.equal([])
    const posts: { title: string }[] = await blog.database.query('SELECT title FROM posts')
    for (const { title } of posts) expect(title.trim()).not.to.equal('')
    const comments: { body: string }[] = await blog.database.query('SELECT body FROM comments')
    for (const { body } of comments) expect(body.trim()).not.to.equal('')
    const orphans = await blog.database.query(
      'SELECT id FROM comments WHERE post_id NOT IN (SELECT id FROM posts)',
    )
    expect(orphans).to.deep.equal([])
  })

  /** Creates a record, then sends half of the requests, a few at a time. */
  async function fuzz({ site }: Fuzzed, target: FuzzTarget, collection: string): Promise<void> {
    const first = await site.post(`/${collection}`, { json: target.record, accept: 'json' })
    expect(first.status, first.text).to.equal(201)
    const ids: string[] = [first.json.id]
    const requests = fc.array(fuzzRequests(target), { minLength: batch, maxLength: batch })
    await fc.assert(
      fc.asyncProperty(requests, async (requests) => {
        const known = [...ids]
        const made = await Promise.all(requests.map((request) => ask(site, filled(request, known))))
        for (const { response, request } of made) {
          const id = response.status === 201 ? await shown(site, request, response, collection) : undefined
          if (id) ids.push(id)
        }
        if (ids.length > 50) ids.splice(0, 25)
      }),
      {
        seed,
        numRuns: Math.ceil(total / 2 / batch),
        endOnFailure: false,
        // Longer than the client waits for a response: a request without one fails.
        interruptAfterTimeLimit: 150_000 + total * 50,
      },
    )
  }
})

/** A request with ids of existing records. */
function filled(request: FuzzRequest, ids: string[]): FuzzRequest {
  const path = request.path.replaceAll(
    /\{(\d+)\}/g,
    (_, number) => ids[Number(number) % Math.max(ids.length, 1)] ?? 'none',
  )
  return { ...request, path }
}

async function ask(
  site: Site,
  request: FuzzRequest,
): Promise<{ request: FuzzRequest; response: FuzzResponse }> {
  const response = await send(site.url, request)
  const flaw = await flawOf(request.method, response)
  if (flaw)
    throw new Error(`${flaw} (${engine}): ${describeRequest(request)}\n${response.text.slice(0, 2000)}`)
  return { request, response }
}

/** Asserts that a created record is shown with the values of the response, and returns its id. */
async function shown(
  site: Site,
  request: FuzzRequest,
  response: FuzzResponse,
  collection: string,
): Promise<string | undefined> {
  if (!response.headers['content-type']?.startsWith('application/json')) return undefined
  const record: { id: string; post_id?: string } = JSON.parse(response.text)
  const path = record.post_id
    ? `/posts/${record.post_id}/comments/${record.id}`
    : `/${collection}/${record.id}`
  const again = await send(site.url, {
    method: 'GET',
    path,
    headers: { accept: 'application/json' },
    body: Buffer.alloc(0),
  })
  if (again.text !== response.text && again.status !== 404)
    expect(readable(again.text), describeRequest(request)).to.deep.equal(readable(response.text))
  // A concurrent request may have deleted its post, and the comment with it.
  if (again.status === 404) expect(record.post_id, describeRequest(request)).to.be.a('string')
  return record.post_id ? undefined : record.id
}

/** A response for comparison: on MariaDB, without the last digit of a float that has more than 15 (docs/models.md). */
function readable(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) =>
    engine === 'mariadb' && typeof value === 'number' ? Number(value.toPrecision(15)) : value,
  )
}

function describeRequest({ method, path, headers, body }: FuzzRequest): string {
  return `${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 500)}\n${body.toString().slice(0, 1500)}`
}
