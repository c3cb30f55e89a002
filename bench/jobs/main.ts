// Finished jobs per second, one process with 10 at a time, beside pg-boss and graphile-worker; the cost of enqueueing; and the time
// from a commit to the start of a job. BENCH_JOBS is the number of jobs (20,000), BENCH_ROUNDS that of rounds (5).
import 'reflect-metadata'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createDatabase, dropDatabase } from '../../src/database/engines/create-drop.js'
import { App, transaction } from '../../src/index.js'
import { Job, jobQueue, type JobContext } from '../../src/jobs/index.js'
import { createTables, digestsDatabase, Effect } from '../../spec/support/applications/digests.js'
import { captureLog } from '../../src/testing/index.js'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const count = Number(process.env['BENCH_JOBS'] ?? 20_000)
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5)
const urls = {
  postgres: process.env['KIT_POSTGRES_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres',
  sqlite: `sqlite:${join(tmpdir(), 'bench-jobs.sqlite')}`,
  mariadb: process.env['KIT_MARIADB_URL'] ?? 'mysql://root@127.0.0.1:3306/',
}
type Engine = keyof typeof urls

@Job()
class Insert {
  async perform({ number }: { number: number }, job: JobContext) {
    await job.save(Object.assign(new Effect(), { text: `effect ${number}` }))
  }
}

@Job()
class Nothing {
  perform() {}
}

const [kind, ...args] = process.argv.slice(2)
if (kind === 'own') console.log(JSON.stringify(await measure(String(args[0]))))
else await main()

async function main(): Promise<void> {
  const folder = join(root, 'bench/jobs')
  if (!existsSync(join(folder, 'node_modules')))
    execFileSync('npm', ['ci', '--silent', '--prefix', folder], { stdio: 'inherit' })
  const results = new Map<string, number[]>()
  const add = (name: string, value: number): void =>
    void results.set(name, [...(results.get(name) ?? []), value])
  for (let round = 0; round < rounds; round += 1) {
    for (const engine of Object.keys(urls) as Engine[])
      await withDatabase(engine, (url) => {
        const measured: Record<string, number> = JSON.parse(
          child([fileURLToPath(import.meta.url), 'own', url]),
        )
        for (const [name, value] of Object.entries(measured)) add(`${engine}: ${name}`, value)
      })
    for (const peer of [['graphile'], ['pg-boss', '1'], ['pg-boss', '10'], ['pg-boss', '100']])
      await withDatabase('postgres', (url) => {
        const [name = '', batch = ''] = peer
        add(
          `${peer.join(' ')}: jobs/s`,
          Number(child([join(folder, 'peers.js'), name, url, String(count), batch])),
        )
      })
  }
  for (const [name, values] of results) console.log(name.padEnd(40), median(values))
}

function child(words: string[]): string {
  return execFileSync(process.execPath, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

async function withDatabase(engine: Engine, work: (url: string) => void): Promise<void> {
  const url = new URL(urls[engine])
  if (engine !== 'sqlite') url.pathname = '/bench_jobs'
  const target = engine === 'sqlite' ? urls.sqlite : url.href
  const database = digestsDatabase(target)
  await dropDatabase(database)
  await createDatabase(database)
  try {
    work(target)
  } finally {
    await dropDatabase(database)
  }
}

async function measure(url: string): Promise<Record<string, number>> {
  await createTables(url)
  const database = digestsDatabase(url)
  const queue = jobQueue(database, { jobs: [Insert, Nothing] })
  const log = captureLog()
  const app = new App({ api: true, env: 'production', logger: log.logger.child({}, { level: 'info' }) })
  app.use(transaction(database))
  app.extend(queue)
  app.post('/plain', async (ctx) => {
    await ctx.save(Object.assign(new Effect(), { text: 'plain' }))
    ctx.status = 201
  })
  app.post('/enqueue', async (ctx) => {
    await ctx.save(Object.assign(new Effect(), { text: 'enqueue' }))
    await ctx.enqueue(Insert, { number: 0 }, { delay: '1 day' })
    ctx.status = 201
  })
  app.post('/wake', async (ctx) => {
    await ctx.enqueue(Nothing, {})
    ctx.status = 201
  })
  process.env['JOBS'] = '0'
  const address = await app.listen(0, '127.0.0.1')
  await requests(`${address}/plain`)
  const plain = await requests(`${address}/plain`)
  const enqueue = await requests(`${address}/enqueue`)
  await database.query('DELETE FROM jobs')
  await database.transaction(async (tx) => {
    for (let number = 0; number < count; number += 1) await queue.enqueue(tx, Insert, { number })
  })
  const start = performance.now()
  const worker = await queue.internal.work({ slots: 10, untilEmpty: true })
  await worker.ended
  const seconds = (performance.now() - start) / 1000
  await queue.internal.work({ slots: 5 })
  log.lines.length = 0
  for (let index = 0; index < 50; index += 1) {
    await fetch(`${address}/wake`, { method: 'POST' })
    while (log.lines.length <= index) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const late = log.lines.flatMap((line) => (line['late'] === undefined ? [] : Number(line['late'])))
  await app.close()
  return {
    'jobs/s': Math.round(count / seconds),
    'POST with enqueue / without': Math.round((plain / enqueue) * 100) / 100,
    'ms from the commit to the start': median(late),
  }
}

/** Milliseconds for 1,000 requests, 10 at a time. */
async function requests(url: string): Promise<number> {
  const send = async (): Promise<void> => {
    for (let index = 0; index < 100; index += 1) await (await fetch(url, { method: 'POST' })).arrayBuffer()
  }
  await send()
  const start = performance.now()
  await Promise.all(Array.from({ length: 10 }, send))
  return performance.now() - start
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
