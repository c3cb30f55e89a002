import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { visit } from './check.js'
import { PostsDatabase } from './posts-database.js'
import { PostsFile } from './posts-file.js'
import type { Posts } from './posts.js'
import { kinds, ServerProcess, type KindName } from './server-process.js'
import type { Visitor } from './workloads.js'

/** A server, its own database with posts, and a browser that has been there. */
export interface Side {
  server: ServerProcess
  posts: Posts
  visitor: Visitor
}

/** All of them, by name. */
export type Sides = Record<KindName, Side>

/** The engines on which applications are compared. */
export type Engine = 'sqlite' | 'postgres'

const firstPort = 4400

/** Starts the applications, each with a database of its own, does the work, and stops them. */
export async function withSides(
  engine: Engine,
  rows: number,
  work: (sides: Sides) => Promise<void>,
  names: readonly KindName[] = engine === 'sqlite' ? allNames : postgresNames,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'kit-bench-'))
  const started: Partial<Sides> = {}
  try {
    for (const [index, name] of names.entries()) {
      const posts = await (engine === 'sqlite'
        ? PostsFile.create(join(folder, `${name}.sqlite`), rows)
        : PostsDatabase.create(`kit_bench_${name}`, rows))
      const server = await ServerProcess.start(kinds[name], posts.url, firstPort + index)
      started[name] = { server, posts, visitor: await visit(server) }
    }
    await work(started as Sides)
  } finally {
    for (const { server, posts } of Object.values(started)) {
      await server.stop()
      await posts.remove()
    }
    await rm(folder, { recursive: true })
  }
}

/** The names of the applications. */
const allNames = Object.keys(kinds) as KindName[]

/** The names of the applications that PostgreSQL is measured with. */
const postgresNames = ['api', 'nest', 'lean'] as const
