import { QueryFailedError } from 'typeorm'
import { retry } from '../common/retry.js'
import { problemOf } from './engines/problems.js'

/**
 * Runs a short transaction of the framework's own, for example one that counts a request, and repeats it
 * after a conflict with another one, ten times at most. On a cluster that can write on all nodes, even a
 * single statement conflicts.
 */
export function retryConflicts<T>(work: () => Promise<T>): Promise<T> {
  return retry(work, { isTemporary: isConflict, retries: 10, first: 10, max: 1000 })
}

function isConflict(error: unknown): boolean {
  return error instanceof QueryFailedError && problemOf(error) === 'conflict'
}
