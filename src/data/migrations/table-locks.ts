import { QueryFailedError, type QueryRunner } from 'typeorm'
import { retry } from '../../common/retry.js'
import { MigrationFailed } from '../../errors.js'
import { engineOf } from '../engines/engines.js'
import { problemOf } from '../engines/problems.js'

/**
 * Milliseconds that a statement of a migration waits for the lock of a table. All requests that use the table wait behind it, so
 * it gives up its place and is tried again.
 */
export const tableLockWait = 2000

/** Runs a migration again if its transaction was rolled back because a table was locked, for ten minutes at most. */
export function retryTableLocks<T>(migrate: () => Promise<T>): Promise<T> {
  const isTemporary = (error: unknown): boolean =>
    error instanceof MigrationFailed && error.isRolledBack && isBusy(error.cause)
  return retryBusy(migrate, isTemporary)
}

/**
 * Lets each statement of a migration be tried again, where a change of the schema commits the transaction: the migration cannot
 * run again from its beginning, and a statement that has waited too long has changed nothing.
 */
export function retryStatements(runner: QueryRunner): void {
  if (!engineOf(runner.dataSource).schemaChangesCommit) return
  const { query } = runner
  const patient = (...args: unknown[]): Promise<unknown> =>
    retryBusy(() => Reflect.apply(query, runner, args) as Promise<unknown>, isBusy)
  // It returns the result of the wrapped method, whichever of its signatures is called.
  runner.query = patient as QueryRunner['query']
}

function retryBusy<T>(work: () => Promise<T>, isTemporary: (error: unknown) => boolean): Promise<T> {
  return retry(work, { isTemporary, deadline: performance.now() + 10 * 60_000, first: 200, max: 5000 })
}

function isBusy(error: unknown): boolean {
  return error instanceof QueryFailedError && problemOf(error) === 'busy'
}
