import type { Database, Statement } from 'better-sqlite3'
import { BoundedMap } from '../../../common/memoize.js'
import type { StatementResult, SqliteStatement } from './statement.js'

/** Once a statement has taken longer than this, in milliseconds, its later counts are cached. */
const slowAfter = 0.5

/**
 * Caches counts until the database changes, because counting a million rows takes as long as reading many
 * pages. Only connections that have never written cache them: SQLite reports a connection's changes to all
 * others, not to itself.
 */
export class SqliteCounts {
  /** Counts, with the version of the database in which they were counted. */
  private readonly cached = new BoundedMap<{ version: unknown; outcome: StatementResult }>(100)
  /** The statements that have taken longer than `slowAfter`. */
  private readonly slow = new WeakSet<SqliteStatement>()
  private readonly dataVersion: Statement
  private readonly changes: Statement

  constructor(database: Database) {
    this.dataVersion = database.prepare('PRAGMA data_version').pluck()
    this.changes = database.prepare('SELECT total_changes()').pluck()
  }

  /** Returns the cached count, or counts. */
  count(statement: SqliteStatement, parameters: unknown[]): StatementResult {
    if (this.slow.has(statement)) return this.countCached(statement, parameters)
    const began = performance.now()
    const outcome = statement.execute(parameters)
    if (performance.now() - began > slowAfter) this.slow.add(statement)
    return outcome
  }

  private countCached(statement: SqliteStatement, parameters: unknown[]): StatementResult {
    const key = `${statement.sql} ${JSON.stringify(parameters)}`
    const found = this.cached.get(key)
    // Undefined if this connection has written.
    const version = this.changes.get() === 0 ? this.dataVersion.get() : undefined
    if (found && found.version === version) return { rows: [...(found.outcome.rows ?? [])] }
    const outcome = statement.execute(parameters)
    if (version !== undefined) this.cached.set(key, { version, outcome })
    return outcome
  }
}
