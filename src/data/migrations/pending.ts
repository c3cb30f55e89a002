import { QueryFailedError } from 'typeorm'
import { PendingMigrations } from '../../errors.js'
import type { Database } from '../database.js'

/** What the engines say of a table or a column that is not there. */
const missing = /no such (table|column)|has no column named/i
const missingCodes = ['42P01', '42703', 'ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR']

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
  if (!(error instanceof QueryFailedError) || !isOfMissing(error.driverError)) return error
  const names = await pendingMigrations(database).catch(() => [])
  return names.length > 0 ? new PendingMigrations(names, { cause: error }) : error
}

function isOfMissing(error: Error): boolean {
  return missing.test(error.message) || missingCodes.includes(String(Reflect.get(error, 'code')))
}
