import type { Call } from './load.js'
import { listFingerprint } from '../../src/records/lists/query/cursor.js'
import { createdAt, type Posts } from './posts.js'
import type { KindName } from './server-process.js'

/** Something that a server is asked to do, over and over. */
export interface Workload {
  name: string
  /** Ours, and the applications that it is compared with. */
  servers: Servers
  /** The median of the ratios (the other's time / ours) that is to be reached. */
  goals: Partial<Record<Rival, number>>
  status: number
  /** The requests of a round. */
  calls(posts: Posts, amount: number, visitor: Visitor): Call[] | Promise<Call[]>
}

/** The applications that ours is compared with. */
export const rivals = ['peer', 'nest', 'lean', 'floor'] as const

/** One of the applications that ours is compared with. */
export type Rival = (typeof rivals)[number]

/** The servers of a workload. */
export type Servers = { ours: KindName } & Partial<Record<Rival, KindName>>

/** What a browser keeps of the pages before. */
export interface Visitor {
  cookie: string
  token: string
}

const asJson = { Accept: 'application/json', 'X-Forwarded-Proto': 'https' }
const withJson = { ...asJson, 'Content-Type': 'application/json' }
const asHtml = {
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'Accept-Language': 'en-US,en;q=0.5',
  'X-Forwarded-Proto': 'https',
}
const fields = JSON.stringify({
  title: 'A new title',
  description: 'A description of some length '.repeat(7),
})
/** The request for the page after the post at a position, in the order of creation. */
export function cursorCall(ids: readonly string[], position: number): Call {
  const binding = listFingerprint([
    'FeedResource.list {}',
    'posts',
    [
      ['created_at', false],
      ['id', false],
    ],
    [],
    [],
  ])
  const created = new Date(createdAt(position)).toISOString()
  const after = Buffer.from(JSON.stringify([binding, created, ids[position]])).toString('base64url')
  return { method: 'GET', path: `/feed?sort=created_at&after=${after}`, headers: asJson }
}

const api: Servers = { ours: 'api', peer: 'peerApi', floor: 'floor' }
const web: Servers = { ours: 'web', peer: 'peerWeb', floor: 'floor' }
const defaults = { nest: 'nest', lean: 'lean' } as const

/** The workloads, in the order in which they are shown. */
export const workloads: readonly Workload[] = [
  {
    name: 'show',
    servers: { ...api, ...defaults },
    goals: { peer: 1.3, nest: 1.1, lean: 1.1, floor: 1 / 3.8 },
    status: 200,
    calls: ({ ids }) => ids.map((id) => ({ method: 'GET', path: `/posts/${id}`, headers: asJson })),
  },
  {
    name: 'list',
    servers: { ...api, ...defaults },
    goals: { peer: 1.2, nest: 1.3, lean: 1.3 },
    status: 200,
    calls: () => [{ method: 'GET', path: '/posts', headers: asJson }],
  },
  {
    name: 'filtered list',
    servers: { ours: 'api', peer: 'peerApi' },
    goals: { peer: 1 },
    status: 200,
    calls: () => [{ method: 'GET', path: '/filtered?title.prefix=Post+1&sort=-title', headers: asJson }],
  },
  {
    name: 'cursor page',
    servers: { ours: 'api' },
    goals: {},
    status: 200,
    calls: ({ ids }) => [cursorCall(ids, Math.floor(ids.length / 2))],
  },
  {
    name: 'html index',
    servers: { ...web, ...defaults },
    goals: { peer: 1.2, nest: 1.3, lean: 1.3 },
    status: 200,
    calls: (_file, _amount, { cookie }) => [
      { method: 'GET', path: '/posts', headers: { ...asHtml, Cookie: cookie } },
    ],
  },
  {
    name: 'create',
    servers: { ...api, ...defaults },
    goals: { peer: 1, nest: 1.5, lean: 1.5 },
    status: 201,
    calls: () => [{ method: 'POST', path: '/posts', headers: withJson, body: fields }],
  },
  {
    name: 'update',
    servers: { ...api, ...defaults },
    goals: { peer: 1, nest: 1.5, lean: 1.5 },
    status: 200,
    calls: ({ ids }) =>
      ids.map((id) => ({ method: 'PUT', path: `/posts/${id}`, headers: withJson, body: fields })),
  },
  {
    name: 'delete',
    servers: { ...api, ...defaults },
    goals: { peer: 1, nest: 1.5, lean: 1.5 },
    status: 200,
    calls: async (posts, amount) => {
      const ids = await posts.insert(amount)
      return ids.map((id) => ({ method: 'DELETE', path: `/posts/${id}`, headers: asJson }))
    },
  },
  {
    name: '404',
    servers: api,
    goals: { peer: 1 },
    status: 404,
    calls: () => [{ method: 'GET', path: '/posts/01a1f9df-29cf-76db-a126-d6e54c0890f7', headers: asJson }],
  },
  {
    name: 'failed validation',
    servers: api,
    goals: { peer: 1.1 },
    status: 422,
    calls: () => [{ method: 'POST', path: '/posts', headers: withJson, body: '{"title":" "}' }],
  },
  {
    name: 'show, web',
    servers: web,
    goals: { peer: 1 },
    status: 200,
    calls: ({ ids }, _amount, { cookie }) =>
      ids.map((id) => ({ method: 'GET', path: `/posts/${id}`, headers: { ...asJson, Cookie: cookie } })),
  },
  {
    name: 'html create',
    servers: web,
    goals: { peer: 1 },
    status: 303,
    calls: (_file, _amount, { cookie, token }) => [
      {
        method: 'POST',
        path: '/posts',
        headers: { ...asHtml, Cookie: cookie, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: `authenticity_token=${token}&title=A+new+title&description=${'A+description+of+some+length+'.repeat(7)}`,
      },
    ],
  },
]

/** The workloads on PostgreSQL: those that all applications have without pages. */
export const postgresWorkloads: readonly Workload[] = workloads
  .filter(({ servers }) => servers.ours === 'api' && servers.nest)
  .map((workload) => ({ ...workload, servers: { ours: 'api', ...defaults }, goals: { nest: 1 } }))
