import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { App } from '../../src/index.js'
import type { CapturedLog } from '../../src/testing/index.js'
import { isShort, requests } from './support/programs.js'
import { notes } from './support/notes.js'
import { PostgresNode } from './support/postgres.js'

/** A host of the application. */
interface Host {
  app: App
  url: string
  log: CapturedLog
}

/** Whether a client returns the position of its last response in a cookie, in a header with `Authorization`, or not at all. */
type Kind = 'browser' | 'api' | 'authorization'

/** A client with a note that only it changes, which talks to any host. */
class Client {
  stale = 0
  failed = 0
  reads = 0
  private id = ''
  /** The last count that was confirmed, or read. */
  private confirmed = 0
  private position = ''

  constructor(
    private readonly kind: Kind,
    private readonly number: number,
    private readonly hosts: readonly Host[],
  ) {}

  async create(): Promise<void> {
    const { status, json } = await this.send('POST', '/notes', { text: `of ${this.number}`, count: 0 })
    expect(status).to.equal(201)
    this.id = String(json.id)
  }

  async write(): Promise<void> {
    const { status, json } = await this.send('PUT', `/notes/${this.id}`, {})
    if (status === 200) this.confirmed = Number(json.count)
  }

  async read(): Promise<void> {
    const { status, json } = await this.send('GET', `/notes/${this.id}`)
    this.reads += 1
    if (status !== 200) this.failed += 1
    else if (Number(json.count) < this.confirmed) this.stale += 1
    else if (this.kind !== 'authorization') this.confirmed = Number(json.count)
  }

  private async send(method: string, path: string, body?: object) {
    const { url } = this.hosts[Math.floor(Math.random() * this.hosts.length)] as Host
    const { kind, position } = this
    const headers: Record<string, string> = { accept: 'application/json', 'content-type': 'application/json' }
    if (kind !== 'browser') headers['authorization'] = `Bearer ${this.number}`
    if (kind === 'browser' && position) headers['cookie'] = `_notes_session_position=${position}`
    if (kind === 'api' && position) headers['database-position'] = position
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const set = /_notes_session_position=([^;]*)/.exec(response.headers.get('set-cookie') ?? '')?.[1]
    this.position = set ?? response.headers.get('database-position') ?? position
    const text = await response.text()
    return { status: response.status, json: JSON.parse(text || '{}') as { id?: string; count?: number } }
  }
}

describe('Clients of three hosts with replicas', () => {
  let [primary, near, late] = [] as unknown as [PostgresNode, PostgresNode, PostgresNode]
  let hosts: Host[] = []

  before(async () => {
    primary = await PostgresNode.primary()
    near = await primary.replica('pg2')
    late = await primary.replica('pg3', ['recovery_min_apply_delay = 3s'])
    const { database } = notes({ url: primary.url() })
    await database.open()
    await database.migrate()
    await database.close()
    for (const node of [near, late]) await node.caughtUpWith(primary)
    const replicas = [primary, near, late].map((node) => node.url())
    hosts = await Promise.all(
      [1, 2, 3].map(async () => {
        const { app, log } = notes({ url: primary.url(), replicas })
        return { app, log, url: await app.listen(0) }
      }),
    )
  })

  after(async () => {
    for (const { app } of hosts) await app.close()
    for (const node of [late, near, primary]) await node.remove()
  })

  it(`read what they have written, and no read fails, while a replica is killed, frozen and paused`, async () => {
    const kinds: Kind[] = ['browser', 'api', 'browser', 'api', 'authorization']
    const clients = Array.from(
      { length: 30 },
      (_, index) => new Client(kinds[index % 5] ?? 'api', index, hosts),
    )
    for (const client of clients) await client.create()
    const wanted = requests(20_000)
    const reads = (): number => clients.reduce((sum, client) => sum + client.reads, 0)
    let isOver = false
    const disturb = async (): Promise<void> => {
      for (;;) {
        await near.daemon.stop('SIGKILL')
        if (isOver) return
        await delay(1500)
        await near.daemon.start()
        await delay(4000)
        near.daemon.freeze()
        await delay(2500)
        near.daemon.thaw()
        await delay(4000)
        await near.query('SELECT pg_wal_replay_pause()')
        await delay(7000)
        await near.query('SELECT pg_wal_replay_resume()')
        if (isOver && !isShort) return
        await delay(3000)
      }
    }
    const run = async (client: Client): Promise<void> => {
      while (reads() < wanted) {
        if (Math.random() < 0.2) await client.write()
        await client.read()
        await delay(Math.random() * 20)
      }
    }
    const disturbing = disturb()
    await Promise.all(clients.map(run))
    isOver = true
    await disturbing
    const sum = (name: 'stale' | 'failed'): number =>
      clients.reduce((total, client) => total + client[name], 0)
    expect({ stale: sum('stale'), failed: sum('failed') }).to.deep.equal({ stale: 0, failed: 0 })
    const lines = hosts.flatMap(({ log }) => log.lines).filter(({ method }) => method === 'GET')
    const onReplicas = lines.filter(({ database }) => database !== 'primary').length
    console.log(reads(), 'reads,', onReplicas, 'on replicas')
    expect(onReplicas).to.be.greaterThan(0)
  })
})
