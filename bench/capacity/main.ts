import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { table } from '../../src/cli/support/table.js'
import { PostgresNode } from '../../spec/cluster/support/postgres.js'
import { generateBlog } from '../applications/generated.js'
import { visit } from '../shared/check.js'
import { LoadProcess } from '../shared/load-process.js'
import { machine } from '../shared/machine.js'
import { kinds, ServerProcess, type KindName } from '../shared/server-process.js'
import type { Side } from '../shared/sides.js'
import { median } from '../shared/statistics.js'
import { workloads, type Workload } from '../shared/workloads.js'

/**
 * npm run bench:capacity: how much a request costs the application and PostgreSQL on this machine, without and with a replica, for
 * the table of docs/scaling.md. It starts its own servers.
 *
 *     npm run bench:capacity                  in about ten minutes
 *     npm run bench:capacity -- --rounds 3    in about four
 */
const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })
const rounds = Number(options.rounds)
const amount = 1500
const connections = 16

/** The cost of a request. */
interface Cost {
  /** Milliseconds of the CPU of the application. */
  application: number
  /** Milliseconds of the CPU of each server. */
  primary: number
  replica: number
  /** The statements at both servers. */
  statements: number
}

const names = ['show', 'list', 'html index', 'create', 'update', 'delete']
const chosen = names.flatMap((name) => workloads.find((workload) => workload.name === name) ?? [])

generateBlog(join(import.meta.dirname, '../../..'))
const settings = ['shared_preload_libraries = pg_stat_statements', 'synchronous_commit = on']
const primary = await PostgresNode.primary(settings)
const replica = await primary.replica('pg2')
await primary.query('CREATE EXTENSION pg_stat_statements')
await replica.caughtUpWith(primary)
process.env['KIT_POSTGRES_URL'] = primary.url()
// It reads the variable when it is loaded.
const { PostsDatabase } = await import('../shared/posts-database.js')
const load = new LoadProcess()
const sides: Side[] = []

try {
  const [alone, replicated] = [await start(4500, false), await start(4510, true)]
  const costs = new Map(chosen.map(({ name }) => [name, { alone: [] as Cost[], replicated: [] as Cost[] }]))
  for (let round = -1; round < rounds; round += 1) {
    for (const workload of chosen) {
      const noted = costs.get(workload.name)
      // The first round warms up.
      const [one, other] = [await cost(workload, alone), await cost(workload, replicated)]
      if (round >= 0) noted?.alone.push(one)
      if (round >= 0) noted?.replicated.push(other)
    }
    process.stdout.write(`round ${round + 1} of ${rounds}\r`)
  }
  print(costs)
  const [{ memory }] = [await alone.api.server.usage()]
  console.log(
    `\nA process takes ${mebibytes(memory)} MiB, and a connection ${await connectionMemory()} MiB of the server.`,
  )
} finally {
  load.stop()
  for (const { server } of sides) await server.stop()
  await replica.remove()
  await primary.remove()
}
// The connections of the databases with posts.
process.exit()

type Applications = Record<'api' | 'web', Side>

async function start(port: number, hasReplica: boolean): Promise<Applications> {
  const side = async (name: 'api' | 'web', index: number): Promise<Side> => {
    const posts = await PostsDatabase.create(`kit_capacity_${port + index}`, 1000)
    await replica.caughtUpWith(primary)
    const url = replica.url(new URL(posts.url).pathname.slice(1))
    const env = { DATABASE_REPLICA_URLS: hasReplica ? url : '' }
    const server = await ServerProcess.start(kinds[name satisfies KindName], posts.url, port + index, env)
    const started: Side = { server, posts, visitor: await visit(server) }
    sides.push(started)
    return started
  }
  return { api: await side('api', 0), web: await side('web', 1) }
}

async function cost(workload: Workload, { api, web }: Applications): Promise<Cost> {
  const { server, posts, visitor } = workload.servers.ours === 'web' ? web : api
  const requests = await workload.calls(posts, amount + 2 * connections, visitor)
  await replica.caughtUpWith(primary)
  const used = async () => [
    (await server.usage()).cpu / 1000,
    cpuOf(primary),
    cpuOf(replica),
    await statements(),
  ]
  const before = await used()
  const origin = `http://127.0.0.1:${server.port}`
  await load.run({ origin, connections, amount, requests, status: workload.status })
  const after = await used()
  await posts.reset()
  const [application = 0, atPrimary = 0, atReplica = 0, sent = 0] = after.map(
    (value, index) => (value - (before[index] ?? 0)) / amount,
  )
  return { application, primary: atPrimary, replica: atReplica, statements: sent }
}

async function statements(): Promise<number> {
  const sql = 'SELECT coalesce(sum(calls), 0)::int AS calls FROM pg_stat_statements'
  const rows = [
    ...(await primary.query<{ calls: number }>(sql)),
    ...(await replica.query<{ calls: number }>(sql)),
  ]
  return rows.reduce((sum, { calls }) => sum + calls, 0)
}

function print(costs: Map<string, { alone: Cost[]; replicated: Cost[] }>): void {
  const rows = [...costs].map(([name, { alone, replicated }]) => {
    const of = (list: readonly Cost[], key: keyof Cost): number => median(list.map((one) => one[key]))
    const ratio = median(replicated.map((one, round) => one.application / (alone[round]?.application ?? 1)))
    return [
      name,
      String(Math.round(of(alone, 'statements'))),
      of(alone, 'application').toFixed(2),
      of(alone, 'primary').toFixed(2),
      of(replicated, 'primary').toFixed(2),
      of(replicated, 'replica').toFixed(2),
      ratio.toFixed(3),
    ]
  })
  const head = [
    'REQUEST',
    'STATEMENTS',
    'APPLICATION, MS',
    'SERVER, MS',
    'PRIMARY, MS',
    'REPLICA, MS',
    'APPLICATION, RATIO',
  ]
  console.log(`${JSON.stringify(machine())}, ${rounds} rounds. The last three columns are with a replica.\n`)
  console.log(table(head, rows))
}

/** Milliseconds of CPU that a server has used, with its processes, and those that have ended. */
function cpuOf(node: PostgresNode): number {
  const [postmaster = ''] = readFileSync(join(node.data, 'postmaster.pid'), 'utf8').split('\n')
  const ticks = (pid: string): number => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')
      const own = pid === postmaster ? [11, 12, 13, 14] : [11, 12]
      return own.reduce((sum, field) => sum + Number(fields[field]), 0)
    } catch {
      return 0
    }
  }
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
  return [postmaster, ...children].reduce((sum, pid) => sum + ticks(pid), 0) * 10
}

/** The memory that the processes of connections do not share. */
async function connectionMemory(): Promise<number> {
  const rows = await primary.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'",
  )
  const sizes = rows.map(({ pid }) => {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      return Number(/Private_Dirty:\s+(\d+)/.exec(text)?.[1]) * 1024
    } catch {
      return 0
    }
  })
  return mebibytes(median(sizes))
}

function mebibytes(bytes: number): number {
  return Math.round((bytes / 1024 / 1024) * 10) / 10
}
