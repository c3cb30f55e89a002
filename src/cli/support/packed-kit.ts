import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { CommandError } from '../../command-errors.js'
import { npm } from './npm.js'

const KIT = join(import.meta.dirname, '../../../..')

/**
 * What a new application writes as its dependency on resource-kit: a version, where this copy came from the registry;
 * else `file:vendor/...`, a packed copy of this one. A linked folder would bring a second copy of TypeORM along, whose
 * decorators the first one does not know; a packed one does not.
 */
export async function kitDependency(folder: string): Promise<string> {
  const { version } = readJson(join(KIT, 'package.json')) as { version: string }
  if (isFromRegistry()) return `^${version}`
  const vendor = join(folder, 'vendor')
  mkdirSync(vendor, { recursive: true })
  await npm(['pack', '--silent', '--ignore-scripts', '--pack-destination', vendor], KIT, 'ignore')
  const [tarball] = readdirSync(vendor)
  if (!tarball) throw new CommandError(`npm pack did not create a file in ${vendor}.`)
  return `file:vendor/${tarball}`
}

/** Whether npm has installed this copy from a registry, as its own list of what it has installed says. */
function isFromRegistry(): boolean {
  const modules = dirname(KIT)
  if (basename(modules) !== 'node_modules') return false
  const installed = readJson(join(modules, '.package-lock.json')) as {
    packages?: Record<string, { resolved?: string }>
  }
  return installed.packages?.['node_modules/resource-kit']?.resolved?.startsWith('https:') ?? false
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return {}
  }
}
