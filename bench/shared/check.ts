import { deepStrictEqual } from 'node:assert'
import type { Call } from './load.js'
import type { Sides } from './sides.js'
import type { ServerProcess } from './server-process.js'
import { workloads, type Visitor } from './workloads.js'

/** The headers that have to be the same. */
const compared = [
  'content-type',
  'content-language',
  'cache-control',
  'content-security-policy',
  'cross-origin-opener-policy',
  'cross-origin-resource-policy',
  'link',
  'location',
  'origin-agent-cluster',
  'referrer-policy',
  'strict-transport-security',
  'vary',
  'x-content-type-options',
  'x-dns-prefetch-control',
  'x-download-options',
  'x-frame-options',
  'x-permitted-cross-domain-policies',
  'x-request-id',
  'x-total-count',
  'x-xss-protection',
]

/**
 * Checks that ours and the peer give the same answers to what they are going to be asked: status, headers and body.
 *
 * @throws AssertionError which shows the difference
 */
export async function checkAnswers(sides: Sides): Promise<void> {
  for (const workload of workloads) {
    const { ours, peer } = workload.servers
    if (!peer) continue
    const answers: unknown[] = []
    for (const name of [ours, peer]) {
      const { server, posts, visitor } = sides[name]
      const [call] = await workload.calls(posts, 1, visitor)
      if (call) answers.push(await answerTo(server, call))
      await posts.reset()
    }
    deepStrictEqual(answers[0], answers[1], `${workload.name} is answered differently`)
  }
}

/** What a browser keeps after its first page: the cookie of its session, and a token for its forms. */
export async function visit(server: ServerProcess): Promise<Visitor> {
  const answer = await ask(server, {
    method: 'GET',
    path: '/posts',
    headers: { Accept: 'text/html,*/*;q=0.1', 'X-Forwarded-Proto': 'https' },
  })
  const token = /name="authenticity_token" value="([^"]+)"/.exec(await answer.text())?.[1] ?? ''
  const cookies = answer.headers.getSetCookie().map((cookie) => cookie.split(';')[0])
  return { cookie: cookies.join('; '), token }
}

async function answerTo(server: ServerProcess, call: Call): Promise<object> {
  const answer = await ask(server, call)
  // Caches keep responses to GET only.
  const names = call.method === 'GET' ? compared : compared.filter((name) => name !== 'vary')
  const headers = names.map((name) => [name, headerOf(answer, name)])
  return { status: answer.status, headers: Object.fromEntries(headers), body: plain(await answer.text()) }
}

function ask(server: ServerProcess, { method, path, headers, body }: Call): Promise<Response> {
  const options = { method, headers, redirect: 'manual' as const, ...(body && { body }) }
  return fetch(`http://127.0.0.1:${server.port}${path}`, options)
}

function headerOf({ headers }: Response, name: string): unknown {
  const text = headers.get(name)
  if (name === 'vary') return text?.split(/,\s*/).toSorted()
  return text === null ? null : masked(text).replaceAll('; ', ';')
}

/** A body without what is never the same twice, and without white space that means nothing. */
function plain(body: string): string {
  return masked(body)
    .replaceAll(/\s*(<[^>]*?)\s*\/?>\s*/g, '$1>')
    .replaceAll(/(?<=<)(\w+)((?: [\w-]+(?:="[^"]*")?)+)(?=>)/g, sortedAttributes)
    .replaceAll('&#39;', "'")
}

function sortedAttributes(_tag: string, name: string, attributes: string): string {
  const parts = attributes.match(/[\w-]+(?:="[^"]*")?/g) ?? []
  return `${name} ${parts.toSorted().join(' ')}`
}

function masked(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(id)')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(date)')
    .replaceAll(/(?<=\w)-[0-9a-f]{16}(?=\.)/g, '')
    .replaceAll(/(?<=name="authenticity_token" value=")[^"]*/g, '(token)')
}
