/**
 * Enqueues and runs a million jobs, and looks whether anything grows: memory after garbage collection, open files, the table.
 *
 *     KIT_ENGINE=postgres node --expose-gc dist/bench/soak/jobs.js --jobs 1000000
 *
 * Each job has an effect, and all effects are counted. The engine is SQLite unless KIT_ENGINE says otherwise. The status is 1
 * when something grows, or an effect is missing or there twice. For Linux.
 */
import 'reflect-metadata'
import { readdirSync } from 'node:fs'
import { memoryUsage } from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { App, transaction } from '../../src/index.js'
import { Job, jobQueue, type JobContext } from '../../src/jobs/index.js'
import { digestsDatabase, digestsUrl, Effect } from '../../spec/support/applications/digests.js'
import { engine } from '../../spec/support/engine.js'
import { mochaGlobalSetup, mochaGlobalTeardown } from '../../spec/support/setup.js'
import { grown, megabytes, type Growth } from './grown.js'

const { values } = parseArgs({ options: { jobs: { type: 'string', default: '1000000' } } })
const parts = 20
const count = Math.ceil(Number(values.jobs) / parts)
/** The number of jobs that a request enqueues. */
const batch = 500

/** What is measured after a part of the jobs. */
interface Sample {
  second: number
  effects: number
  different: number
  /** MB. */
  heap: number
  files: number
  /** The jobs with their indexes, in MB. On SQLite, the whole database. */
  table: number
}

const mayGrow: Growth<Sample> = { heap: [0.1, 3], files: [0, 4], table: [0.2, 2] }

@Job()
class Insert {
  async perform({ text }: { text: string }, job: JobContext) {
    await job.save(Object.assign(new Effect(), { text }))
  }
}

/** The size of the table of jobs in bytes, or that of the whole database on SQLite. */
const tableSize = {
  sqlite: 'SELECT page_count * page_size AS size FROM pragma_page_count, pragma_page_size',
  postgres: `SELECT pg_total_relation_size('jobs') AS size`,
  mariadb: `SELECT data_length + index_length AS size FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name = 'jobs'`,
}[engine]

await mochaGlobalSetup()
const database = digestsDatabase(await digestsUrl())
process.env['JOBS'] = '10'
const app = new App({ api: true, env: 'production', logger: pino({ level: 'warn' }) })
app.use(transaction(database))
app.extend(jobQueue(database, { jobs: [Insert] }))
app.post('/jobs/:from/:to', async (ctx) => {
  const [from, to] = [Number(ctx.params['from']), Number(ctx.params['to'])]
  const list = Array.from({ length: to - from }, (_, index) => ({ text: `effect ${from + index}` }))
  await ctx.enqueueAll(Insert, list)
  ctx.status = 201
})
const address = await app.listen(0, '127.0.0.1')
const samples: Sample[] = []
const began = performance.now()
for (let part = 0; part < parts; part += 1) {
  for (let from = 0; from < count; from += batch) {
    await untilFewerThan(2 * batch)
    const response = await fetch(`${address}/jobs/${from}/${Math.min(from + batch, count)}`, {
      method: 'POST',
    })
    if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`)
  }
  await untilFewerThan(1)
  samples.push(await sample())
}
await app.close()
await database.close()
await mochaGlobalTeardown()

const faults = grown(samples, mayGrow)
for (const { effects, different, second } of samples)
  if (effects !== count || different !== count)
    faults.push(
      `${count} jobs had ${effects} effects, of which ${different} were different, after ${second} s.`,
    )
console.log(`${engine}: ${count * parts} jobs`)
console.table(samples.filter((_, number) => number % 2 === 1))
console.log(faults.length === 0 ? 'Nothing has grown, and each effect was there once.' : faults.join('\n'))
// The support of the specs leaves connections open.
process.exit(faults.length === 0 ? 0 : 1)

/** Waits until the table has fewer jobs. */
async function untilFewerThan(jobs: number): Promise<void> {
  while (Number((await first('SELECT COUNT(*) AS count FROM jobs'))['count']) >= jobs) await delay(20)
}

/** Counts the effects of a part, deletes them, and measures the rest. */
async function sample(): Promise<Sample> {
  const counts = await first('SELECT COUNT(*) AS effects, COUNT(DISTINCT text) AS different FROM effects')
  await database.query('DELETE FROM effects')
  for (let round = 0; round < 3; round += 1) globalThis.gc?.()
  const { heapUsed, external } = memoryUsage()
  return {
    second: Math.round((performance.now() - began) / 1000),
    effects: Number(counts['effects']),
    different: Number(counts['different']),
    heap: megabytes(heapUsed + external),
    files: readdirSync('/proc/self/fd').length,
    table: megabytes(Number((await first(tableSize))['size'])),
  }
}

async function first(sql: string): Promise<Record<string, unknown>> {
  const [row] = await database.query<Record<string, unknown>[]>(sql)
  return row ?? {}
}
