import 'reflect-metadata'
import { rmSync } from 'node:fs'
import { Readable, Transform } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { validate } from 'class-validator'
import { parse } from 'csv-parse'
import { pino } from 'pino'
import { Column, Entity, Table } from 'typeorm'
import {
  App,
  BaseResource,
  column,
  Database,
  Model,
  Present,
  primaryKey,
  Resource,
  Route,
  timestamps,
  transaction,
  type Context,
} from '../../src/index.js'
import { machine } from '../shared/machine.js'
import { median } from '../shared/statistics.js'

/**
 * npm run bench:many: exports, imports and bulk actions, beside the same work by hand.
 *
 *     npm run bench:many                                              on SQLite
 *     DATABASE_URL=postgres://127.0.0.1/bench npm run bench:many -- --rounds 1 --lines 1000
 *     npm run bench:many -- --rounds 0 --sizes 1000,10000,100000      imports alone, and how long other requests wait
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    lines: { type: 'string', default: '10000' },
    sizes: { type: 'string' },
  },
})
const rounds = Number(options.rounds)
const lines = Number(options.lines)
const file = '/tmp/kit-bench-many.sqlite'

@Entity('parts')
class Part extends Model {
  @Column('varchar', { unique: true, length: 100 }) @Present() sku!: string
  @Column('varchar') @Present() name!: string
  @Column('decimal', { precision: 10, scale: 2, nullable: true }) price?: string | null
  @Column('varchar', { nullable: true }) note?: string | null
}

@Resource('/parts', {
  model: Part,
  fields: ['sku', 'name', 'price', 'note'],
  csv: ['id', 'sku', 'name', 'price', 'note', 'created_at'],
  import: { key: 'sku', maxLines: 1_000_000 },
  bulk: ['update'],
})
class PartsResource extends BaseResource {
  override async list(ctx: Context) {
    return ctx.respond({ data: (await ctx.paginate(Part)).records })
  }

  override async create(ctx: Context) {
    const part = ctx.bind(new Part())
    const errors = await ctx.save(part)
    return errors ? ctx.respond(errors) : ctx.respond(201, { data: part })
  }

  override async update(ctx: Context) {
    const part = ctx.bind(await ctx.find(Part, ctx.params.part_id))
    const errors = await ctx.save(part)
    return errors ? ctx.respond(errors) : ctx.respond({ data: part })
  }

  /** The export by hand of docs/responses.md. */
  @Route('GET', '/by-hand')
  async exportByHand(ctx: Context) {
    const names = ['id', 'sku', 'name', 'price', 'note', 'created_at'].map(
      (name) => `part.${name} AS "${name}"`,
    )
    const rows = await ctx.tx.createQueryBuilder(Part, 'part').select(names).orderBy('part.id').stream()
    ctx.type = 'text/csv'
    ctx.body = rows.pipe(new Transform({ writableObjectMode: true, transform: toLine }))
  }

  /** An import by hand: csv-parse, class-validator and inserts of 500 rows, or `tx.save` for each line. */
  @Route('POST', '/by-hand/{way}')
  async importByHand(ctx: Context) {
    const records = Readable.from([String(Object(ctx.request.body).file)]).pipe(parse({ columns: true }))
    let batch: Part[] = []
    for await (const record of records) {
      const part = Object.assign(new Part(), record)
      if ((await validate(part)).length > 0) ctx.throw(422)
      if (ctx.params.way === 'save') await ctx.tx.save(part)
      else batch.push(part)
      if (batch.length === 500) await ctx.tx.insert(Part, batch.splice(0))
    }
    if (batch.length > 0) await ctx.tx.insert(Part, batch)
    ctx.body = { created: lines }
  }

  @Route('POST', '/bulk-by-hand')
  async bulkByHand(ctx: Context) {
    const { ids, note }: { ids: string[]; note: string } = Object(ctx.request.body)
    for (const id of ids) await ctx.save(Object.assign(await ctx.find(Part, id), { note }))
    ctx.body = { count: ids.length }
  }
}

