import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import type { DatabaseSettings } from '../../src/index.js'
import { Site, type SpecRequest, type SpecResponse } from '../support/site.js'
import { HaProxy } from './support/haproxy.js'
import { notes } from './support/notes.js'
import { PostgresNode } from './support/postgres.js'
import { until } from './support/until.js'

const cookie = '_notes_session_position'

describe('A database with replicas', () => {
  let [primary, near, late] = [] as unknown as [PostgresNode, PostgresNode, PostgresNode]

  before(async () => {
    primary = await PostgresNode.primary()
    near = await primary.replica('pg2')
    late = await primary.replica('pg3', ['recovery_min_apply_delay = 3s'])
    const { database } = notes({ url: primary.url() })
    await database.open()
    await database.migrate()
    await database.query('CREATE SEQUENCE counted')
    await database.close()
    for (const node of [near, late]) await node.caughtUpWith(primary)
  })

  after(async () => {
    for (const node of [late, near, primary]) await node.remove()
  })

  /** An application that reads some of the nodes, once it uses as many replicas as expected. */
  async function open(
    nodes: readonly PostgresNode[],
    {
      used = nodes.length,
      api = false,
      ...settings
    }: Partial<DatabaseSettings> & { used?: number; api?: boolean } = {},
  ) {
    const replicas = nodes.map((node) => node.url())
    const { app, log, database } = notes({ url: primary.url(), replicas, ...settings }, { api })
    const site = await Site.open(app)
    const changes = (): string[] =>
      log.lines.map(({ msg }) => String(msg)).filter((line) => /127\.0\.0\.1:\d+ is /.test(line))
    const has = (text: string): boolean => changes().some((line) => line.includes(text))
    await until(() => changes().filter((line) => line.endsWith(' is used.')).length >= used)
    const request = (method: string, path: string, options: SpecRequest = {}): Promise<SpecResponse> =>
      site.request(method, path, { accept: 'json', ...options })
    const portOf = async (path: string, options?: SpecRequest): Promise<unknown> =>
      (await request('GET', path, options)).json.port
    return { site, app, log, database, changes, has, request, portOf }
  }

  it('reads without a position from a replica, and writes on the primary', async () => {
    const { request, log } = await open([near])
    const { json, headers } = await request('POST', '/notes', { json: { text: 'one', count: 0 } })
    expect(headers.get('set-cookie')).to.match(
      /^_notes_session_position=[\w-]{54}; path=\/; expires=.*; samesite=lax; httponly$/i,
    )
    await near.caughtUpWith(primary)
    expect((await request('GET', `/notes/${json.id}`)).json).to.include({ text: 'one' })
    const lines = log.lines.filter(({ status }) => status).map(({ method, database }) => [method, database])
    expect(lines).to.deep.equal([
      ['POST', 'primary'],
      ['GET', `127.0.0.1:${near.port}`],
    ])
  })

  it('chooses the server by what the request says', async () => {
    const { request, portOf } = await open([near])
    const bearer = { headers: { authorization: 'Bearer one' } }
    // A visitor reads the primary until the new replica has reached a position that no page has passed.
    await until(async () => (await portOf('/servers')) === near.port)
    expect(await portOf('/servers')).to.equal(near.port)
    expect(await portOf('/servers', bearer)).to.equal(primary.port)
    expect(await portOf('/recent', bearer)).to.equal(near.port)
    expect(await portOf('/present')).to.equal(primary.port)
    expect(await portOf('/serializable')).to.equal(primary.port)
    expect(await portOf('/repeatable')).to.equal(near.port)
    expect((await request('POST', '/servers', { json: {} })).json).to.deep.equal({ port: near.port })
    expect((await request('POST', '/servers', { json: {}, ...bearer })).json).to.deep.equal({
      port: primary.port,
    })
  })

  it('runs jobs on the primary', async () => {
    const { request } = await open([late])
    const { json } = await request('POST', '/ports', { json: {} })
    const count = async () => (await request('GET', `/notes/${json.id}`)).json.count
    await until(async () => (await count()) === primary.port)
  })

  it('reads a position that the replica has not replayed on the primary, and renews it', async () => {
    const { request } = await open([late])
    const { json } = await request('POST', '/notes', { json: { text: 'late', count: 0 } })
    const read = await request('GET', `/notes/${json.id}`)
    expect(read.json).to.include({ text: 'late' })
    expect(read.headers.get('set-cookie')).to.include(cookie)
    // The primary was read, too, for a record that is not there.
    const missing = await request('GET', `/notes/${crypto.randomUUID()}`)
    expect([missing.status, missing.headers.get('set-cookie')?.includes(cookie)]).to.deep.equal([404, true])
    expect((await request('GET', `/notes/${json.id}`)).headers.get('set-cookie')).to.include(cookie)
    await late.caughtUpWith(primary)
    const later = await request('GET', '/servers')
    expect([later.json, later.headers.get('set-cookie')]).to.deep.equal([{ port: late.port }, null])
  })

  it('returns positions in a header to clients of an API, and ignores forged ones', async () => {
    const { request } = await open([late], { api: true })
    const created = await request('POST', '/notes', { json: { text: 'api', count: 0 } })
    const position = created.headers.get('database-position') ?? ''
    expect(created.headers.get('set-cookie')).to.equal(null)
    const read = (headers: Record<string, string>): Promise<SpecResponse> =>
      request('GET', '/servers', { headers })
    const returned = await read({ 'database-position': position })
    expect([returned.json.port, returned.headers.has('database-position')]).to.deep.equal([
      primary.port,
      true,
    ])
    const forged = await read({
      'database-position': position.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')),
    })
    expect(forged.json.port).to.equal(late.port)
    const authorization = 'Bearer one'
    const unreadable = await read({ authorization, 'database-position': 'none' })
    expect(unreadable.json.port).to.equal(primary.port)
    await late.caughtUpWith(primary)
    const renewed = unreadable.headers.get('database-position') ?? ''
    expect((await read({ authorization, 'database-position': renewed })).json.port).to.equal(late.port)
  })

  it('runs a GET that writes again on the primary, even if its handler catches the error, and begins there next time', async () => {
    const { request, log } = await open([near])
    const visit = await request('GET', '/visits')
    expect(visit.json.port).to.equal(primary.port)
    expect(visit.headers.get('set-cookie')).to.include(cookie)
    expect((await request('GET', `/notes/${visit.json.id}`)).json).to.include({ text: 'visit' })
    expect((await request('GET', '/caught')).json).to.deep.equal({ hasFailed: false, port: primary.port })
    const errors = (): number => log.lines.filter(({ level }) => Number(level) >= 40).length
    expect((await request('GET', '/caught')).json).to.deep.equal({ hasFailed: false, port: primary.port })
    expect(errors(), JSON.stringify(log.lines.filter(({ level }) => Number(level) >= 40))).to.equal(0)
  })

  it('reads nearly everything from the replica, as the servers count it', async () => {
    const { request } = await open([near])
    const transactions = async (node: PostgresNode): Promise<number> => {
      const sql = "SELECT xact_commit::int AS count FROM pg_stat_database WHERE datname = 'postgres'"
      const [row] = await node.query<{ count: number }>(sql)
      return row?.count ?? 0
    }
    const before = [await transactions(primary), await transactions(near)]
    for (let count = 0; count < 300; count += 1) await request('GET', '/notes')
    // Processes of the server report what they have counted when they are idle.
    await until(async () => (await transactions(near)) - (before[1] ?? 0) >= 300)
    expect((await transactions(primary)) - (before[0] ?? 0)).to.be.lessThan(100)
  })

  it('confirms a commit whose position cannot be read, and reads the primary next', async () => {
    await primary.query('CREATE ROLE limited LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO limited')
    await primary.query('REVOKE EXECUTE ON FUNCTION pg_current_wal_insert_lsn() FROM PUBLIC')
    const { request } = await open([late], { url: primary.url().replace('postgres@', 'limited@') })
    const created = await request('POST', '/notes', { json: { text: 'unknown', count: 0 } })
    expect(created.status).to.equal(201)
    await late.caughtUpWith(primary)
    await primary.query('GRANT EXECUTE ON FUNCTION pg_current_wal_insert_lsn() TO PUBLIC')
    expect((await request('GET', '/servers')).json).to.deep.equal({ port: primary.port })
    await late.caughtUpWith(primary)
    expect((await request('GET', '/servers')).json).to.deep.equal({ port: late.port })
  })

  it('streams rows of a replica', async () => {
    const { request, log } = await open([near])
    await request('POST', '/notes', { json: { text: 'row', count: 0 } })
    await near.caughtUpWith(primary)
    expect((await request('GET', '/rows')).text).to.include('"row"')
    expect(log.lines.at(-1)).to.include({ database: `127.0.0.1:${near.port}` })
  })

  it('runs a read again that the recovery of the replica has canceled, or that needs a table that is not there yet', async () => {
    const { request } = await open([near])
    await near.set('max_standby_streaming_delay', '0')
    const slow = request('GET', '/slow?seconds=2')
    await delay(500)
    await primary.query('CREATE TABLE gone (id int)')
    await primary.query('LOCK TABLE notes IN ACCESS EXCLUSIVE MODE; DROP TABLE gone').catch(() => undefined)
    expect((await slow).status).to.equal(200)
    await near.set('max_standby_streaming_delay', '30s')
  })

  it('leaves a replica out that is killed, frozen, or too far behind, and no read fails', async () => {
    const { request, has, changes, portOf } = await open([primary, near], { used: 1, maxLag: 2000 })
    await until(() => changes().includes(`127.0.0.1:${primary.port} is left out: it is not in recovery.`))
    const statuses = new Set<number>()
    let isOver = false
    const reads = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isOver) statuses.add((await request('GET', '/servers')).status)
      }),
    )
    const outs = (): number =>
      changes().filter((line) => line.startsWith(`127.0.0.1:${near.port} is left out`)).length
    const used = (): number => changes().filter((line) => line === `127.0.0.1:${near.port} is used.`).length

    await near.daemon.stop('SIGKILL')
    await until(() => outs() === 1)
    await near.daemon.start()
    await until(() => used() === 2)

    near.daemon.freeze()
    await until(() => outs() === 2)
    near.daemon.thaw()
    await until(() => used() === 3)

    await near.query('SELECT pg_wal_replay_pause()')
    const paused = performance.now()
    while (outs() < 3) {
      await request('POST', '/notes', { json: { text: 'paused', count: 0 } })
      await delay(100)
    }
    expect(performance.now() - paused).to.be.lessThan(2000 + 2000)
    expect(has('more than 2000 ms behind')).to.equal(true)
    await near.query('SELECT pg_wal_replay_resume()')
    await until(() => used() === 4)
    isOver = true
    await reads
    expect([...statuses]).to.deep.equal([200])
    expect(await portOf('/recent')).to.equal(near.port)
  })

  it('writes nothing to a replica that is promoted during the request, and leaves it out', async () => {
    const { request, has } = await open([near])
    const writing = request('GET', '/late-write?ms=3000')
    await delay(500)
    await near.promote()
    expect(await writing).to.include({ status: 200 })
    expect(
      await near.query("SELECT count(*)::int AS count FROM notes WHERE text = 'late write'"),
    ).to.deep.equal([{ count: 0 }])
    expect(
      await primary.query("SELECT count(*)::int AS count FROM notes WHERE text = 'late write'"),
    ).to.deep.equal([{ count: 1 }])
    await until(() => has('is left out: it is not in recovery.'))
    await near.follow(primary)
  })

  it('leaves out a URL whose connections lead to several servers, and says why', async () => {
    const servers = [near, late].map(({ port }, index) => `server s${index} 127.0.0.1:${port}`)
    const proxy = await HaProxy.start(['mode tcp', 'balance roundrobin', ...servers])
    try {
      const behind = { url: () => near.url().replace(`:${near.port}/`, `:${proxy.port}/`) } as PostgresNode
      const { request, has } = await open([behind])
      const responses = await Promise.all(Array.from({ length: 8 }, () => request('GET', '/servers')))
      expect(new Set(responses.map(({ status }) => status))).to.deep.equal(new Set([200]))
      await until(() => has('is left out: its URL leads to several servers.'))
    } finally {
      await proxy.remove()
    }
  })

  it('reads while the primary is down, and writes again when it is there', async () => {
    const { request } = await open([near])
    await primary.daemon.stop('SIGKILL')
    expect((await request('GET', '/servers')).json).to.deep.equal({ port: near.port })
    expect((await request('GET', '/up')).status).to.equal(200)
    const rejected = await request('POST', '/notes', { json: { text: 'down', count: 0 } })
    expect([rejected.status, rejected.headers.get('retry-after')]).to.deep.equal([503, '5'])
    await delay(2500)
    expect((await request('GET', '/servers')).json).to.deep.equal({ port: near.port })
    await primary.daemon.start()
    await until(
      async () => (await request('POST', '/notes', { json: { text: 'up', count: 0 } })).status === 201,
    )
  })

  it('responds to GET /up before the balancer gives up while the primary is frozen', async () => {
    const { request } = await open([near])
    primary.daemon.freeze()
    try {
      const from = performance.now()
      expect((await request('GET', '/up')).status).to.equal(200)
      expect(performance.now() - from).to.be.lessThan(3000)
    } finally {
      primary.daemon.thaw()
    }
  })

  it('is described by kit db replicas', async () => {
    const { database } = notes({ url: primary.url(), replicas: [primary, near].map((node) => node.url()) })
    await near.caughtUpWith(primary)
    await database.open()
    const state = await (await database.watch(() => {}))?.describe?.()
    await database.close()
    expect(state?.canLoseCommits).to.equal(true)
    expect(state?.replicas.map(({ name, problem }) => [name, problem])).to.deep.equal([
      [`127.0.0.1:${primary.port}`, 'it is not in recovery'],
      [`127.0.0.1:${near.port}`, undefined],
    ])
  })

  it('is described by kit db replicas while the primary is down', async () => {
    await primary.daemon.stop('SIGINT')
    const { database } = notes({ url: primary.url(), replicas: [primary, near].map((node) => node.url()) })
    try {
      const state = await (await database.watch(() => {}))?.describe?.()
      expect(state?.primaryProblem).to.equal('nothing listens there')
      expect(state?.replicas.map(({ name, problem }) => [name, problem])).to.deep.equal([
        [`127.0.0.1:${primary.port}`, 'nothing listens there'],
        [`127.0.0.1:${near.port}`, undefined],
      ])
    } finally {
      await database.close()
      await primary.daemon.start()
    }
  })
})
