import { constants, existsSync, rmSync } from 'node:fs'
import { access, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { DataSource, QueryRunner, ReplicationMode } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js'
import { ServiceUnavailable, ValidationErrors } from '../../../errors.js'
import { humanize } from '../../../names.js'
import { kindOf } from '../../attributes.js'
import { PooledSqliteQueryRunner } from './pooled-query-runner.js'
import { SqliteConnection } from './connection.js'
import type { Sqlite } from './connection.js'
import { SqlitePool } from './pool.js'
import type { PoolOptions } from './pool.js'
import { isTooLong } from '../../text-length.js'

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
  /** The file that is open, and what tells it from any other. */
  private file: { path: string; identity: string | undefined } | undefined

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
    if (existsSync(path)) await access(path, constants.W_OK)
    const open = () => SqliteConnection.open(this.sqlite, path, isPrivate, this.pooling.acquireTimeout)
    const pool = new SqlitePool(open, this.pooling)
    try {
      this.databaseConnection = (await pool.share()).database
      this.file = { path, identity: await identityOf(path) }
      this.current = pool
    } catch (error) {
      await this.removePrivateFile()
      throw error
    }
  }

  /**
   * Looks whether the file is still the one that was opened. SQLite would not notice, and write where nobody reads.
   *
   * @throws ServiceUnavailable when it has been deleted, or when there is another one in its place
   */
  async check(): Promise<void> {
    if (!this.file) return
    const { path, identity } = this.file
    const found = await identityOf(path)
    if (found === identity) return
    const what = found ? 'replaced by another file' : 'deleted'
    throw new ServiceUnavailable(`The database file ${path} was ${what}. Restart the application.`, 5)
  }

  override async disconnect(): Promise<void> {
    this.current?.close()
    this.current = undefined
    this.file = undefined
    await this.removePrivateFile()
  }

  /** A query runner of its own for every caller. Those of mode `slave` begin transactions that read. */
  override createQueryRunner(mode: ReplicationMode): QueryRunner {
    return new PooledSqliteQueryRunner(this, mode)
  }

  /**
   * SQLite stores decimals as floating point numbers, which keep 15 digits, and takes texts of any length.
   *
   * @throws ValidationErrors (422) for a decimal that has more, which would be changed silently, and for a text that is
   * longer than its column says, as the other engines do
   */
  override preparePersistentValue(value: unknown, column: ColumnMetadata): unknown {
    const prepared: unknown = super.preparePersistentValue(value, column)
    if (typeof prepared === 'string' && kindOf(column.type) === 'decimal' && digitsOf(prepared) > 15)
      throw tooManyDigits(column)
    if (typeof prepared === 'string' && isTooLong(prepared, column)) throw tooLong(column)
    return prepared
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

/** What tells a file from any other, also from one of its name; undefined when there is none. */
async function identityOf(path: string): Promise<string | undefined> {
  return stat(path).then(
    ({ dev, ino }) => `${dev}:${ino}`,
    () => undefined,
  )
}

/** How many digits of a decimal number count: without leading zeros, and those that end its fraction. */
function digitsOf(decimal: string): number {
  const plain = decimal.includes('.') ? decimal.replace(/0+$/, '') : decimal
  return plain.replaceAll(/\D/g, '').replace(/^0+/, '').length
}

function tooLong(column: ColumnMetadata): ValidationErrors {
  const attribute = humanize(column.propertyName)
  return new ValidationErrors().add(column.propertyPath, 'too_long', `${attribute} is too long.`, {
    attribute,
  })
}

function tooManyDigits(column: ColumnMetadata): ValidationErrors {
  const attribute = humanize(column.propertyName)
  return new ValidationErrors().add(
    column.propertyPath,
    'digits',
    `${attribute} must have 15 digits or fewer.`,
    { attribute, max: 15 },
  )
}