function toLine(
  row: Record<string, unknown>,
  _encoding: string,
  done: (error: null, line: string) => void,
): void {
  done(
    null,
    `${Object.values(row)
      .map((value) => `"${String(value ?? '').replaceAll('"', '""')}"`)
      .join(',')}\n`,
  )
}

rmSync(file, { force: true })
const url = process.env['DATABASE_URL'] ?? `sqlite:${file}`
const database = await new Database({ bench: { url }, models: [Part], migrations: [] }, 'bench').open()
const runner = database.createQueryRunner()
await runner.dropTable('parts', true)
const text = (name: string, isNullable = false) => column(runner, name, 'string', { isNullable })
await runner.createTable(
  new Table({
    name: 'parts',
    columns: [
      primaryKey(runner),
      column(runner, 'sku', 'string', { isUnique: true, length: '100' }),
      text('name'),
      column(runner, 'price', 'decimal', { isNullable: true }),
      text('note', true),
      ...timestamps(runner),
    ],
  }),
)
await runner.release()

const app = new App({
  env: 'production',
  api: true,
  logger: pino({ enabled: false }),
  bodyLimit: 2 ** 30,
  filesLimit: 2 ** 30,
})
app.use(transaction(database, { checksMigrations: false }))
app.resource(PartsResource)
const address = await app.listen(0)
const csvOf = (length: number) =>
  `sku,name,price,note\n${Array.from({ length }, (_, n) => `s${n},Bolt ${n},${n}.50,a note`).join('\n')}\n`
const csv = csvOf(lines)
const [asCsv, asJson] = [{ 'Content-Type': 'text/csv' }, { 'Content-Type': 'application/json' }]

async function send(path: string, body?: string, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(
    address + path,
    body === undefined ? { headers } : { method: 'POST', body, headers },
  )
  const result = await response.text()
  if (response.status >= 300) throw new Error(`${path} returned ${response.status}: ${result.slice(0, 300)}`)
  return result
}

/** The milliseconds of CPU time and of the clock that work takes, in each round after `before`. */
const times = new Map<string, { cpu: number[]; ms: number[] }>()
async function measure(name: string, work: () => Promise<unknown>): Promise<void> {
  const [cpu, from] = [process.cpuUsage(), performance.now()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  const all = times.get(name) ?? { cpu: [], ms: [] }
  times.set(name, { cpu: [...all.cpu, (user + system) / 1000], ms: [...all.ms, performance.now() - from] })
}

const byHand = JSON.stringify({ file: csv })
const clear = () => database.manager.deleteAll(Part)
for (let round = 0; round < rounds; round += 1) {
  await clear()
  await measure('import, tx.save by hand', () => send('/parts/by-hand/save', byHand, asJson))
  await clear()
  await measure('import, tx.insert by hand', () => send('/parts/by-hand/insert', byHand, asJson))
  await clear()
  await measure('import', () => send('/parts/import', csv, asCsv))
  await measure('import, all lines unchanged', () => send('/parts/import', csv, asCsv))
  await measure('export by hand', () => send('/parts/by-hand'))
  await measure('export', () => send('/parts', undefined, { accept: 'text/csv' }))
  const ids = (await database.manager.find(Part, { select: { id: true }, take: 1000 })).map(({ id }) => id)
  await measure('bulk by hand', () =>
    send('/parts/bulk-by-hand', JSON.stringify({ ids, note: `h${round}` }), asJson),
  )
  await measure('bulk', () => send('/parts/bulk/update', JSON.stringify({ ids, note: `b${round}` }), asJson))
}
console.log(`${JSON.stringify(machine())}, ${lines} lines, ${rounds} rounds, medians`)
for (const [name, { cpu, ms }] of times)
  console.log(
    `${name.padEnd(28)} ${median(cpu).toFixed(0).padStart(8)} ms CPU ${median(ms).toFixed(0).padStart(8)} ms`,
  )
for (const size of options.sizes?.split(',') ?? []) await measureBeside(Number(size))

/** Imports lines into an empty table while others read and create a part. */
async function measureBeside(size: number): Promise<void> {
  await clear()
  const [reads, from, cpu] = [[] as number[], performance.now(), process.cpuUsage()]
  let seconds: number | undefined
  const importing = send('/parts/import', csvOf(size), asCsv).then(
    () => (seconds = (performance.now() - from) / 1000),
  )
  let waited = 0
  const post = async (): Promise<void> => {
    for (let number = 0; seconds === undefined; number += 1) {
      const start = performance.now()
      const body = JSON.stringify({ sku: `beside ${number}`, name: 'Beside' })
      await send('/parts', body, asJson).catch(() => undefined)
      waited = Math.max(waited, (performance.now() - start) / 1000)
      await delay(100)
    }
  }
  const posting = post()
  while (seconds === undefined) {
    const start = performance.now()
    await send('/parts?per_page=1')
    reads.push(performance.now() - start)
  }
  await Promise.all([importing, posting])
  const { user, system } = process.cpuUsage(cpu)
  const p99 = reads.toSorted((a, b) => a - b)[Math.floor(reads.length * 0.99)] ?? 0
  console.log(
    `import of ${size} lines: ${seconds.toFixed(1)} s, ${((user + system) / 1e6).toFixed(1)} s CPU with ${reads.length} reads ` +
      `beside it (p99 ${p99.toFixed(0)} ms); a POST waits ${waited.toFixed(1)} s at most`,
  )
}
await app.close()
