import { RouteTable } from '../../src/routing/route-table.js'
import { pathNames } from '../../src/naming/names.js'
import { actions } from '../../src/resources/actions.js'
import { median } from './statistics.js'

const rounds = 21
const requests = 20_000
const sizes = [1, 10, 100, 1000]

function tableOf(resources: number): RouteTable {
  const table = new RouteTable()
  for (let number = 0; number < resources; number++) {
    const path = `/things${number}`
    const names = pathNames(path)
    for (const { method, on, suffix, name } of actions) {
      const at = (on === 'item' ? `${path}/{id}` : path) + suffix
      table.add({
        method,
        path: at,
        name: names[name],
        handlerName: 'Things',
        middleware: [],
        handler: () => undefined,
      })
    }
  }
  return table
}

/** Nanoseconds for one match, of an item of the resource in the middle. */
function time(table: RouteTable, resources: number): number {
  const path = `/things${Math.floor(resources / 2)}/01a1f9df-29cf-76db-a126-d6e54c0890f7`
  const started = process.hrtime.bigint()
  for (let count = 0; count < requests; count++) table.match('localhost', path)
  return Number(process.hrtime.bigint() - started) / requests
}

/** What it costs to find a route among some. */
export interface MatchCost {
  resources: number
  routes: number
  'ns a match': number
  ratio: number
}

/** Measures tables of different sizes, in turns. */
export function matchCosts(): MatchCost[] {
  const tables = sizes.map(tableOf)
  const times = sizes.map((): number[] => [])
  for (let round = 0; round < rounds; round++) {
    for (const [index, table] of tables.entries()) times[index]?.push(time(table, sizes[index] ?? 1))
  }
  const base = median(times[0] ?? [])
  return sizes.map((size, index) => {
    const nanoseconds = median(times[index] ?? [])
    return {
      resources: size,
      routes: size * 7,
      'ns a match': Math.round(nanoseconds),
      ratio: Number((nanoseconds / base).toFixed(2)),
    }
  })
}
