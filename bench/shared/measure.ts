import type { LoadProcess } from './load-process.js'
import type { Side } from './sides.js'
import type { Workload } from './workloads.js'

/** What one round of one workload has cost one server. */
export interface Sample {
  /** Microseconds of the server's CPU for a request. */
  cpu: number
  /** Requests a second. */
  throughput: number
  /** Milliseconds. */
  p50: number
  p99: number
  /** Bytes of memory afterwards. */
  memory: number
}

/** How many requests a round has, by the number of connections. */
const amounts: Record<number, number> = { 1: 500, 32: 3000, 500: 3000 }

/** Asks a server for one workload. */
export async function measure(
  workload: Workload,
  connections: number,
  { server, posts, visitor }: Side,
  load: LoadProcess,
  amount = amounts[connections] ?? 1500,
): Promise<Sample> {
  // A client makes its first request before it begins: there are some more than are sent.
  const requests = await workload.calls(posts, amount + 2 * connections, visitor)
  const before = await server.usage()
  const origin = `http://127.0.0.1:${server.port}`
  const result = await load.run({ origin, connections, amount, requests, status: workload.status })
  const after = await server.usage()
  await posts.reset()
  return {
    cpu: (after.cpu - before.cpu) / amount,
    throughput: amount / (result.duration / 1000),
    p50: result.p50,
    p99: result.p99,
    memory: after.memory,
  }
}
