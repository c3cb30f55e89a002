import { QueryFailedError } from 'typeorm'
import { retry } from '../../common/retry.js'
import { MigrationFailed } from '../../errors.js'
import { problemOf } from '../engines/problems.js'

/**
 * Milliseconds that a statement of a migration waits for the lock of a table. All requests that use the table
 * wait behind it, so it gives up its place and is tried again.
 */
export const tableLockWait = 2000

/** Runs a migration again if a locked table has rolled it back, for ten minutes at most. */
export function retryTableLocks<T>(migrate: () => Promise<T>): Promise<T> {
  const isTemporary = (error: unknown): boolean =>
    error instanceof MigrationFailed && error.isRolledBack && isBusy(error.cause)
  return retryBusy(migrate, isTemporary)
}

/** Runs a statement of a migration again if a table was locked: it has changed nothing. */
export function retryStatement<T>(run: () => Promise<T>): Promise<T> {
  return retryBusy(run, isBusy)
}

function retryBusy<T>(work: () => Promise<T>, isTemporary: (error: unknown) => boolean): Promise<T> {
  return retry(work, { isTemporary, deadline: performance.now() + 10 * 60_000, first: 200, max: 5000 })
}

function isBusy(error: unknown): boolean {
  return error instanceof QueryFailedError && problemOf(error) === 'busy'
}
