import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CommandError, NoApplication } from '../../command-errors.js'
import { loadEnvFile } from './env-file.js'

/** The fields of package.json that commands use. */
export interface Manifest {
  name?: string
  version?: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** Finds the nearest folder, from this one upwards, whose package.json depends on resource-kit. */
function findApplication(from = process.cwd()): string | undefined {
  if (manifestOf(from)?.dependencies?.['resource-kit'] !== undefined) return from
  const above = dirname(from)
  return above === from ? undefined : findApplication(above)
}

/**
 * Changes the working directory to the application's folder, reads its `.env`, and returns the folder.
 *
 * @throws NoApplication when there is no application
 */
export function enterApplication(): string {
  const root = findApplication()
  if (root === undefined) throw new NoApplication(process.cwd())
  process.chdir(root)
  loadEnvFile(root)
  return root
}

/**
 * Reads the package.json of a folder, if it exists.
 *
 * @throws CommandError when it isn't a JSON object
 */
export function manifestOf(folder: string): Manifest | undefined {
  const file = join(folder, 'package.json')
  if (!existsSync(file)) return undefined
  const manifest = parseJson(readFileSync(file, 'utf8'))
  if (typeof manifest === 'object' && manifest !== null) return manifest
  throw new CommandError(`${file} cannot be read, because it isn't a JSON object. Correct it.`)
}

/** Returns the value of JSON; undefined if it is malformed. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the URL of the application's own `kit`; undefined if that is `main` itself. */
export function localKit(main: string): string | undefined {
  try {
    const root = findApplication() ?? '/'
    const manifest = createRequire(join(root, 'package.json')).resolve('resource-kit/package.json')
    const installed = realpathSync(join(dirname(manifest), 'dist/src/cli/main.js'))
    return installed === realpathSync(main) ? undefined : pathToFileURL(installed).href
  } catch {
    // There is no application, or resource-kit is not installed in it, or a version without this file is.
    return undefined
  }
}
