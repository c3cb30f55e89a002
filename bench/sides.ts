import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { visit } from './check.js'
import { PostsFile } from './posts-file.js'
import { kinds, ServerProcess, type KindName } from './server-process.js'
import type { Visitor } from './workloads.js'

/** A server, its own file with posts, and a browser that has been there. */
export interface Side {
  server: ServerProcess
  file: PostsFile
  visitor: Visitor
}

/** All of them, by name. */
export type Sides = Record<KindName, Side>

const firstPort = 4400

/** Starts each of the applications with a file of its own, does the work, and stops them. */
export async function withSides(rows: number, work: (sides: Sides) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-bench-'))
  const started: Partial<Sides> = {}
  try {
    for (const [index, name] of names.entries()) {
      const file = await PostsFile.create(join(folder, `${name}.sqlite`), rows)
      const server = await ServerProcess.start(kinds[name], file.path, firstPort + index)
      started[name] = { server, file, visitor: await visit(server) }
    }
    await work(started as Sides)
  } finally {
    for (const { server, file } of Object.values(started)) {
      await server.stop()
      file.remove()
    }
    await rm(folder, { recursive: true })
  }
}

/** The names of the applications. */
export const names = Object.keys(kinds) as KindName[]
