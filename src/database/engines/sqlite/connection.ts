import type { Database, Options } from 'better-sqlite3'
import { ServiceUnavailable } from '../../../errors.js'
import { BoundedMap } from '../../../common/memoize.js'
import { retry } from '../../../common/retry.js'
import { SqliteCounts } from './cached-counts.js'
import { SqliteStatement, type StatementResult } from './statement.js'

/** The constructor of better-sqlite3, as the driver loads it. */
export type Sqlite = new (path: string, options: Options) => Database

/** A connection to a SQLite file, with its prepared statements. */
export class SqliteConnection {
  private readonly statements = new BoundedMap<SqliteStatement>(500)
  private mayHaveSettings = false
  private counts: SqliteCounts | undefined

  constructor(readonly database: Database) {}

  /** Opens a file, unless it is locked for `lockTimeout` milliseconds. A private file may be lost. */
  static async open(sqlite: Sqlite, path: string, isPrivate: boolean, lockTimeout: number) {
    // SQLite's own busy timeout blocks the event loop. `run` waits for other processes instead.
    const database = new sqlite(path, { timeout: 0 })
    // SQLite's own function has no milliseconds. TypeORM calls it for `softRemove`, and migrations use it as
    // a default.
    database.function('current_timestamp', () => new Date().toISOString().slice(0, -1).replace('T', ' '))
    try {
      await waitForLock(() => {
        if (database.pragma('journal_mode', { simple: true }) !== 'wal') database.pragma('journal_mode = WAL')
        database.pragma(`synchronous = ${isPrivate ? 'OFF' : 'NORMAL'}`)
        database.pragma('foreign_keys = ON')
      }, performance.now() + lockTimeout)
    } catch (error) {
      database.close()
      throw error
    }
    return new SqliteConnection(database)
  }

  /** Runs a statement. Retries while a lock is held, until the deadline (`performance.now()`). */
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

  /** Prepares a statement, or returns it from the cache. */
  prepare(sql: string): SqliteStatement {
    let statement = this.statements.get(sql)
    if (!statement) this.statements.set(sql, (statement = new SqliteStatement(this.database.prepare(sql))))
    if (statement.setsSomething) this.mayHaveSettings = true
    return statement
  }

  /** Resets the connection to its initial state: no transaction, foreign keys enforced. */
  reset(): void {
    if (this.database.inTransaction) this.database.exec('ROLLBACK')
    if (this.mayHaveSettings) this.database.pragma('foreign_keys = ON')
    this.mayHaveSettings = false
  }

  close(): void {
    this.statements.clear()
    this.database.close()
  }
}

/** Retries while another process holds a lock. At the deadline, throws ServiceUnavailable. */
async function waitForLock<T>(work: () => T, deadline: number): Promise<T> {
  try {
    return await retry(work, { isTemporary: isBusy, deadline, first: 1, max: 16 })
  } catch (error) {
    if (!isBusy(error)) throw error
    throw new ServiceUnavailable('The database is busy with another process.', 1, { cause: error })
  }
}

/** The codes of a statement that failed because another process holds a lock. */
const BUSY: unknown[] = ['SQLITE_BUSY', 'SQLITE_BUSY_RECOVERY', 'SQLITE_BUSY_TIMEOUT', 'SQLITE_PROTOCOL']

function isBusy(error: unknown): boolean {
  return BUSY.includes(Object(error).code)
}

/** Whether a transaction tried to write after another one changed the database that it had read. */
export function isStale(error: unknown): boolean {
  return Object(error).code === 'SQLITE_BUSY_SNAPSHOT'
}
