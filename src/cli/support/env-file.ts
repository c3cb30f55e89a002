import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { currentEnvironment } from '../../common/environment.js'

/** The name of the file with the variables of a developer's machine. */
const ENV_FILE = '.env'

/**
 * Reads the variables in `.env`, except in production. A variable that is already set keeps its value.
 *
 * @returns the name of the file; undefined if none was read
 */
export function loadEnvFile(folder: string): string | undefined {
  const file = join(folder, ENV_FILE)
  if (currentEnvironment() === 'production' || !existsSync(file)) return undefined
  process.loadEnvFile(file)
  return ENV_FILE
}
