import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { App } from '../../application.js'
import type { Database } from '../../data/database.js'
import { CommandError, MissingExport } from '../../command-errors.js'
import { enterApplication } from './application-folder.js'
import { buildWhenStale } from './compilation.js'

/** The application of this folder, built when it is stale. Its database is not opened. */
export async function loadApp(): Promise<App> {
  return load('src/app', 'app')
}

/** The database of this folder's application, not opened yet. */
export async function loadDatabase(): Promise<Database> {
  return load('src/database', 'database')
}

/**
 * Starts the application of this folder: runs src/main.ts.
 *
 * @param build whether it is built before, when it is stale
 */
export async function loadMain(build = true): Promise<void> {
  await importModule('src/main', build)
}

/**
 * What a module of the application exports, after the application was built where it is stale.
 *
 * @throws MissingExport when the module does not export it
 */
export async function load<T>(module: string, name: string): Promise<T> {
  const exported = await importModule(module)
  if (exported[name] === undefined) throw new MissingExport(`${module}.ts`, name)
  // What an application exports under a name is for its user to type; we ask for what the scaffolds write.
  return exported[name] as T
}

async function importModule(module: string, build = true): Promise<Record<string, unknown>> {
  const root = enterApplication()
  if (build) await buildWhenStale(root)
  const file = join(root, 'dist', `${module}.js`)
  if (!existsSync(file)) throw new CommandError(`There is no ${module}.ts, which this command needs.`)
  process.setSourceMapsEnabled(true)
  await import('reflect-metadata')
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>
}
