import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { visit } from '../shared/check.js'
import { LoadProcess } from '../shared/load-process.js'
import type { Call } from '../shared/load.js'
import { machine } from '../shared/machine.js'
import { matchCosts } from '../shared/match.js'
import { measure } from '../shared/measure.js'
import { plotGrowth } from '../shared/plot.js'
import { PostsFile } from '../shared/posts-file.js'
import { kinds, ServerProcess } from '../shared/server-process.js'
import { median } from '../shared/statistics.js'
import { cursorCall, workloads, type Workload } from '../shared/workloads.js'

/**
 * npm run bench:growth: how the costs of a request grow with routes, rows, the size of a record, connections and resources.
 *
 *     npm run bench:growth                       all of it, in about five minutes
 *     npm run bench:growth -- --quick            up to 100,000 rows, and few rounds
 *     npm run bench:growth -- --plot             draws docs/performance-*.svg anew
 */
const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, plot: { type: 'boolean', default: false } },
})
const rounds = options.quick ? 3 : 7
const root = join(import.meta.dirname, '../../..')
const port = 4470

/** One size of what grows, and what each thing costs there. */
export type Point = { size: number } & Record<string, number>

/** What was found of each thing that grows. */
export interface Growth {
  routes: Point[]
  rows: Point[]
  record: Point[]
  connections: Point[]
  resources: Point[]
}

const growth: Growth = {
  routes: matchCosts().map((cost) => ({ size: cost.routes, 'ns a match': cost['ns a match'] })),
  rows: await eachOf(options.quick ? [1000, 100_000] : [1000, 10_000, 100_000, 1_000_000], rowsPoint),
  record: await eachOf([100, 1000, 10_000, 100_000], recordPoint),
  connections: await connectionPoints(),
  resources: await eachOf([1, 10, 100, 500], resourcesPoint),
}
for (const [name, points] of Object.entries(growth)) {
  console.log(`\n${name}`)
  console.table(points)
}
await mkdir(join(root, 'bench/results'), { recursive: true })
await writeFile(
  join(root, 'bench/results/growth.json'),
  `${JSON.stringify({ machine: machine(), rounds, growth }, null, 2)}\n`,
)
if (options.plot) {
  for (const [name, svg] of Object.entries(plotGrowth(growth)))
    await writeFile(join(root, `docs/performance-${name}.svg`), svg)
}

async function eachOf(sizes: number[], point: (size: number) => Promise<Point>): Promise<Point[]> {
  const points: Point[] = []
  for (const size of sizes) points.push(await point(size))
  return points
}

/** Microseconds of CPU, with so many rows in the table. */
function rowsPoint(rows: number): Promise<Point> {
  const last = Math.min(1000, rows / 20)
  const deep = Math.min(10_000, rows / 20) - 1
  return pointOf(rows, rows, 200, {
    show: named('show'),
    'first page': named('list'),
    'page 1,000': { ...named('list'), calls: () => [page(last)] },
    'page 1 by cursor': {
      ...named('cursor page'),
      calls: () => [{ ...page(1), path: '/feed?sort=created_at' }],
    },
    'page 10,000 by cursor': {
      ...named('cursor page'),
      calls: ({ ids }) => [cursorCall(ids, deep * 20 - 1)],
    },
    create: named('create'),
  })
}

/** Microseconds of CPU, with descriptions of so many characters. */
function recordPoint(length: number): Promise<Point> {
  const body = JSON.stringify({ title: 'A title', description: 'd'.repeat(length) })
  const create = named('create')
  return pointOf(length, 1000, length, {
    show: named('show'),
    list: named('list'),
    create: {
      ...create,
      calls: async (...args) => (await create.calls(...args)).map((call): Call => ({ ...call, body })),
    },
  })
}

async function pointOf(
  size: number,
  rows: number,
  length: number,
  asked: Record<string, Workload>,
): Promise<Point> {
  const costs = Object.fromEntries(Object.keys(asked).map((name) => [name, [] as number[]]))
  await withServer(rows, length, async (side, load) => {
    for (let round = -1; round < rounds; round++) {
      for (const [name, workload] of Object.entries(asked)) {
        const { cpu } = await measure(workload, 32, side, load, round < 0 ? 1500 : 600)
        if (round >= 0) costs[name]?.push(cpu)
      }
    }
  })
  return { size, ...mediansOf(costs) }
}

/** A request's CPU time and latency, by connections. */
async function connectionPoints(): Promise<Point[]> {
  const points: Point[] = []
  await withServer(1000, 200, async (side, load) => {
    await measure(named('show'), 32, side, load, 5000)
    for (const connections of [1, 8, 32, 128, 500]) {
      const seen = { 'µs of CPU': [] as number[], 'requests/s': [] as number[], 'p99 in ms': [] as number[] }
      for (let round = 0; round < rounds; round++) {
        // The first request of a connection also waits until all of them are open. It must not be one in a hundred.
        const sample = await measure(
          named('show'),
          connections,
          side,
          load,
          Math.max(2000, 150 * connections),
        )
        seen['µs of CPU'].push(sample.cpu)
        seen['requests/s'].push(sample.throughput)
        seen['p99 in ms'].push(sample.p99)
      }
      points.push({ size: connections, ...mediansOf(seen) })
    }
  })
  return points
}

/** What it takes to start an application of so many resources. */
async function resourcesPoint(count: number): Promise<Point> {
  const seen = { 'ms to the first answer': [] as number[], 'MiB at rest': [] as number[] }
  await withFile(1, 200, async (file) => {
    for (let round = 0; round < rounds; round++) {
      const kind = { name: 'many', main: 'dist/bench/applications/kit/many.js' }
      const server = await ServerProcess.start(kind, file.url, port, { RESOURCES: String(count) })
      await delay(200)
      seen['ms to the first answer'].push(server.startTime)
      seen['MiB at rest'].push((await server.usage()).memory / 2 ** 20)
      await server.stop()
    }
  })
  return { size: count, ...mediansOf(seen) }
}

type Side = Parameters<typeof measure>[2]

async function withServer(
  rows: number,
  length: number,
  work: (side: Side, load: LoadProcess) => Promise<void>,
): Promise<void> {
  await withFile(rows, length, async (file) => {
    const server = await ServerProcess.start(kinds.api, file.url, port)
    const load = new LoadProcess()
    try {
      await work({ server, posts: file, visitor: await visit(server) }, load)
    } finally {
      load.stop()
      await server.stop()
    }
  })
}

async function withFile(
  rows: number,
  length: number,
  work: (file: PostsFile) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-bench-growth-'))
  const file = await PostsFile.create(join(folder, 'posts.sqlite'), rows, length)
  try {
    await work(file)
  } finally {
    file.remove()
    await rm(folder, { recursive: true })
  }
}

function mediansOf(seen: Record<string, number[]>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(seen).map(([name, values]) => [name, Number(median(values).toPrecision(4))]),
  )
}

function named(name: string): Workload {
  const workload = workloads.find((it) => it.name === name)
  if (!workload) throw new Error(`there is no workload ${name}`)
  return workload
}

function page(number: number): Call {
  const headers = { Accept: 'application/json', 'X-Forwarded-Proto': 'https' }
  return { method: 'GET', path: `/posts?page=${number}`, headers }
}
