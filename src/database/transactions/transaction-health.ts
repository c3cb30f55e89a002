import { QueryFailedError } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import {
  HttpError,
  OutcomeUnknown,
  ReadOnlyTransaction,
  ServiceUnavailable,
  TransactionAborted,
  TransactionConflict,
} from '../../errors.js'
import { explainDatabaseError } from '../database-errors.js'
import type { Engine } from '../engines/engine.js'
import { problemOf, wasNotSent } from '../engines/problems.js'
import { engineOf } from '../engines/engines.js'
import type { OpenServer } from './opening.js'

/**
 * Whether a transaction can still be committed. A handler may catch an error of the database after which the
 * engine cannot commit: MariaDB has rolled back and would commit each later statement on its own, and
 * PostgreSQL silently rolls back instead of committing.
 */
export class TransactionHealth {
  /** The error that has ended the transaction. */
  endError: unknown
  /** The error of the last statement that failed. */
  failure: unknown
  /** Whether the connection was lost during the transaction. */
  isConnectionLost = false
  /** Whether the framework has made the transaction read-only. */
  isReadOnly = false

  constructor(
    private readonly transaction: { readonly runner: QueryRunner; readonly server: OpenServer | undefined },
  ) {}

  /** Records the error of a statement, and returns the error to throw. */
  note<E>(error: E): E | Error {
    this.transaction.server?.note(error)
    const problem = error instanceof QueryFailedError ? problemOf(error) : undefined
    // The database reports the same error if the server itself is read-only, which is a failure of the
    // database.
    if (problem === 'readonly' && this.isReadOnly)
      return (this.failure = new ReadOnlyTransaction({ cause: error }))
    if (problem === 'aborted') return this.abortError()
    // When a PostgreSQL connection breaks, TypeORM releases the query runner, which then rejects its use with
    // another error.
    const isGone =
      problem === 'lost' || (this.transaction.runner.isReleased && !(error instanceof QueryFailedError))
    const thrown = isGone && !problem ? lostError(error) : error
    this.failure = thrown
    this.isConnectionLost ||= isGone
    if (isGone || (problem === 'conflict' && this.engine.conflictRollsBack)) this.endError ??= thrown
    return thrown
  }

  /** Records the error of the beginning, and returns the error to throw. */
  noteBegin(error: unknown): unknown {
    this.transaction.server?.note(error)
    // Any other error comes from the connection.
    const isExplained = error instanceof QueryFailedError || error instanceof HttpError
    return isExplained ? error : new ServiceUnavailable('The database does not respond.', 5, { cause: error })
  }

  /** Records the error of a stream of rows, and returns the error for its reader. */
  noteRow(thrown: unknown, sql: string, values: unknown[]): Error {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const isExplained = error instanceof QueryFailedError || error instanceof HttpError
    return this.note(isExplained ? error : new QueryFailedError(sql, values, error))
  }

  /** Records the error of a commit, and returns the error to throw. */
  noteCommit(error: unknown): unknown {
    const isLost = error instanceof QueryFailedError && problemOf(error) === 'lost'
    if (!isLost || wasNotSent(error)) return this.note(error)
    this.transaction.server?.note(error)
    return (this.failure = new OutcomeUnknown({ cause: error }))
  }

  /** Forgets a failure that was rolled back with its savepoint. */
  recover(): void {
    this.failure = undefined
  }

  /** Whether a commit might not succeed, because a statement has failed. */
  get isInDoubt(): boolean {
    return this.endError !== undefined || this.failure !== undefined
  }

  /**
   * Checks that a commit would succeed.
   *
   * @throws the error that has ended the transaction
   * @throws TransactionAborted (after a conflict, TransactionConflict) when PostgreSQL rejects all statements
   *   because of an error that the handler has caught
   */
  async check(): Promise<void> {
    if (this.endError) throw this.endError
    if (this.failure === undefined || !this.engine.failureAborts) return
    await this.transaction.runner.query('SELECT 1').catch((error: unknown) => {
      throw this.note(error)
    })
  }

  private get engine(): Engine {
    return engineOf(this.transaction.runner.dataSource)
  }

  /** The error for a transaction in which PostgreSQL rejects all statements after an earlier failure. */
  private abortError(): Error {
    const explained = explainDatabaseError(this.failure)
    return explained instanceof TransactionConflict
      ? explained
      : new TransactionAborted({ cause: this.failure })
  }
}

function lostError(cause: unknown): ServiceUnavailable {
  return new ServiceUnavailable('The connection to the database was lost.', 5, { cause })
}
