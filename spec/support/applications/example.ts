import { fileURLToPath } from 'node:url'
import type { App, Database } from '../../../src/index.js'
import { sharedDatabase } from '../databases.js'

/** An application of examples/. */
export interface Example {
  app: App
  database: Database
}

type Prepare = (database: Database, load: (path: string) => Promise<Record<string, unknown>>) => Promise<void>

const loaded = new Map<string, Promise<Example>>()

/**
 * Loads an application of examples/ with an empty database of its own. The specs of a process share it, because its modules are
 * loaded once.
 *
 * @param prepare changes a class of the application before its routes are declared: the same for all specs
 */
export function loadExample(name: 'blog' | 'members', prepare?: Prepare): Promise<Example> {
  const example = loaded.get(name) ?? load(name, prepare)
  loaded.set(name, example)
  return example
}

async function load(name: string, prepare?: Prepare): Promise<Example> {
  const before = process.env['DATABASE_URL']
  process.env['DATABASE_URL'] = await sharedDatabase()
  const folder = new URL(`../../../../examples/${name}/`, import.meta.url)
  try {
    return await startIn(folder, async () => {
      const { database }: { database: Database } = await import(new URL('dist/src/database.js', folder).href)
      await prepare?.(database, (path) => import(new URL(`dist/src/${path}`, folder).href))
      const { app }: { app: App } = await import(new URL('dist/src/app.js', folder).href)
      app.callback()
      return { app, database }
    })
  } finally {
    if (before === undefined) delete process.env['DATABASE_URL']
    else process.env['DATABASE_URL'] = before
  }
}

/** An application finds its locales and templates in the working directory when it starts. */
export async function startIn<T>(folder: URL, start: () => Promise<T>): Promise<T> {
  const before = process.cwd()
  process.chdir(fileURLToPath(folder))
  try {
    return await start()
  } finally {
    process.chdir(before)
  }
}
