import type { Machine } from '../shared/machine.js'
import type { MatchCost } from '../shared/match.js'
import type { Sample } from '../shared/measure.js'
import type { ReadsBesideWrites } from './reads-beside-writes.js'
import type { Start } from './starts.js'
import { median, spread, type Spread } from '../shared/statistics.js'
import { rivals, type Rival, type Workload } from '../shared/workloads.js'

/** What was measured of one workload with one number of connections: the rounds of each application. */
export interface Samples {
  workload: string
  connections: number
  rounds: Partial<Record<'ours' | Rival, Sample[]>>
}

/** How ours and another application compare. Ratios are the other's time divided by ours: above 1, ours needs less. */
export interface Ratio {
  goal: number | undefined
  /** Of CPU time. */
  cpu: Spread
  /** Of requests a second. */
  throughput: Spread
}

/** The result of one workload with one number of connections. */
export interface Comparison {
  workload: string
  connections: number
  /** The medians of each application. */
  medians: Partial<Record<'ours' | Rival, Sample>>
  ratios: Partial<Record<Rival, Ratio>>
}

/** All that `npm run bench` has found. */
export interface Report {
  machine: Machine
  rounds: number
  comparisons: Comparison[]
  samples: Samples[]
  reads: Record<string, ReadsBesideWrites> | undefined
  starts: Start[] | undefined
  match: MatchCost[] | undefined
}

/** Compares round by round, because what disturbs one round disturbs all applications. */
export function compare(all: readonly Samples[], workloads: readonly Workload[]): Comparison[] {
  return all.map(({ workload, connections, rounds }) => {
    const medians: Comparison['medians'] = {}
    const ratios: Comparison['ratios'] = {}
    const goals = workloads.find(({ name }) => name === workload)?.goals
    const ours = rounds.ours ?? []
    medians.ours = middle(ours)
    for (const rival of rivals) {
      const theirs = rounds[rival]
      if (!theirs) continue
      medians[rival] = middle(theirs)
      ratios[rival] = {
        goal: goals?.[rival],
        cpu: spread(ours.map(({ cpu }, round) => (theirs[round]?.cpu ?? Number.NaN) / cpu)),
        throughput: spread(
          ours.map(({ throughput }, round) => throughput / (theirs[round]?.throughput ?? Number.NaN)),
        ),
      }
    }
    return { workload, connections, medians, ratios }
  })
}

function middle(samples: Sample[]): Sample {
  const of = (name: keyof Sample): number => median(samples.map((sample) => sample[name]))
  return {
    cpu: of('cpu'),
    throughput: of('throughput'),
    p50: of('p50'),
    p99: of('p99'),
    memory: of('memory'),
  }
}

/** Prints the report. */
export function print({ machine, rounds, comparisons, reads, starts, match }: Report): void {
  console.log(
    `Node ${machine.node}, ${machine.cores} cores, ${machine.memory}; medians of ${rounds} rounds, quartiles in parentheses`,
  )
  console.table(comparisons.flatMap(medianRows))
  console.log("The other application's time divided by ours: above 1, ours is faster.")
  console.table(comparisons.flatMap(ratioRows))
  if (starts) console.table(starts.map(startRow))
  if (reads) console.table(Object.entries(reads).map(readsRow))
  if (match) console.table(match)
}

function medianRows({ workload, connections, medians }: Comparison) {
  return Object.entries(medians).map(([name, sample]) => ({
    workload,
    connections,
    application: name,
    'µs of CPU': Math.round(sample.cpu),
    'requests/s': Math.round(sample.throughput),
    'p50 in ms': rounded(sample.p50),
    'p99 in ms': rounded(sample.p99),
    MiB: mebibytes(sample.memory),
  }))
}

function ratioRows({ workload, connections, ratios }: Comparison) {
  return Object.entries(ratios).map(([rival, { goal, cpu, throughput }]) => ({
    workload,
    connections,
    'compared with': rival,
    CPU: written(cpu),
    'requests/s': written(throughput),
    goal: goal === undefined ? '' : `${goal.toFixed(2)} ${cpu.median >= goal ? 'met' : 'MISSED'}`,
  }))
}

function startRow({ name, time, cpu, memory }: Start) {
  return {
    application: name,
    'ms to the first answer': written(time, 0),
    'ms of CPU': written(cpu, 0),
    'MiB at rest': mebibytes(memory.median),
  }
}

function readsRow([application, { alone, besideWrites, ratio }]: [string, ReadsBesideWrites]) {
  return {
    application,
    'p99 of reads, ms': written(alone),
    'beside writes, ms': written(besideWrites),
    ratio: written(ratio),
  }
}

function written({ median, low, high }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${low.toFixed(digits)}-${high.toFixed(digits)})`
}

function rounded(milliseconds: number): number {
  return Number(milliseconds.toFixed(2))
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20)
}
