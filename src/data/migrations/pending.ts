import { QueryFailedError } from 'typeorm'
import { PendingMigrations } from '../../errors.js'
import type { Database } from '../database.js'
import { problemOf } from '../engines/problems.js'

/** The names of the migrations that have not been run yet, oldest first. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  const states = await database.migrationStatus()
  return states.filter(({ executed }) => !executed).map(({ name }) => name)
}

/**
 * Says that migrations are pending, where an error of the database comes from that. Any other error is returned as it
 * is. The database is asked only when a table or a column was missing.
 */
export async function explainMissingTable(database: Database, error: unknown): Promise<unknown> {
  if (!(error instanceof QueryFailedError) || problemOf(error) !== 'missing') return error
  const names = await pendingMigrations(database).catch(() => [])
  return names.length > 0 ? new PendingMigrations(names, { cause: error }) : error
}
