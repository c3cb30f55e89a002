import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { startGalera, type GaleraNode } from './support/galera.js'
import { Host, migrateIn, note, repeat, type Answer, type Statuses } from './support/host.js'
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
    const runs = await Promise.all(urls().map((one) => migrateIn(one, { SLOW_MIGRATION: '500' })))
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

  it('shows a visitor a session and a record on the next host at once', async () => {
    for (let time = 0; time < requests(100); time += 1) {
      const [first, second, third] = [0, 1, 2].map((number) => hosts[(time + number) % 3])
      const name = `visitor ${time}`
      const begun = await first?.post('/session', {}, { name })
      const cookie = cookiesOf(begun)
      expect((await second?.get('/session', { cookie }))?.json, `time ${time}`).to.deep.equal({ name })
      const created = await third?.post('/posts', { title: name }, { cookie })
      const both = `${cookie}; ${cookiesOf(created)}`
      expect(
        (await first?.get(`/posts/${created?.json.id}`, { cookie: both }))?.status,
        `time ${time}`,
      ).to.equal(200)
    }
  })

  it('returns 503 with Retry-After on a node that has lost the others, also to GET /up', async () => {
    for (const node of nodes.slice(1)) await node.daemon.stop('SIGKILL')
    const [host] = hosts
    const statuses = async (): Promise<unknown> => {
      const answers = [await host?.get('/up'), await host?.get('/posts'), await host?.put('/counters/a')]
      return answers.map((answer) => `${answer?.status} ${answer?.headers.has('retry-after')}`)
    }
    while ((await host?.get('/up'))?.status === 200) await delay(100)
    expect(await statuses()).to.deep.equal(['503 true', '503 true', '503 true'])
  })
})

/** The cookies of a response, as a browser returns them. */
function cookiesOf(answer: Answer | undefined): string {
  return (answer?.headers.getSetCookie() ?? []).map((line) => line.split(';', 1)[0]).join('; ')
}
