import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CommandError } from '../../command-errors.js'

/** The folder of this copy of resource-kit. */
const KIT = join(import.meta.dirname, '../../../..')

/**
 * Returns the dependency of a new application on resource-kit: a version if this copy came from the registry,
 * else `file:vendor/...`, for which this copy is packed. With a linked folder, the application would have two
 * copies of TypeORM, and one of them would not see the models that are declared with the other.
 */
export async function kitDependency(folder: string): Promise<string> {
  const { version } = readJson(join(KIT, 'package.json')) as { version: string }
  if (isFromRegistry()) return `^${version}`
  const vendor = join(folder, 'vendor')
  mkdirSync(vendor, { recursive: true })
  // The build of a checkout writes the package to this folder (scripts/package.js).
  const built = join(KIT, 'dist/package')
  const source = existsSync(built) ? built : KIT
  await npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', vendor], source, 'ignore')
  const [tarball] = readdirSync(vendor)
  if (!tarball) throw new CommandError(`npm pack did not create a file in ${vendor}.`)
  return `file:vendor/${tarball}`
}

/** Whether npm installed this copy from a registry, according to npm's list of installed packages. */
function isFromRegistry(): boolean {
  const modules = dirname(KIT)
  if (basename(modules) !== 'node_modules') return false
  const installed = readJson(join(modules, '.package-lock.json')) as {
    packages?: Record<string, { resolved?: string }>
  }
  return installed.packages?.['node_modules/resource-kit']?.resolved?.startsWith('https:') ?? false
}

/** Returns the value of a JSON file; an empty object if it cannot be read. */
function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}

/**
 * Runs npm in a folder.
 *
 * @throws CommandError when it fails; npm has then printed the reason on the terminal
 */
export async function npm(
  args: string[],
  folder: string,
  output: 'inherit' | 'ignore' = 'inherit',
): Promise<void> {
  const child = spawn('npm', args, {
    cwd: folder,
    stdio: ['ignore', output, 'inherit'],
    // npm is a batch file on Windows.
    shell: process.platform === 'win32',
  })
  const [status] = (await once(child, 'close')) as [number | null]
  if (status !== 0) throw new CommandError(`\`npm ${args[0]}\` failed in ${folder}. See its output above.`)
}
