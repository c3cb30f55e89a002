import { constants, existsSync, rmSync } from 'node:fs'
import { access, mkdir, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { DataSource, QueryRunner, ReplicationMode } from 'typeorm'
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { BetterSqlite3Driver } from 'typeorm/driver/better-sqlite3/BetterSqlite3Driver.js'
import { ServiceUnavailable, ValidationErrors } from '../../../errors.js'
import { humanize } from '../../../naming/words.js'
import { isTooLong, kindOf } from '../../../models/attributes/kinds.js'
import type { ConnectionLimits } from '../connections.js'
import { PooledSqliteQueryRunner } from './pooled-query-runner.js'
import { SqliteConnection, type Sqlite } from './connection.js'
import { SqlitePool } from './pool.js'

/**
 * TypeORM's SQLite driver with a connection for each transaction. TypeORM's own driver has one connection and
 * one query runner for the whole process, so that concurrent transactions become one (TypeORM's issue 1884).
 *
 * Transactions that write wait for each other. Read transactions (of query runners in the mode `slave`) and
 * single reads never wait for a writer. `:memory:` is a private file that is deleted on disconnect, because
 * several connections must see the same data.
 */
export class PooledSqliteDriver extends BetterSqlite3Driver {
  /** The package, which TypeORM loads. */
  declare readonly sqlite: Sqlite
  private current: SqlitePool | undefined
  private folder: string | undefined
  /** The open file, and its identity when it was opened. */
  private file: { path: string; identity: string | undefined } | undefined

  constructor(
    dataSource: DataSource,
    private readonly limits: ConnectionLimits,
  ) {
    super(dataSource)
    // TypeORM's `datetime('now')` has no milliseconds.
    const now = "strftime('%Y-%m-%d %H:%M:%f', 'now')"
    Object.assign(this.mappedDataTypes, { createDateDefault: now, updateDateDefault: now })
  }

  /** The connections. There are none before `connect` and after `disconnect`. */
  get pool(): SqlitePool {
    if (!this.current) throw new Error('The database is not open. Call `await database.open()` first.')
    return this.current
  }

  override async connect(): Promise<void> {
    const isPrivate = this.options.database === ':memory:'
    const path = isPrivate ? await this.makePrivateFile() : this.options.database
    await mkdir(dirname(path), { recursive: true })
    // SQLite opens a file without this permission, too, and rejects the first write.
    if (existsSync(path)) await access(path, constants.W_OK)
    const open = () => SqliteConnection.open(this.sqlite, path, isPrivate, this.limits.acquireTimeout)
    const pool = new SqlitePool(open, this.limits)
    try {
      // TypeORM's property. An error of the file is thrown here instead of by the first query.
      this.databaseConnection = (await pool.share()).database
      this.file = { path, identity: await identityOf(path) }
      this.current = pool
    } catch (error) {
      await this.removePrivateFile()
      throw error
    }
  }

  /**
   * Checks that the file is still the one that was opened. SQLite does not notice, and would write to a
   * deleted file.
   *
   * @throws ServiceUnavailable when the file has been deleted or replaced
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

  override createQueryRunner(mode: ReplicationMode): QueryRunner {
    return new PooledSqliteQueryRunner(this, mode)
  }

  /**
   * SQLite stores decimals as floating-point numbers with 15 digits, and accepts text of any length.
   *
   * @throws ValidationErrors (422) for a decimal with more digits, which would be changed silently, for text
   *   that is longer than its column allows, as on the other engines, and for NaN
   */
  override preparePersistentValue(value: unknown, column: ColumnMetadata): unknown {
    const prepared = this.prepareComparison(value, column)
    // SQLite would store NULL for NaN.
    if (Number.isNaN(prepared)) throw errorOf(column, 'type', 'is not valid')
    if (typeof prepared === 'string' && kindOf(column.type) === 'decimal' && digitsOf(prepared) > 15)
      throw errorOf(column, 'digits', 'must have 15 digits or fewer', { max: 15 })
    if (typeof prepared === 'string' && isTooLong(prepared, column))
      throw errorOf(column, 'too_long', 'is too long')
    return prepared
  }

  /** Prepares a value that is compared with a column, which may be one that the column cannot have. */
  prepareComparison(value: unknown, column: ColumnMetadata): unknown {
    const converted: unknown = super.preparePersistentValue(value, column)
    // In a text column, SQLite would use `12.0` for 12.
    const isText = typeof converted === 'number' && ['string', 'text'].includes(kindOf(column.type) ?? '')
    return isText ? String(converted) : converted
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

/** The identity of a file, even from a later one of its name; undefined if there is none. */
async function identityOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  return found && `${found.dev}:${found.ino}`
}

/** The number of significant digits: without leading zeros, and without zeros at the end of the fraction. */
function digitsOf(decimal: string): number {
  const plain = decimal.includes('.') ? decimal.replace(/0+$/, '') : decimal
  return plain.replaceAll(/\D/g, '').replace(/^0+/, '').length
}

function errorOf(column: ColumnMetadata, rule: string, reason: string, values?: object): ValidationErrors {
  const attribute = humanize(column.propertyName)
  const message = `${attribute} ${reason}.`
  return new ValidationErrors().add(column.propertyPath, rule, message, { attribute, ...values })
}
