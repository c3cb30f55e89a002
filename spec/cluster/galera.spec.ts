import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { startGalera, type GaleraNode } from './support/galera.js'
import { HaProxy } from './support/haproxy.js'
import {
  Host,
  migrateIn,
  note,
  postWithKeys,
  putWithOneTag,
  repeat,
  type Answer,
  type Statuses,
} from './support/host.js'
import { copyPosts } from './support/copies.js'
import { requests } from './support/programs.js'

describe('An application with a host on each of three Galera nodes', () => {
  let nodes: GaleraNode[] = []
  let hosts: Host[] = []

  before(async () => {
    nodes = await startGalera()
    await nodes[0]?.query('CREATE DATABASE blog')
  })

  after(async () => {
    for (const host of hosts) await host.remove()
    for (const node of nodes) await node.remove()
  })

  const urls = () => nodes.map((node) => ({ url: node.url('blog') }))

  it('is migrated once by three processes on three nodes at the same time', async () => {
    const runs = await Promise.all(urls().map((one) => migrateIn(one, { env: { SLOW_MIGRATION: '500' } })))
    expect(runs.flat().length).to.equal(2)
    hosts = await Promise.all(urls().map((one) => Host.start(one)))
  })

  /** Increments a counter on all hosts. Returns the responses. */
  async function increment(times: number, send: (host: Host) => Promise<Answer>): Promise<Statuses> {
    const statuses: Statuses = new Map()
    await repeat({ times, atOnce: 12 }, async (index) => {
      const host = hosts[index % hosts.length]
      if (!host) return
      const answer = await send(host)
      note(statuses, answer)
      if (answer.status === 503) expect(answer.headers.get('retry-after')).to.match(/^\d+$/)
    })
    return statuses
  }

  for (const [method, id] of [
    ['PUT', 'a'],
    ['POST', 'b'],
  ] as const) {
    it(`increments a row as often as it returns 200 to ${method}`, async () => {
      const times = requests(600)
      const statuses = await increment(times, (host) =>
        method === 'PUT' ? host.put(`/counters/${id}`) : host.post(`/counters/${id}/increment`),
      )
      const counted = JSON.stringify([...statuses])
      expect(
        [...statuses.keys()].filter((status) => ![200, 409, 503].includes(status)),
        counted,
      ).to.deep.equal([])
      const sql = `SET STATEMENT wsrep_sync_wait = 1 FOR SELECT count FROM counters WHERE id = '${id}'`
      for (const node of nodes)
        expect(await node.query(sql, 'blog'), counted).to.deep.equal([{ count: statuses.get(200) }])
      // Most PUTs are retried until they succeed.
      if (method === 'PUT') expect(statuses.get(200), counted).to.be.at.least(times / 2)
      console.log(`      ${counted}`)
    })
  }

  it('changes a record once when all hosts get PUTs with the same tag at the same time', async () => {
    for (let round = 0; round < requests(20); round++) {
      const [first, ...others] = await putWithOneTag(hosts, 30)
      expect(first).to.equal(200)
      expect(new Set(others)).to.deep.equal(new Set([412]))
    }
  })

  it('creates one record for each key that all hosts get at the same time', async () => {
    const keys = Array.from({ length: requests(100) }, () => crypto.randomUUID())
    const statuses: Statuses = new Map()
    const created = await postWithKeys(hosts, keys, statuses)
    console.log(`      ${JSON.stringify([...statuses])}`)
    expect([...statuses.keys()].filter((status) => ![201, 503].includes(status))).to.deep.equal([])
    const titles = keys.map((key) => `'${key}'`).join()
    const sql = `SET STATEMENT wsrep_sync_wait = 1 FOR SELECT id, title FROM posts WHERE title IN (${titles})`
    for (const node of nodes) {
      const rows = await node.query<{ id: string; title: string }>(sql, 'blog')
      expect(rows).to.have.length(keys.length)
      for (const { id, title } of rows) expect(created.get(title), title).to.deep.equal([id])
    }
  })

  it('runs the job of each committed request once, with a host that is killed', async () => {
    const wait = 'SET STATEMENT wsrep_sync_wait = 1 FOR '
    await copyPosts(
      urls(),
      (sql) => nodes[0]?.query(wait + sql, 'blog') ?? Promise.reject(new Error('no node')),
    )
  })

  it('lets 10 of 90 requests pass whose limit is 10', async () => {
    const key = crypto.randomUUID()
    const statuses: Statuses = new Map()
    await repeat({ times: 90, atOnce: 30 }, async (index) => {
      const answer = await hosts[index % hosts.length]?.get('/limited', { key })
      if (answer) note(statuses, answer)
    })
    expect(statuses).to.deep.equal(
      new Map([
        [200, 10],
        [429, 80],
      ]),
    )
  })

  it('shows a visitor a session and a record on the next host at once even if its node is late', async () => {
    const [first, second, third] = hosts
    for (let time = 0; time < requests(100); time += 1) {
      const pausedAt = time % 10 === 0 ? [nodes[1], nodes[0]] : []
      const name = `visitor ${time}`
      const begun = await whilePaused(pausedAt[0], async () => {
        const begun = await first?.post('/session', {}, { name })
        return [begun, second?.get('/session', { cookie: cookiesOf(begun) })]
      })
      expect(begun[1]?.json, name).to.deep.equal({ name })
      const cookie = cookiesOf(begun[0])
      const created = await whilePaused(pausedAt[1], async () => {
        const created = await third?.post('/posts', { title: name }, { cookie })
        const both = `${cookie}; ${cookiesOf(created)}`
        return [created, first?.get(`/posts/${created?.json.id}`, { cookie: both })]
      })
      expect(
        created.map((answer) => answer?.status),
        name,
      ).to.deep.equal([201, 200])
    }
  })

  it('leaves a frozen node when the address leads to another one', async () => {
    const [first, second] = nodes
    const proxy = await HaProxy.tcp(second?.port ?? 0, first?.port ?? 0)
    const host = await Host.start({ url: `mysql://root@127.0.0.1:${proxy.port}/blog` })
    const read = (): Promise<number[]> =>
      Promise.all([1, 2, 3].map(() => host.get('/counters/a').then(({ status }) => status)))
    expect(await read()).to.deep.equal([200, 200, 200])
    second?.daemon.freeze()
    const waiting = read()
    await proxy.leadTo(1, 2)
    expect(await waiting).to.deep.equal([503, 503, 503])
    expect(await read()).to.deep.equal([200, 200, 200])
    second?.daemon.thaw()
    await host.remove()
    await proxy.remove()
  })

  it('returns 503 with Retry-After on a node that has lost the others, also to GET /up', async () => {
    for (const node of nodes.slice(1)) await node.daemon.stop('SIGKILL')
    const [host] = hosts
    const statuses = async (): Promise<unknown> => {
      const answers = [await host?.get('/up'), await host?.get('/posts'), await host?.put('/counters/a')]
      return answers.map((answer) => `${answer?.status} ${answer?.headers.has('retry-after')}`)
    }
    while ((await host?.get('/up'))?.status === 200) await delay(100)
    expect(await statuses()).to.deep.equal(['503 false', '503 true', '503 true'])
  })
})

/** The cookies of a response, as a browser returns them. */
function cookiesOf(answer: Answer | undefined): string {
  return (answer?.headers.getSetCookie() ?? []).map((line) => line.split(';', 1)[0]).join('; ')
}

/** Sends two requests, the second one to the host of a node that applies nothing for a moment. */
async function whilePaused(
  node: GaleraNode | undefined,
  send: () => Promise<[Answer | undefined, Promise<Answer> | undefined]>,
): Promise<(Answer | undefined)[]> {
  const resume = await node?.pause()
  const [first, second] = await send()
  const late = node && delay(300).then(resume)
  const answers = [first, await second]
  await late
  return answers
}
