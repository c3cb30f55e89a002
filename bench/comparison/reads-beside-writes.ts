import { LoadProcess } from '../shared/load-process.js'
import type { LoadResult } from '../shared/load.js'
import type { Side, Sides } from '../shared/sides.js'
import { spread, type Spread } from '../shared/statistics.js'
import { workloads } from '../shared/workloads.js'

/** How long reads take, alone and while somebody else writes as fast as he can. */
export interface ReadsBesideWrites {
  /** Milliseconds that 99 of 100 reads need at most. */
  alone: Spread
  besideWrites: Spread
  ratio: Spread
}

/** Reads with 32 connections, with and without 8 that write at the same time. */
export async function readsBesideWrites(
  sides: Sides,
  rounds: number,
): Promise<Record<string, ReadsBesideWrites>> {
  const results: Record<string, ReadsBesideWrites> = {}
  for (const name of ['api', 'peerApi'] as const) {
    const [reader, writer] = [new LoadProcess(), new LoadProcess()]
    const alone: number[] = []
    const besideWrites: number[] = []
    for (let round = 0; round < rounds; round++) {
      alone.push((await ask(reader, sides[name], 'show', 32, 6000)).p99)
      const writing = ask(writer, sides[name], 'create', 8, 3000)
      besideWrites.push((await ask(reader, sides[name], 'show', 32, 6000)).p99)
      await writing
      await sides[name].posts.reset()
    }
    reader.stop()
    writer.stop()
    const ratios = besideWrites.map((time, round) => time / (alone[round] ?? Number.NaN))
    results[name] = { alone: spread(alone), besideWrites: spread(besideWrites), ratio: spread(ratios) }
  }
  return results
}

async function ask(
  load: LoadProcess,
  { server, posts, visitor }: Side,
  name: string,
  connections: number,
  amount: number,
): Promise<LoadResult> {
  const workload = workloads.find((it) => it.name === name)
  const requests = (await workload?.calls(posts, amount, visitor)) ?? []
  const origin = `http://127.0.0.1:${server.port}`
  return load.run({ origin, connections, amount, requests, status: workload?.status ?? 200 })
}
