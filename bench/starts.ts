import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PostsFile } from './posts-file.js'
import { names } from './sides.js'
import { kinds, ServerProcess, type KindName } from './server-process.js'
import { spread, type Spread } from './statistics.js'

/** What it takes to start an application, and to have it wait. */
export interface Start {
  name: KindName
  /** Milliseconds from the start of the process to its first answer. */
  time: Spread
  /** Milliseconds of CPU until then. */
  cpu: Spread
  /** Bytes of memory of a process that has answered once. */
  memory: Spread
}

const port = 4450

/** Starts each application, in turns. */
export async function starts(rounds: number): Promise<Start[]> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-bench-start-'))
  const file = await PostsFile.create(join(folder, 'posts.sqlite'), 1000)
  const seen = names.map((name) => ({
    name,
    time: [] as number[],
    cpu: [] as number[],
    memory: [] as number[],
  }))
  for (let round = 0; round <= rounds; round++) {
    for (const { name, time, cpu, memory } of seen) {
      const server = await ServerProcess.start(kinds[name], file.url, port)
      await delay(200)
      const usage = await server.usage()
      await server.stop()
      // The first round only fills the caches of the machine.
      if (round === 0) continue
      time.push(server.startTime)
      cpu.push(usage.cpu / 1000)
      memory.push(usage.memory)
    }
  }
  file.remove()
  await rm(folder, { recursive: true })
  return seen.map(({ name, time, cpu, memory }) => ({
    name,
    time: spread(time),
    cpu: spread(cpu),
    memory: spread(memory),
  }))
}
