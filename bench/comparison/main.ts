import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkAnswers } from '../shared/check.js'
import { LoadProcess } from '../shared/load-process.js'
import { machine } from '../shared/machine.js'
import { installNest } from './install-nest.js'
import { generateApi, generateBlog } from '../applications/generated.js'
import { matchCosts } from '../shared/match.js'
import { measure } from '../shared/measure.js'
import { plotComparison } from '../shared/plot.js'
import { readsBesideWrites } from './reads-beside-writes.js'
import { compare, print, type Report, type Samples } from './report.js'
import { withSides, type Sides } from '../shared/sides.js'
import { starts } from './starts.js'
import type { KindName } from '../shared/server-process.js'
import { postgresWorkloads, workloads, type Rival, type Workload } from '../shared/workloads.js'

/**
 * npm run bench: resource-kit compared with NestJS on Fastify, with a lean Koa application, with a peer that does the same by
 * hand, and with node:http.
 *
 *     npm run bench                      all of it, in about an hour
 *     npm run bench -- --quick           few rounds, in about eight minutes
 *     npm run bench -- --only show       one workload
 *     npm run bench -- --only start      the start of each application
 *     npm run bench -- --check           only compares the responses of ours and of the peer
 *     npm run bench -- --engine postgres   on the server at KIT_POSTGRES_URL
 *     npm run bench -- --plot            draws docs/performance.svg anew
 */
const { values: options } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    quick: { type: 'boolean', default: false },
    plot: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    connections: { type: 'string' },
    output: { type: 'string' },
  },
})
const rounds = Number(options.rounds ?? (options.quick ? 3 : 9))
const connections = (options.connections ?? (options.quick ? '32' : '1,32,500')).split(',').map(Number)
const engine = options.engine === 'postgres' ? 'postgres' : 'sqlite'
const all = engine === 'sqlite' ? workloads : postgresWorkloads
const chosen = all.filter(({ name }) => options.only === undefined || name === options.only)
const isPart = options.only !== undefined || engine !== 'sqlite'
const root = join(import.meta.dirname, '../../..')

generateBlog(root)
if (options.check) {
  await withSides('sqlite', 1000, checkAnswers, ['api', 'peerApi', 'web', 'peerWeb'])
  console.log('The responses of the benchmark are the same.')
  process.exit()
}
installNest(root)
generateApi(root)
await withSides(engine, 1000, async (sides) => {
  if (engine === 'sqlite') await checkAnswers(sides)
  console.log(engine === 'sqlite' ? 'The responses are the same. Measuring.' : 'Measuring.')
  const load = new LoadProcess()
  // V8 has compiled what a server needs often after about 10,000 requests.
  for (const workload of chosen) await warm(workload, sides, load, 12_000)
  const samples = await measureAll(sides, load)
  const reads = isPart ? undefined : await readsBesideWrites(sides, rounds)
  const startsAndMemory = isPart && options.only !== 'start' ? undefined : await starts(rounds)
  load.stop()
  const report: Report = {
    machine: machine(),
    rounds,
    comparisons: compare(samples, all),
    samples,
    reads,
    starts: startsAndMemory,
    match: isPart ? undefined : matchCosts(),
  }
  print(report)
  const name = engine === 'sqlite' ? 'comparison' : `comparison-${engine}`
  const file = join(root, options.output ?? `bench/results/${name}.json`)
  await mkdir(join(file, '..'), { recursive: true })
  await writeFile(file, `${JSON.stringify(report, null, 2)}\n`)
  if (options.plot) await writeFile(join(root, 'docs/performance.svg'), plotComparison(report))
})

async function warm(workload: Workload, sides: Sides, load: LoadProcess, amount: number): Promise<void> {
  for (const name of Object.values(workload.servers)) await measure(workload, 32, sides[name], load, amount)
}

/** Every round asks each of them for everything, so that what else the machine does meets them alike. */
async function measureAll(sides: Sides, load: LoadProcess): Promise<Samples[]> {
  const sampled = chosen.flatMap((workload) =>
    connections.map((count): Samples => {
      return { workload: workload.name, connections: count, rounds: {} }
    }),
  )
  for (let round = 0; round < rounds; round++) {
    for (const samples of sampled) {
      const workload = chosen.find(({ name }) => name === samples.workload)
      if (!workload) continue
      // Of a server that has had nothing to do for a minute, V8 has thrown away what it had compiled.
      if (samples.connections === connections[0]) await warm(workload, sides, load, 3000)
      // Ours is not always the first.
      const order = Object.entries(workload.servers) as ['ours' | Rival, KindName][]
      if (round % 2 === 1) order.reverse()
      for (const [who, name] of order) {
        const sample = await measure(workload, samples.connections, sides[name], load)
        ;(samples.rounds[who] ??= []).push(sample)
      }
    }
    process.stdout.write(`round ${round + 1} of ${rounds}\r`)
  }
  return sampled
}
