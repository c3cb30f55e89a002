import { existsSync } from 'node:fs'
import { fileOf } from '../../data/engines/create-drop.js'
import { loadDatabase } from './application-modules.js'

/**
 * Whether a migration has been run, according to the application's database. A missing SQLite file is not created.
 *
 * @param migration its name: `CreatePosts1795132800000`
 * @throws when the application does not compile, or its database does not respond
 */
export async function hasRun(migration: string): Promise<boolean> {
  const database = await loadDatabase()
  const file = fileOf(database)
  if (file !== undefined && !existsSync(file)) return false
  try {
    await database.open()
    const states = await database.migrationStatus()
    return states.some(({ name, executed }) => executed && name === migration)
  } finally {
    await database.close()
  }
}
