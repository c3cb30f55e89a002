import { setTimeout as delay } from 'node:timers/promises'
import * as fc from 'fast-check'
import type { Shop } from '../applications/hostile-shop.js'
import { Random } from '../random.js'
import { openProxy, type Cut } from '../servers/proxy.js'
import { findDamage, findErrors, findGrowth, meet } from './aftermath.js'
import { attacks, type Attack, type Victim } from './attacks.js'
import { attack } from './hostile-client.js'
import { fuzzRequests, type FuzzRequest, type FuzzTarget } from './requests.js'
import { Visitor, type Vitals } from './visitor.js'

/** How an application is attacked. */
export interface AssaultOptions {
  requests: number
  /** The same seed sends the same requests, in the same order. Their timing differs. */
  seed: number
  /** Kinds of attacks that are left out. */
  without?: readonly string[]
  /** Receives a line after each quarter. */
  progress?: (line: string) => void
}

/** The result of an assault. */
export interface Report {
  /** The rules that the application broke, in sentences: none if it held. */
  flaws: string[]
  /** How many requests got each status, as the log of the application knows. */
  statuses: Record<string, number>
  /** How many lines of the log with the level of an error have each message. They are no flaws as such. */
  errors: Record<string, number>
}

/** The connections that attack at the same time. */
const lanes = 24

/** Where to cut the connections of the application to its database: most of them after some dozens of requests. */
export function databaseCuts(seed: number): () => Cut | undefined {
  const random = new Random(seed)
  return () => ({ to: random.of(['server', 'client']), after: 2000 + random.below(100_000) })
}

/** Where to cut the connections of clients: anywhere in the request or the response. */
function clientCuts(seed: number): () => Cut | undefined {
  const random = new Random(seed)
  return () => ({
    to: random.of(['server', 'client']),
    after: random.below(random.of([100, 1000, 10_000, 300_000])),
  })
}

/**
 * Sends hostile requests to an application, half of them through a proxy that cuts connections, and then looks whether it
 * still has everything that it had before.
 */
export async function assault(shop: Shop, options: AssaultOptions): Promise<Report> {
  const { requests, seed, without = [], progress } = options
  const visitor = new Visitor(shop)
  const victim = await visitor.signUp()
  const proxy = await openProxy(shop.served.url, clientCuts(seed))
  const random = new Random(seed)
  const kinds = Object.keys(attacks).filter((kind) => !without.includes(kind))
  const fuzzed = fc.sample(fuzzRequests(targetOf(victim)), { numRuns: requests, seed })
  const flaws: string[] = []
  const quarters: Vitals[] = []
  let sent = 0

  async function lane(end: number): Promise<void> {
    while (sent < end) {
      const number = sent++
      const own = new Random(random.below(2 ** 31))
      const kind = own.chance(0.4) ? 'fuzz' : own.of(kinds as [string])
      const request = kind === 'fuzz' ? fuzzed[number] : undefined
      const made = request ? asAttack(request, own, victim) : (attacks[kind]?.(own, victim) as Attack)
      const { port } = new URL(own.chance(0.5) ? shop.served.url : proxy.url)
      const { isUnanswered } = await attack(Number(port), made)
      if (isUnanswered) flaws.push(`Request ${number} (${kind}) got no response: ${describe(made)}`)
      // Requests delete posts.
      if (number % 20 === 0) await visitor.addPost(victim)
    }
  }

  // The pool opens its connections now, which would count as growth later.
  await meet(visitor)
  try {
    for (let quarter = 1; quarter <= 4; quarter++) {
      const end = Math.floor((requests * quarter) / 4)
      await Promise.race([
        Promise.all(Array.from({ length: lanes }, () => lane(end))),
        // Without the process, every request ends at once.
        shop.served.ended,
      ])
      if (await hasEnded(shop)) break
      const vitals = await visitor.vitals()
      if (vitals) quarters.push(vitals)
      progress?.(`${sent} requests: ${vitals ? JSON.stringify(vitals) : 'no vitals'}`)
    }
  } finally {
    await proxy.close()
  }
  flaws.push(...(await findDamage(shop, visitor, victim)), ...findGrowth(quarters))
  const { log } = shop.served
  return {
    flaws: [...findErrors(log), ...flaws],
    statuses: count(log.flatMap(({ status }) => status ?? [])),
    errors: count(log.filter(({ level }) => level >= 50).map(({ msg }) => msg)),
  }
}

function count(values: readonly (string | number)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}

async function hasEnded({ served }: Shop): Promise<boolean> {
  return (await Promise.race([served.ended, delay(20)])) !== undefined
}

/** The routes and records for the requests of the fuzzing spec. */
function targetOf({ token }: Victim): FuzzTarget {
  const post = '/posts/{id}'
  return {
    routes: [
      'POST /posts',
      'POST /posts',
      `PUT ${post}`,
      `PATCH ${post}`,
      `DELETE ${post}`,
      `POST ${post}/comments`,
      `PUT ${post}/comments/{id}`,
      'GET /posts',
      `GET ${post}`,
      `GET ${post}/edit`,
      'GET /posts/new',
      'GET /',
      'GET /tokens',
      'GET /account/sessions',
      'POST /uploads',
      'PUT /basket',
      'PUT /conflicts',
      'POST /tokens',
      'PUT /account',
      'POST /registration',
    ],
    record: { title: 'a', body: 'b', rank: '1', state: 'draft' },
    headers: {},
    fields: { authenticity_token: token },
  }
}

/** A request of the fuzzing spec, from one of the accounts. */
function asAttack(
  { method, path, headers, body }: FuzzRequest,
  random: Random,
  { cookie, bearer, posts }: Victim,
): Attack {
  const account = random.chance(0.6) ? { cookie } : { authorization: `Bearer ${bearer}` }
  const filled = path.replaceAll(/\{(\d+)\}/g, (_, number) => posts[Number(number) % posts.length] ?? '')
  const all = {
    host: 'shop.example',
    'x-forwarded-proto': 'https',
    ...account,
    ...headers,
    ...((body.length > 0 || method === 'POST') && { 'content-length': body.length }),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${method} ${filled} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return { steps: [Buffer.concat([head, body])], responses: 1 }
}

function describe({ steps }: Attack): string {
  return JSON.stringify(
    steps.map((step) => (typeof step === 'number' ? step : step.toString('latin1'))),
  ).slice(0, 600)
}
