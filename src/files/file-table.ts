import { randomBytes } from 'node:crypto'
import { QueryFailedError, Table, type EntityManager, type ObjectLiteral, type QueryRunner } from 'typeorm'
import { ExpiringTable, inParts, newId, problemOf } from '../extension.js'
import { column, type Database } from '../index.js'
import { readRow, type FileRow } from './stored-file.js'

/**
 * The table of stored files, for a migration.
 *
 * @example await runner.createTable(storedFilesTable(runner))
 */
export function storedFilesTable(runner: QueryRunner, name = 'stored_files'): Table {
  const isNullable = true
  return new Table({
    name,
    columns: [
      column(runner, 'id', 'uuid', { isPrimary: true }),
      column(runner, 'key', 'string', { length: '64' }),
      column(runner, 'filename', 'string'),
      column(runner, 'content_type', 'string', { length: '100' }),
      column(runner, 'byte_size', 'bigint'),
      column(runner, 'sha256', 'string', { length: '64' }),
      column(runner, 'width', 'int', { isNullable }),
      column(runner, 'height', 'int', { isNullable }),
      column(runner, 'original_id', 'uuid', { isNullable }),
      column(runner, 'variant', 'string', { length: '40', isNullable }),
      // Milliseconds since 1970, the same in every engine and time zone; null while a record has the file.
      column(runner, 'expires_at', 'bigint', { isNullable }),
      column(runner, 'created_at', 'bigint'),
    ],
    indices: [
      { name: `${name}_key`, columnNames: ['key'], isUnique: true },
      { name: `${name}_expires_at`, columnNames: ['expires_at'] },
      { name: `${name}_variant`, columnNames: ['original_id', 'variant'], isUnique: true },
    ],
    foreignKeys: [
      {
        name: `${name}_original`,
        columnNames: ['original_id'],
        referencedTableName: name,
        referencedColumnNames: ['id'],
      },
    ],
  })
}

/** A file that has no row yet. */
export type NewFile = Omit<FileRow, 'id' | 'key' | 'original_id' | 'variant' | 'expires_at'> &
  Partial<Pick<FileRow, 'original_id' | 'variant' | 'expires_at'>>

/** The rows of stored files. Times are milliseconds since 1970. */
export class FileTable extends ExpiringTable {
  /** @param keepUnused the milliseconds for which a file without a record is kept */
  constructor(
    database: Database,
    name: string,
    readonly keepUnused: number,
    now: () => number,
  ) {
    super(database, { name, describe: storedFilesTable, expiresAt: 'expires_at', now })
  }

  /** Inserts a row for each file, before its bytes are written, in a short transaction of its own. */
  async add(files: readonly NewFile[]): Promise<FileRow[]> {
    const created_at = this.now()
    const rows = files.map((file) => ({
      expires_at: this.expiry,
      original_id: null,
      variant: null,
      ...file,
      id: newId(),
      key: randomBytes(20).toString('hex'),
      created_at,
    }))
    await this.insert(rows)
    return rows
  }

  /** Reads rows by their ids. */
  async find(ids: readonly string[], tx?: EntityManager): Promise<readonly FileRow[]> {
    return inParts(ids, (part) => this.read('file.id IN (:...part)', { part }, tx))
  }

  /** Reads the variants of an image, or the one with a name. */
  findVariants(id: string, name?: string): Promise<FileRow[]> {
    const where = 'file.original_id = :id'
    return this.read(name === undefined ? where : `${where} AND file.variant = :name`, { id, name })
  }

  /** The rows of the files that records have. */
  findKept(): Promise<FileRow[]> {
    return this.read('file.expires_at IS NULL')
  }

