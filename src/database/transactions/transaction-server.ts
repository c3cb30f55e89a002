import type { QueryRunner } from 'typeorm'
import type { BeginOptions } from './lazy-transaction.js'

/** The server of a transaction, on a database that has several. */
export interface TransactionServer {
  /** Whether it reads from a replica. */
  readonly isReplica: boolean
  /** Chooses the server of a runner that has no connection yet. Returns undefined if there is nothing to wait for. */
  choose(runner: QueryRunner, options: BeginOptions): Promise<void> | undefined
  /** Commits a transaction that has begun. */
  commit(runner: QueryRunner, hasWritten: boolean): Promise<void>
  /** Ends a request that has read without a transaction. */
  end(runner: QueryRunner): Promise<void>
  /** Ends a request that is rolled back. */
  fail(): void
  /** Receives the error of a statement. */
  note(error: unknown): void
}
