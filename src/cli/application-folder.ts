import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { NoApplication } from '../errors.js'

/** What package.json says, as far as commands ask. */
export interface Manifest {
  name?: string
  version?: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

/** The nearest folder, from this one upwards, whose package.json depends on resource-kit. */
export function findApplication(from = process.cwd()): string | undefined {
  if (manifestOf(from)?.dependencies?.['resource-kit'] !== undefined) return from
  const above = dirname(from)
  return above === from ? undefined : findApplication(above)
}

/**
 * Makes the folder of the application that of the process, and returns it.
 *
 * @throws NoApplication when this is none
 */
export function enterApplication(): string {
  const root = findApplication()
  if (root === undefined) throw new NoApplication(process.cwd())
  process.chdir(root)
  return root
}

/** package.json of a folder, where there is one. */
export function manifestOf(folder: string): Manifest | undefined {
  const file = join(folder, 'package.json')
  try {
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined
  } catch {
    return undefined
  }
}

/** The `kit` of the application that this process runs in, where it is another one than `main`. */
export function ownKit(main: string): string | undefined {
  const root = findApplication()
  if (root === undefined) return undefined
  try {
    const manifest = createRequire(join(root, 'package.json')).resolve('resource-kit/package.json')
    const own = realpathSync(join(dirname(manifest), 'dist/src/cli/main.js'))
    return own === realpathSync(main) ? undefined : pathToFileURL(own).href
  } catch {
    // It is not installed yet, or an old one without commands.
    return undefined
  }
}
