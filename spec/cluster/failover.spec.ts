import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { HaProxy } from './support/haproxy.js'
import { Host, migrateIn, note, repeat, type Statuses } from './support/host.js'
import { PostgresNode } from './support/postgres.js'

/** Milliseconds within which every host writes again after the address leads to the new primary. */
const limit = 5000

describe('An application whose primary is replaced', () => {
  let primary: PostgresNode
  let standby: PostgresNode
  let proxy: HaProxy
  let hosts: Host[] = []

  before(async () => {
    primary = await PostgresNode.primary()
    await primary.query('CREATE DATABASE blog')
    standby = await primary.replica('pg2')
    proxy = await HaProxy.tcp(primary.port, standby.port)
    const settings = { url: `postgres://postgres@127.0.0.1:${proxy.port}/blog` }
    await migrateIn(settings)
    hosts = [await Host.start(settings), await Host.start(settings)]
  })

  after(async () => {
    for (const host of hosts) await host.remove()
    await proxy?.remove()
    await primary?.remove()
    await standby?.remove()
  })

  beforeEach(async () => {
    await primary.set('synchronous_standby_names', standby.name)
    await standby.caughtUpWith(primary)
  })

  /** Promotes the standby, to which the address leads from then on. The old primary becomes its standby. */
  async function failOver(isOver: () => Promise<unknown>): Promise<void> {
    await standby.query("ALTER SYSTEM SET synchronous_standby_names = ''")
    await standby.promote()
    await proxy.leadTo(standby.name === 'pg1' ? 0 : 1, 2)
    await isOver()
    primary.daemon.thaw()
    await primary.follow(standby)
    ;[primary, standby] = [standby, primary]
  }

  /** Writes to all hosts during a failover. Returns how they responded. */
  async function underLoad(fail: () => Promise<unknown>): Promise<{ statuses: Statuses; late: number }> {
    const statuses: Statuses = new Map()
    const repeated: Statuses = new Map()
    const created: string[] = []
    const sent: string[] = []
    const doubtful: string[] = []
    /** When each host has responded with 201 last. */
    const last = hosts.map(() => 0)
    const first = hosts.map(() => Infinity)
    let changedAt = Infinity
    let isOver = false
    const load = repeat({ atOnce: 16, isOver: () => isOver }, async (index) => {
      const number = index % hosts.length
      const title = `post ${crypto.randomUUID()}`
      sent.push(title)
      const at = performance.now()
      const key = index % 3 === 0 ? { 'idempotency-key': crypto.randomUUID() } : undefined
      let answer = await hosts[number]?.post('/posts', { title }, key)
      // A request with a key may be sent again, also to another host, until it succeeds.
      for (let other = number; key && answer?.status !== 201; other += 1) {
        if (answer) note(repeated, answer)
        await delay(20)
        answer = await hosts[other % hosts.length]?.post('/posts', { title }, key)
      }
      if (!answer) return
      note(statuses, answer)
      if (answer.status === 201) {
        created.push(title)
        last[number] = performance.now()
        if (at > changedAt) first[number] = Math.min(first[number] ?? Infinity, performance.now() - changedAt)
      } else {
        if (answer.status === 500 || answer.status === 0) doubtful.push(title)
        await delay(20)
      }
    })
    await until(() => created.length > 50)
    await fail()
    // A failover takes a moment.
    await delay(1000)
    await failOver(async () => {
      changedAt = performance.now()
      await until(() => first.every((time) => time < Infinity) || performance.now() > changedAt + 30_000)
      isOver = true
      await load
    })
    const rows = await primary.query<{ title: string }>('SELECT title FROM posts', 'blog')
    const there = new Set(rows.map(({ title }) => title))
    const confirmed = new Set(created)
    expect(rows).to.have.length(there.size)
    expect(
      [...repeated.keys()].filter((status) => status !== 503),
      'with a key',
    ).to.deep.equal([])
    expect(
      created.filter((title) => !there.has(title)),
      'lost',
    ).to.deep.equal([])
    const unconfirmed = sent.filter((title) => there.has(title) && !confirmed.has(title))
    expect(
      unconfirmed.filter((title) => !doubtful.includes(title)),
      'saved without a doubt',
    ).to.deep.equal([])
    return { statuses, late: Math.max(...first) }
  }

  const failures: Record<string, () => Promise<unknown>> = {
    'is killed': () => primary.daemon.stop('SIGKILL'),
    'only reads': () => primary.set('default_transaction_read_only', 'on'),
    'is frozen with its connections open': async () => primary.daemon.freeze(),
  }
  for (const [what, fail] of Object.entries(failures)) {
    it(`loses no confirmed record, and writes on both hosts within five seconds, when the old one ${what}`, async () => {
      const { statuses, late } = await underLoad(fail)
      const counted = JSON.stringify([...statuses])
      expect(late, counted).to.be.below(limit)
      expect(
        [...statuses.keys()].filter((status) => ![201, 500, 503].includes(status)),
        counted,
      ).to.deep.equal([])
      console.log(`      ${counted}, after ${Math.round(late)} ms`)
    })
  }

  it('does not notice that a statement is slow', async () => {
    const answers = await Promise.all(hosts.map((host) => host.get('/sleep?seconds=8')))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
  })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(20)
}
