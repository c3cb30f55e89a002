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
 * Explains an error of the database that is caused by pending migrations. Any other error is returned unchanged. The
 * database is queried only if a table or a column is missing.
 */
export async function explainMissingTable(database: Database, error: unknown): Promise<unknown> {
  if (!(error instanceof QueryFailedError) || problemOf(error) !== 'missing') return error
  const names = await pendingMigrations(database).catch(() => [])
  return names.length > 0 ? new PendingMigrations(names, { cause: error }) : error
}
