import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { PostsFile } from '../shared/posts-file.js'
import { apiFolder } from '../applications/generated.js'
import { kinds, ServerProcess, type ServerKind } from '../shared/server-process.js'
import { spread, type Spread } from '../shared/statistics.js'

/** What it takes to start an application, and to have it wait. */
export interface Start {
  name: string
  /** Milliseconds from the start of the process to its first answer. */
  time: Spread
  /** Milliseconds of CPU until then. */
  cpu: Spread
  /** Bytes of memory of a process that has answered once. */
  memory: Spread
}

const port = 4450

/**
 * The application that `kit new --api` creates, which also runs its migrations in development, and the least that Koa with
 * TypeORM needs. Those of the other measurements load more: `bench/applications/lean` also pug and class-validator, for its routes.
 */
const generated: ServerKind = {
  name: 'kit new --api',
  main: `${apiFolder}/dist/src/main.js`,
  folder: apiFolder,
}
const bare: ServerKind = {
  name: 'Koa and TypeORM, nothing else',
  main: 'dist/bench/applications/lean/bare.js',
}

/** Starts each application, in turns. */
export async function starts(rounds: number): Promise<Start[]> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-bench-start-'))
  const file = await PostsFile.create(join(folder, 'posts.sqlite'), 1000)
  const own = { url: `sqlite:${join(folder, 'api.sqlite')}`, settings: { GO_ENV: 'development' } }
  const seen = [generated, bare, ...Object.values(kinds)].map((kind) => ({
    kind,
    ...(kind === generated ? own : { url: file.url, settings: {} }),
    time: [] as number[],
    cpu: [] as number[],
    memory: [] as number[],
  }))
  for (let round = 0; round <= rounds; round++) {
    for (const { kind, url, settings, time, cpu, memory } of seen) {
      const server = await ServerProcess.start(kind, url, port, settings)
      const untilAnswer = await server.usage()
      await delay(200)
      const atRest = await server.usage()
      await server.stop()
      // The first round only fills the caches of the machine.
      if (round === 0) continue
      time.push(server.startTime)
      cpu.push(untilAnswer.cpu / 1000)
      memory.push(atRest.memory)
    }
  }
  file.remove()
  await rm(folder, { recursive: true })
  return seen.map(({ kind, time, cpu, memory }) => ({
    name: kind.name,
    time: spread(time),
    cpu: spread(cpu),
    memory: spread(memory),
  }))
}
