import { QueryFailedError } from 'typeorm'
import type { QueryRunner } from 'typeorm'
import { ServiceUnavailable, TransactionAborted, TransactionConflict } from '../../errors.js'
import { explainDatabaseError } from '../database-errors.js'
import type { Engine } from '../engines/engine.js'
import { problemOf } from '../engines/problems.js'
import { engineOf } from '../engines/engines.js'

/**
 * Whether a transaction can still be committed. A handler may catch an error of the database and go on, when the
 * engine has ended the transaction with it: MariaDB rolls back and would commit each statement after that on its own,
 * PostgreSQL takes the commit for a rollback and says nothing.
 */
export class TransactionHealth {
  /** What has ended the transaction. */
  private end: unknown
  /** The error of the last statement that failed. */
  private failure: unknown
  private isLost = false

  constructor(private readonly runner: QueryRunner) {}

  /** Whether the connection has gone in the middle of the transaction. */
  get isConnectionLost(): boolean {
    return this.isLost
  }

  /** Does what asks the database, unless the transaction has ended with an error before; that one is thrown again. */
  async watch<T>(ask: () => Promise<T>): Promise<T> {
    if (this.end) throw this.end
    try {
      return await ask()
    } catch (error) {
      throw this.note(error)
    }
  }

  /** Notes what a statement has failed with, and returns what is to be thrown. */
  note(error: unknown): unknown {
    const problem = error instanceof QueryFailedError ? problemOf(error) : undefined
    if (problem === 'aborted') return this.abortion()
    // TypeORM gives a connection of PostgreSQL back when it breaks, and then refuses to use it.
    const isGone = problem === 'lost' || (this.runner.isReleased && !(error instanceof QueryFailedError))
    const thrown = isGone && !problem ? lost(error) : error
    this.failure = thrown
    this.isLost ||= isGone
    if (isGone || (problem === 'conflict' && this.engine.conflictRollsBack)) this.end ??= thrown
    return thrown
  }

  /** Forgets the failure of what has been rolled back with its savepoint. */
  recover(): void {
    this.failure = undefined
  }

  /**
   * Makes sure that a commit would commit.
   *
   * @throws what has ended the transaction
   * @throws TransactionAborted when PostgreSQL has, with an error that the handler has caught
   */
  async check(): Promise<void> {
    if (this.end) throw this.end
    if (this.failure === undefined || !this.engine.failureAborts) return
    await this.watch(() => this.runner.query('SELECT 1'))
  }

  private get engine(): Engine {
    return engineOf(this.runner.dataSource)
  }

  /** What PostgreSQL's refusal to go on means, which came after the failure of another statement. */
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
