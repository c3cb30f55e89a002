import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Database } from '../../src/index.js'
import { behavior, insertParts, openParts, Part, partsApp, partsUrl } from '../support/applications/parts.js'
import { engine, itOnce } from '../support/engine.js'
import { Random } from '../support/random.js'
import { Site } from '../support/site.js'

/** A process is killed at one point, with 20 at three, and with 100 at all ten. Then exports have 200,000 rows instead of 30,000. */
const total = Number(process.env['KIT_MANY'] ?? 0)
const seed = Number(process.env['KIT_MANY_SEED'] ?? Date.now() % 2 ** 31)

const main = fileURLToPath(new URL('../support/applications/parts-main.js', import.meta.url))
const lines = 1200
const file = fileWith((index) => `s${index},N${index}`)
/** The number of lines while a process is killed. */
const sent = total < 20 ? 300 : lines
const points = drawn(total < 20 ? 1 : total < 100 ? 3 : 10)

/** Some points of an import at which a process is killed: before the call for a line, or around the commit. */
function drawn(count: number): string[] {
  const called = [2, 3, 250, 501, 502, 503, 1002, 1201].filter((line) => line <= sent + 1)
  const all = [...called.map((line) => `line ${line}`), 'before commit', 'after commit']
  const random = new Random(seed)
  while (all.length > count) all.splice(random.below(all.length), 1)
  return all
}

function fileWith(lineOf: (index: number) => string, count = lines): string {
  return `sku,name\n${Array.from({ length: count }, (_, index) => lineOf(index)).join('\n')}\n`
}

/** A process that serves the parts. */
class Server {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static async start(database: string, killAt = ''): Promise<Server> {
    const child = fork(main, { env: { ...process.env, PARTS_URL: database, KILL_AT: killAt } })
    const [url]: unknown[] = await once(child, 'message')
    return new Server(String(url), child)
  }

  import(body: string): Promise<Response> {
    const headers = { 'Content-Type': 'text/csv', accept: 'application/json' }
    return fetch(`${this.url}/parts/import`, { method: 'POST', body, headers })
  }

  /** The greatest memory in MiB that it has had in work, as the system counts it. */
  async peakOf(work: () => Promise<unknown>): Promise<number> {
    const { pid } = this.child
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    await work()
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exit = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await exit
  }
}