  /** Those of the keys that a file has. */
  async findKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    // MariaDB reserves the word.
    const where = `file.${this.database.driver.escape('key')} IN (:...part)`
    const rows = await inParts(keys, (part) => this.read(where, { part }))
    return new Set(rows.map(({ key }) => key))
  }

  /** Rows that have expired, except those with some ids. */
  findExpired(limit: number, except: readonly string[]): Promise<FileRow[]> {
    const isOther = except.length > 0 ? ' AND file.id NOT IN (:...except)' : ''
    return this.read(`file.expires_at <= :now${isOther}`, { now: this.now(), except }, undefined, limit)
  }

  private async read(
    where: string,
    values: ObjectLiteral = {},
    tx = this.database.manager,
    limit?: number,
  ): Promise<FileRow[]> {
    const query = tx.createQueryBuilder().select('file.*').from(this.table, 'file').where(where, values)
    return (await query.limit(limit).getRawMany<ObjectLiteral>()).map(readRow)
  }

  /** Gives files to a record. Returns how many of them were there, and had no record. */
  async keep(tx: EntityManager, ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0
    const values = { ids, now: this.now() }
    return this.setExpiry(null, 'id IN (:...ids) AND expires_at > :now', values, tx)
  }

  /** Lets files expire that no record has any more. */
  async release(tx: EntityManager, ids: readonly string[]): Promise<void> {
    if (ids.length > 0) await this.setExpiry(this.expiry, 'id IN (:...ids)', { ids }, tx)
  }

  /** Notes that a record has a file. */
  async markUsed(id: string): Promise<void> {
    await this.update(id, { expires_at: null })
  }

  /**
   * Lets files expire that no attribute refers to, although nothing has released them: their record was deleted by a cascade or by SQL.
   *
   * @param references the tables and columns that can refer to a file
   */
  async releaseForgotten(references: readonly { table: string; column: string }[]): Promise<void> {
    const escape = (path: string) =>
      path
        .split('.')
        .map((part) => this.database.driver.escape(part))
        .join('.')
    const unused = references.map(({ table, column: name }) => {
      const reference = escape(`${table}.${name}`)
      return `NOT EXISTS (SELECT 1 FROM ${escape(table)} WHERE ${reference} = ${escape(`${this.table}.id`)})`
    })
    await this.setExpiry(this.expiry, ['expires_at IS NULL', 'original_id IS NULL', ...unused].join(' AND '))
  }

  /**
   * Gives a row a new id, so that nothing can refer to it any more. The foreign keys of the database reject this if anything does,
   * even if SQL has written it.
   *
   * @returns the new id; `used` if something refers to the row; undefined if it has not expired, or is gone
   */
  async detach({ id, original_id }: FileRow): Promise<string | 'used' | undefined> {
    const changed = newId()
    // A variant has no time of its own: it goes with its image.
    const isDue = original_id === null ? 'id = :id AND expires_at <= :now' : 'id = :id'
    const query = this.database.createQueryBuilder().update(this.table).set({ id: changed })
    query.where(isDue, { id, now: this.now() })
    try {
      const { affected } = await this.run(() => query.execute())
      return affected ? changed : undefined
    } catch (error) {
      if (error instanceof QueryFailedError && ['reference', 'referenced'].includes(String(problemOf(error))))
        return 'used'
      throw error
    }
  }

  /** The numbers of files that records have and that they do not have, without variants, and the bytes of all. */
  async count(): Promise<{ kept: number; unused: number; bytes: number }> {
    const originals = 'CASE WHEN file.original_id IS NULL THEN'
    const row = await this.database
      .createQueryBuilder()
      .from(this.table, 'file')
      .select(`COUNT(${originals} file.expires_at END)`, 'unused')
      .addSelect(`COUNT(${originals} 1 END)`, 'files')
      .addSelect('SUM(file.byte_size)', 'bytes')
      .getRawOne<Record<'unused' | 'files' | 'bytes', unknown>>()
    const [unused, bytes] = [Number(row?.unused), Number(row?.bytes ?? 0)]
    return { kept: Number(row?.files) - unused, unused, bytes }
  }

  /** The time at which a file expires that no record has. */
  private get expiry(): number {
    return this.now() + this.keepUnused
  }

  private async setExpiry(
    expires_at: number | null,
    where: string,
    values: ObjectLiteral = {},
    tx = this.database.manager,
  ): Promise<number> {
    const query = tx.createQueryBuilder().update(this.table).set({ expires_at }).where(where, values)
    const { affected } = await this.run(() => query.execute(), tx)
    return affected ?? 0
  }
}
