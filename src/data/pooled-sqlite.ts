import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { DataSource, QueryRunner, ReplicationMode } from 'typeorm'
import { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js'
import { PooledSqliteQueryRunner } from './pooled-sqlite-runner.js'
import { SqliteConnection } from './sqlite-connection.js'
import type { Sqlite } from './sqlite-connection.js'
import { SqlitePool } from './sqlite-pool.js'
import type { PoolOptions } from './sqlite-pool.js'

/**
 * TypeORM's SQLite driver with connections of their own for transactions. TypeORM's has one connection and one query
 * runner for everybody, so that concurrent transactions become one (its issue 1884).
 *
 * Transactions that write wait in line for each other; those that only read (of a query runner whose mode is `slave`)
 * and single reads wait for nobody. `:memory:` is a private file that is deleted in the end, for several
 * connections see the same data.
 */
export class PooledSqliteDriver extends BetterSqlite3Driver {
  /** Loaded by TypeORM. */
  declare readonly sqlite: Sqlite
  private current: SqlitePool | undefined
  private folder: string | undefined

  constructor(
    dataSource: DataSource,
    private readonly pooling: PoolOptions,
  ) {
    super(dataSource)
    // TypeORM's `datetime('now')` knows no milliseconds.
    const now = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    Object.assign(this.mappedDataTypes, { createDateDefault: now, updateDateDefault: now })
  }

  /** The connections; there are none before `connect` and after `disconnect`. */
  get pool(): SqlitePool {
    if (!this.current) throw new Error('The database is not open. Call `await database.open()` first.')
    return this.current
  }

  override async connect(): Promise<void> {
    const isPrivate = this.options.database === ':memory:'
    const path = isPrivate ? await this.makePrivateFile() : this.options.database
    await mkdir(dirname(path), { recursive: true })
    const open = () => SqliteConnection.open(this.sqlite, path, isPrivate, this.pooling.patience)
    const pool = new SqlitePool(open, this.pooling)
    try {
      this.databaseConnection = (await pool.share()).database
      this.current = pool
    } catch (error) {
      await this.removePrivateFile()
      throw error
    }
  }

  override async disconnect(): Promise<void> {
    this.current?.close()
    this.current = undefined
    await this.removePrivateFile()
  }

  /** A query runner of its own for every caller. Those of mode `slave` begin transactions that read. */
  override createQueryRunner(mode: ReplicationMode): QueryRunner {
    return new PooledSqliteQueryRunner(this, mode)
  }

  private async makePrivateFile(): Promise<string> {
    this.folder = await mkdtemp(join(tmpdir(), 'kit-sqlite-'))
    process.once('exit', this.removeAtExit)
    return join(this.folder, 'memory.sqlite')
  }

  private async removePrivateFile(): Promise<void> {
    if (this.folder) await rm(this.folder, { recursive: true, force: true })
    this.folder = undefined
    process.removeListener('exit', this.removeAtExit)
  }

  private readonly removeAtExit = (): void => {
    if (this.folder) rmSync(this.folder, { recursive: true, force: true })
  }
}