describe('An import, all or nothing', () => {
  let url: string
  let database: Database
  let site: Site
  beforeEach(async () => {
    url = await partsUrl()
    database = await openParts(url)
    site = await Site.open(partsApp(database))
  })
  afterEach(async () => {
    behavior.before = undefined
    await site.close()
    await database.close()
  })

  const send = (body: string) =>
    site.post('/parts/import', { body, accept: 'json', headers: { 'Content-Type': 'text/csv' } })
  const count = () => database.manager.count(Part)

  it(`stores nothing if the process is killed, at ${points.join(', ')} (KIT_MANY_SEED=${seed}), and each line once if the file is sent again`, async () => {
    const part = fileWith((index) => `s${index},N${index}`, sent)
    for (const point of points) {
      const server = await Server.start(url, point)
      await server.import(part).then(
        () => expect.fail(`not killed at ${point}`),
        () => {},
      )
      await server.stop()
      expect(await count(), point).to.equal(point === 'after commit' ? sent : 0)
      const { created, updated } = (await send(part)).json
      expect(created + updated, point).to.equal(sent)
      expect(await count(), point).to.equal(sent)
      await database.manager.deleteAll(Part)
    }
  })

  it('stores nothing if the disk is full, and each line once if the file is sent again', async () => {
    behavior.before = async (ctx) => {
      if (ctx.importLine !== 700) return
      if (engine === 'sqlite') await ctx.tx.query('PRAGMA max_page_count = 1')
      if (engine === 'postgres')
        await ctx.tx.query(`DO $$ BEGIN RAISE EXCEPTION 'full' USING ERRCODE = '53100'; END $$`)
      if (engine === 'mariadb')
        await ctx.tx.query(`SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'full'`)
    }
    const { status, json } = await send(fileWith((index) => `s${index},${'N'.repeat(200)}`))
    expect([status, json.title]).to.deep.equal([503, 'Service Unavailable'])
    expect(await count()).to.equal(0)
    behavior.before = undefined
    if (engine === 'sqlite') await database.query('PRAGMA max_page_count = 1073741823')
    expect((await send(file)).json.created).to.equal(lines)
    expect(await count()).to.equal(lines)
  })

  if (engine !== 'sqlite')
    it('stores all lines or none in a deadlock, and each line once if the file is sent again', async () => {
      const [first, last] = await insertParts(database, [{ sku: 's0' }, { sku: 's2' }])
      let other: Promise<unknown> | undefined
      const runner = database.createQueryRunner()
      await runner.startTransaction()
      const change = (id?: string) => runner.manager.update(Part, { id: id ?? '' }, { note: 'other' })
      await change(last?.id)
      behavior.before = (ctx) => {
        if (ctx.importLine === 4 && !other)
          other = change(first?.id).then(
            () => runner.commitTransaction(),
            () => runner.rollbackTransaction(),
          )
      }
      const { status } = await send(fileWith((index) => `s${index},New`, 3))
      await other
      await runner.release()
      expect(status).to.be.oneOf([200, 503])
      const names = (await database.manager.find(Part)).map(({ name }) => name)
      expect(new Set(names)).to.deep.equal(new Set(status === 200 ? ['New'] : ['Bolt 0', 'Bolt 1']))
      expect((await send(fileWith((index) => `s${index},New`, 3))).status).to.equal(200)
      expect(await count()).to.equal(3)
    })

  it('changes what was selected and nothing else while another request adds a record', async () => {
    const archive = (all: number) =>
      site.post('/parts/bulk/archive?state=draft', { json: { all }, accept: 'json' })
    const statuses: number[] = []
    for (let round = 0; round < 12; round += 1) {
      await insertParts(database, [{}, {}, {}])
      const added = { sku: `added-${round}`, name: 'Added' }
      const [, { status, json }] = await Promise.all([
        site.post('/parts', { json: added, accept: 'json' }),
        archive(3),
      ])
      statuses.push(status)
      const archived = (await database.manager.find(Part)).filter(({ state }) => state === 'archived')
      if (status === 200) {
        expect(archived.map(({ sku }) => sku).toSorted()).to.deep.equal(['ada-000', 'ada-001', 'ada-002'])
      } else {
        expect([status, json.detail]).to.deep.equal([409, 'You selected 3 records, and there are 4 now.'])
        expect(archived).to.deep.equal([])
      }
      await database.manager.deleteAll(Part)
    }
    await insertParts(database, [{}, {}, {}, {}])
    expect((await archive(3)).status).to.equal(409)
    expect(statuses.every((status) => [200, 409].includes(status))).to.equal(true)
  })

  itOnce(
    'needs 96 MiB at most for 10,000 lines, and an export of many rows no more than that of few',
    async () => {
      const rows = total >= 100 ? 200_000 : 30_000
      const server = await Server.start(url)
      const exportFor = async (clients: number, leaves = false) => {
        const read = async () => {
          const { body, status } = await fetch(`${server.url}/parts.csv`)
          for await (const _chunk of body as AsyncIterable<Uint8Array>) if (leaves) break
          return status
        }
        return Promise.all(Array.from({ length: clients }, read))
      }
      try {
        const few = await server.peakOf(async () => {
          for (let round = 0; round < 20; round += 1)
            await server.import(fileWith((index) => `s${index},N`, 100))
        })
        const imported = await server.peakOf(() => server.import(fileWith((index) => `s${index},N`, 10_000)))
        expect(await count()).to.equal(10_000)
        expect(imported - few, `${imported} - ${few} MiB`).to.be.below(96)
        await database.query('DELETE FROM parts WHERE rowid > (SELECT MIN(rowid) + 999 FROM parts)')
        const small = await server.peakOf(async () => {
          for (let round = 0; round < 20; round += 1) await exportFor(3)
        })
        await database.query(
          `WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s LIMIT ${rows - 1000})
         INSERT INTO parts (id, user_id, sku, name, state, is_new, note)
         SELECT printf('00000000-0000-4000-8000-%012d', n), 'ada', 'r' || n, 'Bolt', 'draft', 0, printf('%.*c', 200, 'x') FROM s`,
        )
        const large = await server.peakOf(async () => {
          const statuses = await exportFor(12, true)
          expect(statuses.every((status) => [200, 503].includes(status))).to.equal(true)
          expect(statuses).to.include(200)
          expect(await exportFor(1)).to.deep.equal([200])
        })
        expect(large - small, `${large} - ${small} MiB`).to.be.below(32)
      } finally {
        await server.stop()
      }
    },
  )
})
