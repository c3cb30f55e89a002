import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { HaProxy } from './support/haproxy.js'
import { Host, migrateIn, note, repeat, send, type Statuses } from './support/host.js'
import { PgBouncer } from './support/pgbouncer.js'
import { PostgresNode } from './support/postgres.js'

describe('Two hosts behind HAProxy, with PgBouncer before the database', () => {
  let server: PostgresNode
  let bouncer: PgBouncer
  let proxy: HaProxy
  const hosts: Host[] = []

  const settings = () => ({ url: bouncer.url('blog') })

  before(async () => {
    server = await PostgresNode.primary()
    await server.query('CREATE DATABASE blog')
    bouncer = await PgBouncer.start(server)
    await migrateIn(settings(), { release: 1 })
    for (const number of [0, 1]) hosts[number] = await Host.start(settings(), 1)
    proxy = await HaProxy.http(...hosts.map(({ port }) => port))
  })

  after(async () => {
    for (const host of hosts) await host.remove()
    await proxy?.remove()
    await bouncer?.remove()
    await server?.remove()
  })

  /** Replaces one host after the other. */
  async function deploy(release: number): Promise<void> {
    for (const number of [0, 1]) {
      const next = await Host.start(settings(), release)
      await hosts[number]?.remove('SIGTERM')
      await proxy.command(`set server main/s${number} addr 127.0.0.1 port ${next.port}`)
      hosts[number] = next
      while (!/^\S+,s/.test(await up(number))) await delay(50)
    }
  }

  /** The line of a host in the proxy's statistics, if the proxy uses it. */
  async function up(number: number): Promise<string> {
    const lines = (await proxy.command('show stat')).split('\n')
    return lines.find((line) => line.startsWith(`main,s${number},`) && line.includes(',UP,')) ?? ''
  }

  it('fail no request and do none twice while a column is added, renamed and removed by four releases', async () => {
    const url = `http://127.0.0.1:${proxy.port}`
    const writes: Statuses = new Map()
    const reads: Statuses = new Map()
    let isOver = false
    const load = repeat({ atOnce: 6, isOver: () => isOver }, async (index) => {
      note(writes, await send(`${url}/posts`, 'POST', {}, { title: `post ${index}` }))
      note(reads, await send(`${url}/posts`, 'GET', {}))
      await delay(5)
    })
    const steps = async (): Promise<void> => {
      // Columns are added before their release, and removed after the last release that uses them.
      for (const release of [2, 3]) {
        await migrateIn(settings(), { release })
        await deploy(release)
      }
      await deploy(4)
      await migrateIn(settings(), { release: 4 })
      await delay(300)
    }
    await steps().finally(() => (isOver = true))
    await load
    expect([...reads.keys()]).to.deep.equal([200])
    expect([...writes.keys()]).to.deep.equal([201])
    const sql = 'SELECT count(*)::int AS count, count(DISTINCT headline)::int AS different FROM posts'
    const count = writes.get(201)
    expect(await server.query(sql, 'blog')).to.deep.equal([{ count, different: count }])
  })
})
