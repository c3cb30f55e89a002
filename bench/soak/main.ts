/**
 * Wears on two workers for some minutes with reads, writes, failing writes and sessions, and looks whether anything
 * grows: memory after garbage collection, open files, connections, transactions that nobody has ended.
 *
 *     KIT_ENGINE=postgres npm run soak -- --minutes 3 --rate 100
 *
 * The engine is SQLite unless KIT_ENGINE says otherwise. The status is 1 when something grows. For Linux.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Database } from '../../src/index.js'
import { Client } from '../../spec/support/clients.js'
import { sharedDatabase } from '../../spec/support/databases.js'
import { engine } from '../../spec/support/engine.js'
import { countConnections } from '../../spec/support/open-transactions.js'
import { mochaGlobalSetup, mochaGlobalTeardown } from '../../spec/support/setup.js'
import { config } from '../../spec/support/applications/orders.js'
import { Served } from '../../spec/support/processes/served.js'
import { grown, megabytes, type Growth } from './grown.js'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    rate: { type: 'string', default: '100' },
  },
})
const minutes = Number(values.minutes)
const rate = Number(values.rate)
const workers = 2
const pauses = 24

/** What is measured at one time. Memory is in MB. */
interface Sample {
  second: number
  heap: number
  rss: number
  primaryRss: number
  files: number
  primaryFiles: number
  connections: number
  transactions: number
  /** The write-ahead log of SQLite, which cannot be begun anew while a reader holds it. */
  log: number
}

const mayGrow: Growth<Sample> = {
  heap: [0.1, 3],
  rss: [0.15, 15],
  primaryRss: [0.15, 10],
  files: [0, 4],
  primaryFiles: [0, 2],
  connections: [0, 2],
  log: [0.2, 4],
}

// The database is one of a run of specs.
await mochaGlobalSetup()
const url = await sharedDatabase()
const database = await new Database(config(url), 'test').open()
await database.migrate()
const served = await Served.start(
  new URL('server.js', import.meta.url).href,
  ['start', '--workers', String(workers)],
  { DATABASE_URL: url, NODE_OPTIONS: '--expose-gc' },
)
await served.workers(workers)

const clients = [new Client(served.url, 20), new Client(served.url, 5, false)]
const created: string[] = []
const outcomes = new Map<string, number>()
const samples: Sample[] = []
const began = performance.now()
for (let pause = 0; pause < pauses; pause++) {
  await wear((minutes * 60_000) / pauses)
  samples.push(await sample())
}
served.kill('SIGTERM')
const { status } = await served.ended
await served.remove()
await database.close()
await mochaGlobalTeardown()

const faults = findGrowth()
console.log(`${engine}: ${minutes} minutes at ${rate} requests a second, ${workers} workers`)
console.table(samples.filter((_, number) => number % 3 === 2))
console.log(`Answers: ${[...outcomes].map(([outcome, count]) => `${count} x ${outcome}`).join(', ')}`)
console.log(
  faults.length === 0 && status === 0 ? 'Nothing has grown.' : faults.join('\n') || `Ended with ${status}.`,
)
process.exitCode = faults.length === 0 && status === 0 ? 0 : 1

/** Asks at the rate, without waiting for answers, and then waits for the last ones. */
async function wear(milliseconds: number): Promise<void> {
  const asked: Promise<void>[] = []
  const end = performance.now() + milliseconds
  for (let next = performance.now(); next < end; next += 1000 / rate) {
    await delay(Math.max(0, next - performance.now()))
    asked.push(ask(Math.random()))
  }
  await Promise.all(asked)
}

async function ask(kind: number): Promise<void> {
  const client = clients[kind * 1000 < 900 ? 0 : 1] as Client
  const outcome = await request(client, (kind * 10) % 1)
  if (outcome.status === 201) created.push((JSON.parse(outcome.body ?? '') as { id: string }).id)
  const name = String(outcome.status ?? outcome.error)
  outcomes.set(name, (outcomes.get(name) ?? 0) + 1)
}

function request(client: Client, kind: number) {
  const id = created[Math.floor(Math.random() * created.length)]
  if (kind < 0.3) return client.get('/orders?per_page=10')
  if (kind < 0.45 && id) return client.get(`/orders/${id}`)
  if (kind < 0.7) return client.post('/orders', { title: 'kept' })
  if (kind < 0.8) return client.post('/orders', { title: 'fails' })
  if (kind < 0.85) return client.post('/orders', { title: '' })
  if (kind < 0.88) return client.get('/nowhere')
  if (kind < 0.92) return client.put('/basket', { items: kind })
  return client.delete(`/orders/${created.shift() ?? 'none'}`)
}

async function sample(): Promise<Sample> {
  await delay(300)
  const vitals = new Map<number, { rss: number; heap: number; files: number }>()
  const client = new Client(served.url, 1, false)
  while (vitals.size < workers) {
    const { pid, ...rest } = JSON.parse((await client.get('/vitals')).body ?? '')
    vitals.set(pid, rest)
  }
  const sum = (name: 'rss' | 'heap' | 'files') =>
    [...vitals.values()].reduce((all, one) => all + one[name], 0)
  const primary = `/proc/${served.pid}`
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`${primary}/status`, 'utf8'))?.[1])
  const { connections, transactions, log } = await countConnections(database, url)
  return {
    second: Math.round((performance.now() - began) / 1000),
    heap: megabytes(sum('heap')),
    rss: megabytes(sum('rss')),
    primaryRss: megabytes(rss * 1024),
    files: sum('files'),
    primaryFiles: readdirSync(`${primary}/fd`).length,
    connections,
    transactions,
    log: megabytes(log),
  }
}

function findGrowth(): string[] {
  const left = samples.filter(({ transactions }) => transactions > 0)
  const growth = grown(samples, mayGrow)
  return left.length > 0 ? [...growth, `Transactions were left open ${left.length} times.`] : growth
}
