import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { App } from '../../application.js'
import type { Database } from '../../data/database.js'
import { CommandError, MissingExport } from '../../command-errors.js'
import { enterApplication } from './application-folder.js'
import { buildWhenStale } from './compilation.js'

/** Loads the application of this folder, and builds it first if it is out of date. Does not open its database. */
export async function loadApp(): Promise<App> {
  return load('src/app', 'app')
}

/** Loads the database of this folder's application without opening it. */
export async function loadDatabase(): Promise<Database> {
  return load('src/database', 'database')
}

/**
 * Starts the application of this folder: runs src/main.ts.
 *
 * @param build whether it is built first, if it is out of date
 */
export async function loadMain(build = true): Promise<void> {
  await importModule('src/main', build)
}

/**
 * Returns an export of a module of the application. Builds the application first if it is out of date.
 *
 * @throws MissingExport when the module does not export it
 */
export async function load<T>(module: string, name: string): Promise<T> {
  const exported = await importModule(module)
  if (exported[name] === undefined) throw new MissingExport(`${module}.ts`, name)
  // The application determines the type of an export. We expect the exports of the scaffolds.
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
