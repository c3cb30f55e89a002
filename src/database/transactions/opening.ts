import type { QueryRunner } from 'typeorm'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'

/** How a request's transaction begins. */
export interface BeginOptions {
  /** The isolation level. The default is the engine's. SQLite ignores it: it is serializable. */
  isolation?: IsolationLevel | undefined
  /** Whether it is read-only (no). The database rejects writes, and SQLite waits for no lock. */
  readOnly?: boolean | undefined
  /**
   * Whether it may read from a replica. The default is yes, unless the request sends `Authorization` without
   * a position, because its client may just have written. Without `replicas`, it does nothing.
   */
  replica?: boolean | undefined
}

/**
 * Opens the server of a transaction, on a database with several servers. It is called once, before the
 * transaction takes a connection.
 *
 * @param primary a query runner without a connection, which would take one of the primary
 */
export type Open = (primary: QueryRunner, options: BeginOptions) => Promise<OpenServer>

/** The server of a transaction, to which the transaction reports its failures and its end. */
export interface OpenServer {
  /** The runner of the transaction: `primary`, or one that takes a connection of a replica. */
  readonly runner: QueryRunner
  /** Whether the server is a replica, which only reads. */
  readonly isReplica: boolean
  /** Receives the error of a statement. */
  note(error: unknown): void
  /** Commits a transaction that has begun. */
  commit(hasWritten: boolean): Promise<void>
  /** Ends a request that has read without a transaction. */
  end(): Promise<void>
  /** Ends a request that is rolled back. */
  fail(): void
}
