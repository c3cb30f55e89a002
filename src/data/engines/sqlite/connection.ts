import type { Database, Options } from 'better-sqlite3'
import { ServiceUnavailable } from '../../../errors.js'
import { BoundedMap } from '../../../common/memoize.js'
import { retry } from '../../../common/retry.js'
import { SqliteCounts } from './cached-counts.js'
import { SqliteStatement } from './statement.js'
import type { StatementResult } from './statement.js'

/** The constructor of better-sqlite3, as the driver loads it. */
export type Sqlite = new (path: string, options: Options) => Database

const STATEMENTS_KEPT = 500

/** A connection to a SQLite file, with its prepared statements. */
export class SqliteConnection {
  private readonly statements = new BoundedMap<SqliteStatement>(STATEMENTS_KEPT)
  private mayHaveSettings = false
  private counts: SqliteCounts | undefined

  constructor(readonly database: Database) {}

  /** Opens a connection, and switches the file to WAL mode if necessary. */
  static async open(
    sqlite: Sqlite,
    path: string,
    isPrivate: boolean,
    lockTimeout: number,
  ): Promise<SqliteConnection> {
    // SQLite's own busy timeout blocks the event loop. `run` waits for other processes instead.
    const database = new sqlite(path, { timeout: 0 })
    // SQLite's own has no milliseconds. TypeORM writes it for `softRemove`, and migrations have it as a default.
    database.function('current_timestamp', () => new Date().toISOString().slice(0, -1).replace('T', ' '))
    const settings = isPrivate ? ['synchronous = OFF'] : ['synchronous = NORMAL']
    try {
      await waitForLock(() => {
        if (database.pragma('journal_mode', { simple: true }) !== 'wal') database.pragma('journal_mode = WAL')
        for (const setting of [...settings, 'foreign_keys = ON']) database.pragma(setting)
      }, performance.now() + lockTimeout)
    } catch (error) {
      database.close()
      throw error
    }
    return new SqliteConnection(database)
  }

  get isInTransaction(): boolean {
    return this.database.inTransaction
  }

  /** Runs a statement. Retries while another process holds a lock, until the deadline (of `performance.now()`). */
  run(statement: SqliteStatement, parameters: unknown[], deadline: number): Promise<StatementResult> {
    return waitForLock(() => this.execute(statement, parameters), deadline)
  }

  /** Runs a statement without waiting; undefined if another process holds a lock or has just written. */
  runNow(statement: SqliteStatement, parameters: unknown[]): StatementResult | undefined {
    try {
      return this.execute(statement, parameters)
    } catch (error) {
      if (isBusy(error) || isStale(error)) return undefined
      throw error
    }
  }

  private execute(statement: SqliteStatement, parameters: unknown[]): StatementResult {
    if (!statement.isCount) return statement.execute(parameters)
    return (this.counts ??= new SqliteCounts(this.database)).count(statement, parameters)
  }

  /**
   * Prepares a statement, or returns it from a cache, which drops the oldest statements. It is `readonly` if it cannot
   * change the database, whether it returns rows or not.
   */
  prepare(sql: string): SqliteStatement {
    let statement = this.statements.get(sql)
    if (!statement) this.statements.set(sql, (statement = new SqliteStatement(this.database.prepare(sql))))
    if (statement.setsSomething) this.mayHaveSettings = true
    return statement
  }

  /** Resets the connection to its initial state: no transaction, foreign keys enforced. */
  reset(): void {
    if (this.isInTransaction) this.database.exec('ROLLBACK')
    if (this.mayHaveSettings) this.database.pragma('foreign_keys = ON')
    this.mayHaveSettings = false
  }

  close(): void {
    this.statements.clear()
    this.database.close()
  }
}

/**
 * Retries while another process holds a lock.
 *
 * @throws ServiceUnavailable when the lock is still held at the deadline
 */
async function waitForLock<T>(work: () => T, deadline: number): Promise<T> {
  try {
    return await retry(work, { isTemporary: isBusy, deadline, first: 1, max: 16 })
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new ServiceUnavailable('The database is busy with another process.', 1, { cause: error })
  }
}

/** Whether a statement failed because another process holds a lock, so that a retry may succeed. */
function isBusy(error: unknown): boolean {
  return ['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_BUSY_TIMEOUT', 'SQLITE_PROTOCOL'].includes(
    codeOf(error) ?? '',
  )
}

/** Whether a transaction tried to write after another one changed the database that it had read. */
export function isStale(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_BUSY_SNAPSHOT'
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
