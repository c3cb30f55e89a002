import { existsSync } from 'node:fs'
import { fileOf } from '../../database/engines/create-drop.js'
import { usingDatabase } from './application-modules.js'

/**
 * Whether a migration has been run, according to the application's database. A missing SQLite file is not
 * created.
 *
 * @param migration its name: `CreatePosts1795132800000`
 * @throws when the application does not compile, or its database does not respond
 */
export function hasRun(migration: string): Promise<boolean> {
  return usingDatabase(async (database) => {
    const file = fileOf(database)
    if (file !== undefined && !existsSync(file)) return false
    await database.open()
    const states = await database.migrationStatus()
    return states.some(({ name, executed }) => executed && name === migration)
  })
}
