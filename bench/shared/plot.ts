import type { Growth, Point } from '../growth/main.js'
import { bars, lines } from './svg.js'
import type { Report } from '../comparison/report.js'

/** The CPU time of a request, ours beside the peer's and the floor's, as a picture. */
export function plotComparison({ comparisons, machine, rounds }: Report): string {
  const shown = comparisons.filter(({ connections }) => connections === 32)
  return bars({
    title: 'CPU time of a request, in microseconds: less is better',
    note: `Node ${machine.node}, ${machine.cores} cores, 32 connections, medians of ${rounds} rounds`,
    series: ['resource-kit', 'the same by hand', 'NestJS on Fastify', 'Koa and TypeORM', 'node:http and SQL'],
    groups: shown.map(({ workload, medians }) => ({
      name: workload,
      values: (['ours', 'peer', 'nest', 'lean', 'floor'] as const).map((name) => medians[name]?.cpu ?? 0),
    })),
  })
}

/** What each thing costs by its size, as pictures: each line as a share of what it costs at the smallest size. */
export function plotGrowth(growth: Growth): Record<string, string> {
  const charts = {
    rows: ['Rows in the table', growth.rows],
    routes: ['Routes', growth.routes],
    record: ['Characters of a record', growth.record],
    connections: ['Connections', growth.connections],
    resources: ['Resources of the application', growth.resources],
  } as const
  return Object.fromEntries(
    Object.entries(charts).map(([name, [xLabel, points]]) => [name, relative(xLabel, points)]),
  )
}

function relative(xLabel: string, points: readonly Point[]): string {
  const names = Object.keys(points[0] ?? {}).filter((name) => name !== 'size')
  return lines({
    title: `${xLabel}: what costs how many times as much`,
    xLabel,
    yLabel: 'times that of the smallest size',
    series: names.map((name) => ({
      name,
      points: points.map((point) => [point.size, (point[name] ?? 0) / (points[0]?.[name] ?? 1)]),
    })),
  })
}
