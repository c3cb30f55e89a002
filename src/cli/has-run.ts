import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Database } from '../data/database.js'

/**
 * Asks the application's database whether a migration has been run. An application that is not compiled, or whose
 * database is not there, has run none; a file of SQLite is not made for the question.
 *
 * @param migration its name: `CreatePosts1795132800000`
 */
export async function hasRun(folder: string, migration: string): Promise<boolean> {
  const file = join(folder, 'dist/src/database.js')
  if (!existsSync(file)) return false
  let database: Database | undefined
  try {
    await import('reflect-metadata')
    // What an application's src/database.ts exports.
    ;({ database } = (await import(pathToFileURL(file).href)) as { database: Database })
    const { options } = database
    if (options.type === 'better-sqlite3' && !existsSync(options.database)) return false
    await database.open()
    const rows: { name: string }[] = await database.query('SELECT name FROM migrations')
    return rows.some(({ name }) => name === migration)
  } catch {
    return false
  } finally {
    await database?.close()
  }
}
