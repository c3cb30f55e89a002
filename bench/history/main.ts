import 'reflect-metadata'
import { rmSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { Column, Entity } from 'typeorm'
import {
  App,
  BaseResource,
  Database,
  Model,
  Present,
  Resource,
  transaction,
  type Context,
} from '../../src/index.js'
import { History, HistoryEntry, historyTable } from '../../src/history/index.js'
import { machine } from '../shared/machine.js'
import { median } from '../shared/statistics.js'

/**
 * npm run bench:history: POST and PUT of a record with a history, beside the same application without one, and the size of an entry.
 *
 *     npm run bench:history                             on SQLite
 *     DATABASE_URL=postgres://127.0.0.1/bench npm run bench:history -- --rounds 3 --requests 500
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, requests: { type: 'string', default: '1000' } },
})
const [rounds, requests] = [Number(options.rounds), Number(options.requests)]
const file = '/tmp/kit-bench-history.sqlite'
const url = process.env['DATABASE_URL'] ?? `sqlite:${file}`

@Entity('bench_plain')
class Plain extends Model {
  @Column('varchar') @Present() title!: string
  @Column('decimal', { precision: 10, scale: 2, nullable: true }) amount!: string | null
}

@Entity('bench_recorded')
@History()
class Recorded extends Model {
  @Column('varchar') @Present() title!: string
  @Column('decimal', { precision: 10, scale: 2, nullable: true }) amount!: string | null
}

/** Opens an application with one resource, `/records`, whose database has these models. */
async function openSite(model: typeof Plain, others: Function[]) {
  @Resource('/records', { model, fields: ['title', 'amount'] })
  class RecordsResource extends BaseResource {
    override async create(ctx: Context) {
      return this.save(ctx, new model())
    }

    override async update(ctx: Context) {
      return this.save(ctx, await ctx.find(model, ctx.params.record_id))
    }

    private async save(ctx: Context, record: Model) {
      const errors = await ctx.save(ctx.bind(record))
      return errors ? ctx.respond(errors) : ctx.respond({ data: record })
    }
  }
  const database = await new Database(
    { bench: { url }, models: [model, ...others], migrations: [] },
    'bench',
  ).open()
  const runner = database.createQueryRunner()
  for (const { tablePath } of database.entityMetadatas) await runner.dropTable(tablePath, true)
  await database.synchronize()
  if (others.length > 0) {
    await runner.dropTable('history_entries')
    await runner.createTable(historyTable(runner))
  }
  await runner.release()
  const app = new App({ env: 'production', api: true, logger: pino({ enabled: false }) })
  app.use(transaction(database, { checksMigrations: false }))
  app.resource(RecordsResource)
  return { app, database, address: await app.listen(0) }
}

type Site = Awaited<ReturnType<typeof openSite>>

async function send({ address }: Site, method: string, path: string, body: object): Promise<{ id: string }> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const response = await fetch(address + path, { method, headers, body: JSON.stringify(body) })
  if (response.status !== 200)
    throw new Error(`${path} returned ${response.status}: ${await response.text()}`)
  return response.json() as Promise<{ id: string }>
}

/** Milliseconds of the clock and of CPU time that a request takes, four at a time. The client's are included. */
async function timeOf(run: (index: number) => Promise<unknown>): Promise<{ ms: number; cpu: number }> {
  const [start, used] = [performance.now(), process.cpuUsage()]
  let index = 0
  const one = async (): Promise<void> => {
    while (index < requests) await run((index += 1))
  }
  await Promise.all([one(), one(), one(), one()])
  const { user, system } = process.cpuUsage(used)
  return { ms: (performance.now() - start) / requests, cpu: (user + system) / 1000 / requests }
}

/** The bytes of the table of entries with its indexes. */
async function sizeOfEntries({ database }: Site): Promise<number> {
  const statements: Record<string, string> = {
    'better-sqlite3': "SELECT SUM(pgsize) AS size FROM dbstat WHERE name LIKE '%history_entries%'",
    postgres: "SELECT pg_total_relation_size('history_entries') AS size",
    mysql:
      "SELECT data_length + index_length AS size FROM information_schema.tables WHERE table_name = 'history_entries'",
  }
  if (database.options.type === 'mysql') await database.query('ANALYZE TABLE history_entries')
  const [{ size }] = await database.query(statements[database.options.type] ?? '')
  return Number(size)
}

rmSync(file, { force: true })
const sites = { without: await openSite(Plain, []), with: await openSite(Recorded, [HistoryEntry]) }
const times = new Map<string, { ms: number; cpu: number }[]>()
for (let round = 0; round < rounds; round += 1)
  for (const [name, site] of Object.entries(sites)) {
    const ids: string[] = []
    for (let index = 0; index < 20; index += 1)
      ids.push((await send(site, 'POST', '/records', { title: 'One', amount: '1.50' })).id)
    const post = await timeOf((index) =>
      send(site, 'POST', '/records', { title: `New ${index}`, amount: '2.50' }),
    )
    const put = await timeOf((index) =>
      send(site, 'PUT', `/records/${ids[index % 20]}`, { title: `Round ${round}, ${index}` }),
    )
    for (const [kind, time] of Object.entries({ POST: post, PUT: put }))
      times.set(`${kind} ${name}`, [...(times.get(`${kind} ${name}`) ?? []), time])
  }
console.log(`${JSON.stringify(machine())}, ${requests} requests, ${rounds} rounds, medians`)
for (const kind of ['POST', 'PUT'])
  for (const unit of ['ms', 'cpu'] as const) {
    const [plain = 0, recorded = 0] = ['without', 'with'].map((name) =>
      median((times.get(`${kind} ${name}`) ?? []).map((time) => time[unit])),
    )
    const what = unit === 'cpu' ? 'ms CPU' : 'ms'
    console.log(
      `${kind}: ${plain.toFixed(2)} ${what} without, ${recorded.toFixed(2)} with a history: ${(plain / recorded).toFixed(2)} x the speed`,
    )
  }
const count = await sites.with.database.manager.count(HistoryEntry)
console.log(
  `an entry has ${Math.round((await sizeOfEntries(sites.with)) / count)} bytes, with its indexes (${count} entries)`,
)
for (const { app } of Object.values(sites)) await app.close()
