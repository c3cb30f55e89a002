import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { copyPosts } from './support/copies.js'
import { Host, migrateIn, note, postWithKeys, putWithOneTag, repeat, type Statuses } from './support/host.js'
import { PgBouncer } from './support/pgbouncer.js'
import { PostgresNode } from './support/postgres.js'
import { requests } from './support/programs.js'

/** The number of session locks on the server. */
const LOCKS = "SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory'"

describe('An application behind PgBouncer in transaction mode', () => {
  let server: PostgresNode
  let bouncer: PgBouncer
  let hosts: Host[]

  before(async () => {
    server = await PostgresNode.primary([
      'logging_collector = on',
      'log_directory = log',
      'log_statement = all',
    ])
    bouncer = await PgBouncer.start(server)
    await server.query('CREATE DATABASE blog')
  })

  after(async () => {
    for (const host of hosts ?? []) await host.remove()
    await bouncer?.remove()
    await server?.remove()
  })

  const settings = (limits = {}) => ({ url: bouncer.url('blog'), acquireTimeout: 60_000, ...limits })

  it('is migrated once by four processes at the same time', async () => {
    const runs = await Promise.all(
      [1, 2, 3, 4].map(() =>
        migrateIn({ url: bouncer.url('blog'), pool: 1 }, { env: { SLOW_MIGRATION: '500' } }),
      ),
    )
    expect(runs.flat().length).to.equal(2)
    expect(await migrateIn({ url: bouncer.url('blog') })).to.deep.equal([])
    expect(await server.query(LOCKS)).to.deep.equal([{ count: 0 }])
    const leases = await server.query<{ name: string }>(
      'SELECT name FROM kit_leases WHERE expires_at > 0',
      'blog',
    )
    expect(leases).to.deep.equal([])
  })

  it('keeps each of 200 concurrent creates that returns 201, and none that fails', async () => {
    hosts = [await Host.start(settings()), await Host.start(settings())]
    const statuses: Statuses = new Map()
    const created: (string | undefined)[] = []
    await repeat({ times: requests(2000), atOnce: 200 }, async (index) => {
      const title = index % 2 === 0 ? `kept ${index}` : `fails ${index}`
      const answer = await hosts[index % hosts.length]?.post('/posts', { title })
      if (!answer) return
      note(statuses, answer)
      if (answer.status === 201) created.push(answer.json.id)
    })
    const half = requests(2000) / 2
    expect(statuses).to.deep.equal(
      new Map([
        [201, half],
        [500, half],
      ]),
    )
    const rows = await server.query<{ id: string; title: string }>('SELECT id, title FROM posts', 'blog')
    expect(new Set(rows.map(({ id }) => id))).to.deep.equal(new Set(created))
  })

  it('changes a record once when it gets 200 PUTs with the same tag at the same time', async () => {
    const [first, ...others] = await putWithOneTag(hosts, requests(200))
    expect(first).to.equal(200)
    expect(others).to.deep.equal(Array.from({ length: requests(200) - 1 }, () => 412))
  })

  it('returns 503 when a locked row, or a statement, takes too long', async () => {
    const host = await Host.start(settings({ acquireTimeout: 2000, statementTimeout: 4000 }))
    hosts.push(host)
    const locking = server.query(
      "BEGIN; SELECT * FROM counters WHERE id = 'a' FOR UPDATE; SELECT pg_sleep(5)",
      'blog',
    )
    await delay(500)
    const start = performance.now()
    const answer = await host.put('/counters/a')
    expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1'])
    expect(performance.now() - start).to.be.within(1900, 4000)
    await locking
    expect((await host.put('/counters/a')).status).to.equal(200)
    expect((await host.get('/sleep?seconds=30')).status).to.equal(503)
    expect((await host.get('/sleep?seconds=0')).status).to.equal(200)
  })

  it('works again after a kill and a restart of PgBouncer, and loses nothing', async () => {
    const statuses: Statuses = new Map()
    const created: (string | undefined)[] = []
    let isOver = false
    const load = repeat({ atOnce: 10, isOver: () => isOver }, async (index) => {
      const answer = await hosts[index % hosts.length]?.post('/posts', { title: `kept ${index}` })
      if (!answer) return
      note(statuses, answer)
      if (answer.status === 201) created.push(answer.json.id)
      else await delay(20)
    })
    await until(() => created.length > 20)
    await bouncer.daemon.stop('SIGKILL')
    await until(() => (statuses.get(503) ?? 0) >= 10)
    const before = created.length
    await bouncer.daemon.start()
    await until(() => created.length > before + 20)
    isOver = true
    await load
    expect([...statuses.keys()].filter((status) => ![201, 500, 503].includes(status))).to.deep.equal([])
    // Only a commit without an answer is in doubt.
    expect(statuses.get(500) ?? 0).to.be.at.most(10)
    const rows = await server.query<{ id: string }>('SELECT id FROM posts', 'blog')
    const there = new Set(rows.map(({ id }) => id))
    expect(created.filter((id) => !there.has(id ?? ''))).to.deep.equal([])
  })

  it('creates one record for each key that both hosts get at the same time, with a kill and a restart of PgBouncer', async () => {
    const keys = Array.from({ length: requests(200) }, () => crypto.randomUUID())
    const statuses: Statuses = new Map()
    const sent = postWithKeys(hosts.slice(0, 2), keys, statuses)
    await until(() => (statuses.get(201) ?? 0) > 10)
    await bouncer.daemon.stop('SIGKILL')
    await until(() => (statuses.get(503) ?? 0) > 0)
    await bouncer.daemon.start()
    const created = await sent
    // A commit without an answer is repeated, too.
    expect([...statuses.keys()].filter((status) => ![201, 503].includes(status))).to.deep.equal([])
    const list = keys.map((key) => `'${key}'`).join()
    const sql = `SELECT id, title FROM posts WHERE title IN (${list})`
    const rows = await server.query<{ id: string; title: string }>(sql, 'blog')
    expect(rows).to.have.length(keys.length)
    for (const { id, title } of rows) expect(created.get(title), title).to.deep.equal([id])
  })

  it('runs the job of each committed request once, with a host that is killed', async () => {
    await copyPosts([settings(), settings()], (sql) => server.query(sql, 'blog'))
  })

  it('leaves no lock, no setting and no open transaction on the server, and names no statement', async () => {
    expect(await server.query(LOCKS)).to.deep.equal([{ count: 0 }])
    expect(
      await server.query(
        "SELECT state FROM pg_stat_activity WHERE datname = 'blog' AND state LIKE 'idle in %'",
      ),
    ).to.deep.equal([])
    // Each of PgBouncer's connections, one after the other.
    const values = ['lock_timeout', 'statement_timeout'].map((name) => `current_setting('${name}')`)
    const busy = Array.from({ length: 20 }, () =>
      bouncer.query(`SELECT ${values.join(" || ' ' || ")} AS values, pg_sleep(0.2)`, 'blog'),
    )
    const rows = (await Promise.all(busy)).flat()
    expect(new Set(rows.map((row) => row['values']))).to.deep.equal(new Set(['0 0']))
    const folder = join(server.data, 'log')
    const log = readdirSync(folder)
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('')
    const named = log.match(/execute (?!<unnamed>)\S+:/g) ?? []
    expect(log).to.contain('execute <unnamed>:')
    expect(named).to.deep.equal([])
  })
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await delay(50)
}
