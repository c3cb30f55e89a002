import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { App } from '../../application/application.js'
import type { Database } from '../../database/database.js'
import { BuildFailed, CommandError } from '../../command-errors.js'
import { enterApplication } from './application-folder.js'
import { buildWhenStale } from './compilation.js'

/**
 * Whether an application that is out of date is built first. With `if possible`, its last build is used if it
 * does not compile, and with `never`, its last build is used in any case.
 */
type Build = 'required' | 'if possible' | 'never'

/**
 * Loads the application of this folder, and builds it first if it is out of date. Does not open its database.
 *
 * @param compiled a folder of compiled files, from which the application is loaded without a build
 */
export async function loadApp(compiled?: string): Promise<App> {
  return load('src/app', 'app', compiled === undefined ? 'required' : 'never', compiled)
}

/** Loads the database of this folder's application without opening it. */
export async function loadDatabase(): Promise<Database> {
  return load('src/database', 'database')
}

/**
 * Loads the database of this folder's application, and closes it when the work has ended. The work opens it.
 *
 * @param build `if possible` loads the last build if the application does not compile
 */
export async function usingDatabase<T>(
  work: (database: Database) => Promise<T>,
  build: Build = 'required',
): Promise<T> {
  const database: Database = await load('src/database', 'database', build)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

/** Starts the application of this folder: runs src/main.ts. */
export async function loadMain(build: Build = 'required'): Promise<void> {
  await importModule('src/main', build)
}

/**
 * Returns an export of a module of the application. Builds the application first if it is out of date.
 *
 * @throws CommandError when the module does not export it
 */
export async function load<T>(
  module: string,
  name: string,
  build: Build = 'required',
  folder?: string,
): Promise<T> {
  const exported = await importModule(module, build, folder)
  if (exported[name] === undefined) {
    throw new CommandError(`${module}.ts has no export "${name}". Add it: export const ${name} = ...`)
  }
  // The application determines the type of an export. We expect the exports of the scaffolds.
  return exported[name] as T
}

/**
 * Imports a module of the application: `src/main`.
 *
 * @throws CommandError when there is no such module
 */
export async function importModule(
  module: string,
  build: Build = 'required',
  folder = 'dist',
): Promise<Record<string, unknown>> {
  const root = enterApplication()
  if (build !== 'never') await buildFirst(root, build)
  const file = resolve(root, folder, `${module}.js`)
  if (!existsSync(file)) throw new CommandError(`There is no ${module}.ts, which this command needs.`)
  await import('reflect-metadata')
  // Imported before source maps are enabled, because Node would read those of TypeORM's 300 modules, whose
  // sources are missing.
  await import('typeorm')
  process.setSourceMapsEnabled(true)
  return (await import(pathToFileURL(file).href)) as Record<string, unknown>
}

/** @throws BuildFailed, unless the last build can be used instead */
async function buildFirst(root: string, build: Build): Promise<void> {
  try {
    await buildWhenStale(root)
  } catch (error) {
    const isUsable = build === 'if possible' && existsSync(join(root, 'dist/src'))
    if (!isUsable || !(error instanceof BuildFailed)) throw error
    console.error('The application does not compile. Its last build is used instead.')
  }
}
