import { QueryFailedError } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import { ServiceUnavailable, TransactionAborted, TransactionConflict } from '../../errors.js'
import { explainDatabaseError } from '../database-errors.js'
import type { Engine } from '../engines/engine.js'
import { problemOf } from '../engines/problems.js'
import { engineOf } from '../engines/engines.js'

/**
 * Whether a transaction can still be committed. A handler may catch an error of the database after which the engine cannot
 * commit: MariaDB has rolled back and would commit each later statement on its own, and PostgreSQL silently rolls back
 * instead of committing.
 */
export class TransactionHealth {
  /** The error that has ended the transaction. */
  private end: unknown
  /** The error of the last statement that failed. */
  private failure: unknown
  private isLost = false

  constructor(private readonly runner: QueryRunner) {}

  /** Whether the connection was lost during the transaction. */
  get isConnectionLost(): boolean {
    return this.isLost
  }

  /** Runs a query. If an error has already ended the transaction, that error is thrown again. */
  async watch<T>(query: () => Promise<T>): Promise<T> {
    if (this.end) throw this.end
    try {
      return await query()
    } catch (error) {
      throw this.note(error)
    }
  }

  /** Records the error of a statement, and returns the error to throw. */
  note(error: unknown): unknown {
    const problem = error instanceof QueryFailedError ? problemOf(error) : undefined
    if (problem === 'aborted') return this.abortion()
    // When a PostgreSQL connection breaks, TypeORM releases the query runner, and then refuses to use it.
    const isGone = problem === 'lost' || (this.runner.isReleased && !(error instanceof QueryFailedError))
    const thrown = isGone && !problem ? lost(error) : error
    this.failure = thrown
    this.isLost ||= isGone
    if (isGone || (problem === 'conflict' && this.engine.conflictRollsBack)) this.end ??= thrown
    return thrown
  }

  /** Forgets a failure that was rolled back with its savepoint. */
  recover(): void {
    this.failure = undefined
  }

  /**
   * Checks that a commit would succeed.
   *
   * @throws the error that has ended the transaction
   * @throws TransactionAborted when an error that the handler has caught has ended it in PostgreSQL
   */
  async check(): Promise<void> {
    if (this.end) throw this.end
    if (this.failure === undefined || !this.engine.failureAborts) return
    await this.watch(() => this.runner.query('SELECT 1'))
  }

  private get engine(): Engine {
    return engineOf(this.runner.dataSource)
  }

  /** The error for a transaction in which PostgreSQL rejects all statements after an earlier failure. */
  private abortion(): unknown {
    const explained = explainDatabaseError(this.failure)
    return explained instanceof TransactionConflict
      ? explained
      : new TransactionAborted({ cause: this.failure })
  }
}

function lost(cause: unknown): ServiceUnavailable {
  return new ServiceUnavailable('The connection to the database was lost.', 5, { cause })
}
