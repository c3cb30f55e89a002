import type { Database, Statement } from 'better-sqlite3'
import { BoundedMap } from '../../../memoize.js'
import type { Outcome, SqliteStatement } from './statement.js'

/** A count, and the state of the database that it is of. */
interface KeptCount {
  version: unknown
  outcome: Outcome
}

/** What `paginate` calls its counts: a query of the application's own may come to something else each time. */
export const COUNTED = 'counted_records'

/** Whether a statement is how `paginate` counts. */
export function isCount(sql: string): boolean {
  return sql.startsWith(`SELECT COUNT(*) AS "${COUNTED}" FROM`)
}

/** Counts that have taken longer than this, in milliseconds, are kept from then on. */
const long = 0.5

/** So many counts are kept. */
const mostKept = 100

/**
 * What counting has come to, until the database changes: of a million rows it takes as long as reading many pages. Only
 * a connection that has never written keeps it; it learns from SQLite whether another one has.
 */
export class SqliteCounts {
  private readonly kept = new BoundedMap<KeptCount>(mostKept)
  private readonly slow = new WeakSet<SqliteStatement>()
  private readonly dataVersion: Statement
  private readonly changes: Statement

  constructor(database: Database) {
    this.dataVersion = database.prepare('PRAGMA data_version').pluck()
    this.changes = database.prepare('SELECT total_changes()').pluck()
  }

  /** Counts, unless it is known what comes out. */
  count(statement: SqliteStatement, parameters: unknown[]): Outcome {
    return this.slow.has(statement) ? this.recall(statement, parameters) : this.time(statement, parameters)
  }

  /** Counts, and notes whether it takes long. */
  private time(statement: SqliteStatement, parameters: unknown[]): Outcome {
    const began = performance.now()
    const outcome = statement.execute(parameters)
    if (performance.now() - began > long) this.slow.add(statement)
    return outcome
  }

  private recall(statement: SqliteStatement, parameters: unknown[]): Outcome {
    const key = `${statement.sql} ${JSON.stringify(parameters)}`
    const known = this.kept.get(key)
    const version = this.version()
    if (known && known.version === version) return { rows: [...(known.outcome.rows ?? [])] }
    const outcome = statement.execute(parameters)
    if (version !== undefined) this.kept.set(key, { version, outcome })
    return outcome
  }

  /** The state of the database; undefined where this connection has written, for SQLite does not tell it of its own work. */
  private version(): unknown {
    return this.changes.get() === 0 ? this.dataVersion.get() : undefined
  }
}
