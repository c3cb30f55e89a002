import type { Machine } from './machine.js'
import type { MatchCost } from './match.js'
import type { Sample } from './measure.js'
import type { ReadsBesideWrites } from './reads-beside-writes.js'
import type { Start } from './starts.js'
import { median, spread, type Spread } from './statistics.js'
import { workloads } from './workloads.js'

/** What was measured of one workload with one number of connections, round by round. */
export interface Samples {
  workload: string
  connections: number
  ours: Sample[]
  peer: Sample[]
  floor: Sample[]
}

/** How ours and the peer compare. Ratios are the peer's time through ours: above 1, ours needs less. */
export interface Comparison {
  workload: string
  connections: number
  goal: number
  /** Of CPU time. */
  ratio: Spread
  /** Of requests a second. */
  throughputRatio: Spread
  ours: Sample
  peer: Sample
  floor: Sample
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

/** Compares round by round, for what disturbs one round disturbs both. */
export function compare(all: readonly Samples[]): Comparison[] {
  return all.map(({ workload, connections, ours, peer, floor }) => ({
    workload,
    connections,
    goal: workloads.find(({ name }) => name === workload)?.goal ?? 1,
    ratio: spread(ours.map(({ cpu }, round) => (peer[round]?.cpu ?? Number.NaN) / cpu)),
    throughputRatio: spread(
      ours.map(({ throughput }, round) => throughput / (peer[round]?.throughput ?? Number.NaN)),
    ),
    ours: middle(ours),
    peer: middle(peer),
    floor: middle(floor),
  }))
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

/** Shows the report in the terminal. */
export function print({ machine, rounds, comparisons, reads, starts, match }: Report): void {
  console.log(
    `Node ${machine.node}, ${machine.cores} cores, ${machine.memory}; medians of ${rounds} rounds, quartiles in brackets`,
  )
  console.table(comparisons.map(comparisonRow))
  if (starts) console.table(starts.map(startRow))
  if (reads) console.table(Object.entries(reads).map(readsRow))
  if (match) console.table(match)
}

function comparisonRow({
  workload,
  connections,
  goal,
  ratio,
  throughputRatio,
  ours,
  peer,
  floor,
}: Comparison) {
  return {
    workload,
    connections,
    'CPU ratio': written(ratio),
    goal: ratio.median >= goal ? `${goal} met` : `${goal} MISSED`,
    'req/s ratio': written(throughputRatio),
    'µs ours': Math.round(ours.cpu),
    'µs peer': Math.round(peer.cpu),
    'µs floor': Math.round(floor.cpu),
    'req/s ours': Math.round(ours.throughput),
    'req/s peer': Math.round(peer.throughput),
    'p50 ours': rounded(ours.p50),
    'p50 peer': rounded(peer.p50),
    'p99 ours': rounded(ours.p99),
    'p99 peer': rounded(peer.p99),
    'MiB ours': mebibytes(ours.memory),
    'MiB peer': mebibytes(peer.memory),
  }
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
