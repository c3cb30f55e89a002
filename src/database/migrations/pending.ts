import { QueryFailedError } from 'typeorm'
import { MigrationMissing, PendingMigrations } from '../../errors.js'
import type { Database } from '../database.js'
import { problemOf } from '../engines/problems.js'
import { missingMigrations } from './missing.js'

/** The names of the migrations that have not been run yet, oldest first. */
export async function pendingMigrations(database: Database): Promise<string[]> {
  const states = await database.migrationStatus()
  return states.filter(({ executed }) => !executed).map(({ name }) => name)
}

/**
 * Explains an error of the database that is caused by a migration that has not been run, or, in development,
 * not been written. Any other error is returned unchanged. The database is queried only if a table or a
 * column is missing.
 */
export async function explainMissingTable(
  database: Database,
  error: unknown,
  isDevelopment = false,
): Promise<unknown> {
  if (!(error instanceof QueryFailedError) || problemOf(error) !== 'missing') return error
  const names = await pendingMigrations(database).catch(() => [])
  if (names.length > 0) return new PendingMigrations(names, { cause: error })
  const commands = isDevelopment ? await missingMigrations(database, error.query).catch(() => []) : []
  return commands.length > 0 ? new MigrationMissing(error.driverError, commands) : error
}
