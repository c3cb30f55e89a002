import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { App } from '../../src/index.js'
import type { CapturedLog } from '../../src/testing/index.js'
import { requests } from './support/programs.js'
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
  id = ''
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
    if (kind === 'browser' && position) headers['cookie'] = `${positionCookie}=${position}`
    if (kind === 'api' && position) headers['database-position'] = position
    const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    this.position = positionIn(response) ?? response.headers.get('database-position') ?? position
    const text = await response.text()
    return { status: response.status, json: JSON.parse(text || '{}') as { id?: string; count?: number } }
  }
}

/** A visitor who only reads a note that somebody else changes. */
class Reader {
  reads = 0
  failed = 0
  /** The times at which a read was older than the one before. */
  readonly steps: number[] = []
  private count = 0
  private position = ''
  private readonly session: string

  constructor(
    number: number,
    private readonly hosts: readonly Host[],
    private readonly note: string,
  ) {
    // The content of a session is what distinguishes visitors. Reading does not verify it.
    const content = Buffer.from(JSON.stringify({ content: { user_id: String(number) } })).toString(
      'base64url',
    )
    this.session = `_notes_session=${content}.unsigned`
  }

  async read(): Promise<void> {
    const { url } = this.hosts[this.reads % this.hosts.length] as Host
    const cookie = this.position ? `${this.session}; ${positionCookie}=${this.position}` : this.session
    const response = await fetch(`${url}/notes/${this.note}`, {
      headers: { accept: 'application/json', cookie },
    })
    this.position = positionIn(response) ?? this.position
    this.reads += 1
    const { count } = (await response.json()) as { count: number }
    if (response.status !== 200) this.failed += 1
    else {
      if (count < this.count) this.steps.push(Date.now())
      this.count = count
    }
  }
}

const positionCookie = '_notes_session_position'

function positionIn({ headers }: Response): string | undefined {
  return new RegExp(`${positionCookie}=([^;]*)`).exec(headers.get('set-cookie') ?? '')?.[1]
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

  it('read what they have written, no read fails, and none goes back, while a replica is killed, frozen and paused', async () => {
    const kinds: Kind[] = ['browser', 'api', 'browser', 'api', 'authorization']
    const clients = Array.from(
      { length: 30 },
      (_, index) => new Client(kinds[index % 5] ?? 'api', index, hosts),
    )
    for (const client of clients) await client.create()
    const writer = new Client('browser', 1000, hosts)
    await writer.create()
    for (const node of [near, late]) await node.caughtUpWith(primary)
    const readers = Array.from({ length: 10 }, (_, index) => new Reader(index, hosts, writer.id))
    const wanted = requests(20_000)
    const reads = (): number => [...clients, ...readers].reduce((sum, client) => sum + client.reads, 0)
    let isOver = false
    const disturb = async (): Promise<void> => {
      await near.daemon.stop('SIGKILL')
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
      await delay(4000)
    }
    const change = async (client: Client): Promise<void> => {
      while (!isOver) {
        if (Math.random() < 0.2) await client.write()
        await client.read()
        await delay(Math.random() * 20)
      }
    }
    const write = async (): Promise<void> => {
      while (!isOver) await writer.write().then(() => delay(50))
    }
    const look = async (reader: Reader): Promise<void> => {
      while (!isOver) await reader.read().then(() => delay(Math.random() * 20))
    }
    const disturbAll = async (): Promise<void> => {
      do await disturb()
      while (reads() < wanted)
    }
    const disturbing = disturbAll().finally(() => (isOver = true))
    await Promise.all([disturbing, ...clients.map(change), ...readers.map(look), write()])
    const sum = (name: 'stale' | 'failed'): number =>
      clients.reduce((total, client) => total + client[name], 0)
    expect({ stale: sum('stale'), failed: sum('failed') }).to.deep.equal({ stale: 0, failed: 0 })
    expect(readers.map(({ failed }) => failed)).to.deep.equal(readers.map(() => 0))

    // Processes see a change at different times, within two checks of a second, each of which can take a second.
    const lines = hosts.flatMap(({ log }) => log.lines)
    const changes = lines
      .filter(({ msg }) => / is (used|left out)/.test(String(msg)))
      .map(({ time }) => Number(time))
    const isNearChange = (step: number): boolean => changes.some((time) => Math.abs(time - step) < 4000)
    const steps = readers.flatMap((reader) => reader.steps)
    expect(steps.filter((step) => !isNearChange(step))).to.deep.equal([])

    const byReaders = lines.filter(({ method, path }) => method === 'GET' && path === `/notes/${writer.id}`)
    const onReplicas = byReaders.filter(({ database }) => database !== 'primary').length
    const counts = `${reads()} reads, ${byReaders.length} without writes, of which ${onReplicas} on replicas`
    console.log(`      ${counts}, ${steps.length} steps back near ${changes.length} changes`)
    expect(onReplicas).to.be.greaterThan(0)
  })
})
