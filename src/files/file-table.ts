import { randomBytes } from 'node:crypto'
import { QueryFailedError, type EntityManager, type ObjectLiteral } from 'typeorm'
import { explainMissingTable, inParts, newId, problemOf, retryConflicts } from '../extension.js'
import type { Database } from '../index.js'
import { readRow, type FileRow } from './stored-file.js'

/** A file that has no row yet. */
export type NewFile = Pick<
  FileRow,
  'filename' | 'content_type' | 'byte_size' | 'sha256' | 'width' | 'height'
> &
  Partial<Pick<FileRow, 'original_id' | 'variant' | 'expires_at'>>

/** The columns of a row. */
const COLUMNS = [
  'id',
  'key',
  'filename',
  'content_type',
  'byte_size',
  'sha256',
  'width',
  'height',
  'original_id',
  'variant',
  'expires_at',
] as const

/** The columns in a query that joins the table as `file`. MariaDB reserves the word `key`. */
export function fileColumns({ dataSource: { driver } }: EntityManager): string[] {
  return COLUMNS.map((column) => `file.${driver.escape(column)} AS ${driver.escape(column)}`)
}

/** The rows of stored files. Times are milliseconds since 1970. */
export class FileTable {
  /** @param keepUnused the milliseconds for which a file without a record is kept */
  constructor(
    readonly database: Database,
    readonly name: string,
    readonly keepUnused: number,
    readonly now: () => number,
  ) {}

  /** Inserts a row for each file, before its bytes are written, in a short transaction of its own. */
  async insert(files: readonly NewFile[]): Promise<FileRow[]> {
    const [created_at, expires_at] = [this.now(), this.now() + this.keepUnused]
    const rows = files.map((file): FileRow => ({
      expires_at,
      original_id: null,
      variant: null,
      ...file,
      id: newId(),
      key: randomBytes(20).toString('hex'),
    }))
    // TypeORM writes the values of a table without a model in the order of their names.
    const values = rows.map((row) => ({
      ...Object.fromEntries(COLUMNS.map((column) => [column, row[column]])),
      created_at,
    }))
    const query = () =>
      this.database
        .createQueryBuilder()
        .insert()
        .into(this.name, [...COLUMNS, 'created_at'])
        .values(values)
    await this.run(() => query().updateEntity(false).execute())
    return rows
  }

  /** Reads rows by their ids. */
  async find(ids: readonly string[], tx: EntityManager = this.database.manager): Promise<FileRow[]> {
    const rows = await inParts(ids, (part) =>
      this.select(tx).where('file.id IN (:...part)', { part }).getRawMany<ObjectLiteral>(),
    )
    return rows.map(readRow)
  }

  /** Reads the variant of a file; undefined if it has not been made. */
  async findVariant(original: FileRow, variant: string): Promise<FileRow | undefined> {
    const query = this.select(this.database.manager)
    const values = { id: original.id, variant }
    const row = await query.where('file.original_id = :id AND file.variant = :variant', values).getRawOne()
    return row && readRow(row)
  }

  /** Begins a query for rows. */
  select(tx: EntityManager) {
    return tx.createQueryBuilder().select(fileColumns(tx)).from(this.name, 'file')
  }

  /** The rows of the files that records have. */
  async findKept(): Promise<FileRow[]> {
    const rows = await this.select(this.database.manager).where('file.expires_at IS NULL').getRawMany()
    return rows.map(readRow)
  }

  /** Those of the keys that a file has. */
  async findKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const { manager } = this.database
    const column = `file.${manager.dataSource.driver.escape('key')}`
    const rows = await inParts(keys, (part) =>
      this.select(manager).where(`${column} IN (:...part)`, { part }).getRawMany<ObjectLiteral>(),
    )
    return new Set(rows.map((row) => String(row['key'])))
  }

  /** Gives files to a record. Returns how many of them were there, and had no record. */
  async keep(tx: EntityManager, ids: readonly string[]): Promise<number> {
    const query = tx.createQueryBuilder().update(this.name).set({ expires_at: null })
    const { affected } = await query
      .where('id IN (:...ids) AND expires_at > :now', { ids, now: this.now() })
      .execute()
    return affected ?? 0
  }

  /** Lets files expire that no record has any more. */
  async release(tx: EntityManager, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const query = tx
      .createQueryBuilder()
      .update(this.name)
      .set({ expires_at: this.now() + this.keepUnused })
    await query.where('id IN (:...ids)', { ids }).execute()
  }

  /** Rows that have expired, the variants of an image before the image itself. */
  async findExpired(limit: number, except: readonly string[]): Promise<FileRow[]> {
    const query = this.select(this.database.manager).where('file.expires_at <= :now', { now: this.now() })
    if (except.length > 0) query.andWhere('file.id NOT IN (:...except)', { except })
    const rows = await query.orderBy('file.expires_at').limit(limit).getRawMany<ObjectLiteral>()
    return rows.map(readRow)
  }

  /** The variants of an image. */
  async findVariants(id: string): Promise<FileRow[]> {
    const rows = await this.select(this.database.manager).where('file.original_id = :id', { id }).getRawMany()
    return rows.map(readRow)
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
    try {
      const { affected } = await this.run(() =>
        this.database
          .createQueryBuilder()
          .update(this.name)
          .set({ id: changed })
          .where(isDue, { id, now: this.now() })
          .execute(),
      )
      return affected ? changed : undefined
    } catch (error) {
      if (error instanceof QueryFailedError && ['reference', 'referenced'].includes(String(problemOf(error))))
        return 'used'
      throw error
    }
  }

  /** Notes that a record has a file. */
  async markUsed(id: string): Promise<void> {
    const query = this.database.createQueryBuilder().update(this.name).set({ expires_at: null })
    await this.run(() => query.where('id = :id', { id }).execute())
  }

  async delete(id: string): Promise<void> {
    const query = this.database.createQueryBuilder().delete().from(this.name)
    await this.run(() => query.where('id = :id', { id }).execute())
  }

  /**
   * Lets files expire that no attribute refers to, although nothing has released them: their record was deleted by a cascade or by SQL.
   *
   * @param references the tables and columns that can refer to a file
   */
  async releaseForgotten(references: readonly (readonly [table: string, column: string])[]): Promise<number> {
    const { driver } = this.database
    const own = `${driver.escape(this.name)}.${driver.escape('id')}`
    const isUsed = references.map(([table, column]) => {
      const name = table
        .split('.')
        .map((part) => driver.escape(part))
        .join('.')
      return `NOT EXISTS (SELECT 1 FROM ${name} WHERE ${name}.${driver.escape(column)} = ${own})`
    })
    const where = ['expires_at IS NULL', 'original_id IS NULL', ...isUsed].join(' AND ')
    const query = this.database.createQueryBuilder().update(this.name)
    const { affected } = await this.run(() =>
      query
        .set({ expires_at: this.now() + this.keepUnused })
        .where(where)
        .execute(),
    )
    return affected ?? 0
  }

  /** The numbers of files that records have and that they do not have, and the bytes of all. */
  async count(): Promise<{ kept: number; unused: number; bytes: number }> {
    const rows = await this.database
      .createQueryBuilder()
      .select('CASE WHEN file.expires_at IS NULL THEN 1 ELSE 0 END', 'kept')
      .addSelect('COUNT(*)', 'files')
      .addSelect('SUM(file.byte_size)', 'bytes')
      .from(this.name, 'file')
      .groupBy('CASE WHEN file.expires_at IS NULL THEN 1 ELSE 0 END')
      .getRawMany<Record<string, unknown>>()
    const files = (kept: number) => Number(rows.find((row) => Number(row['kept']) === kept)?.['files'] ?? 0)
    const bytes = rows.reduce((sum, row) => sum + Number(row['bytes']), 0)
    return { kept: files(1), unused: files(0), bytes }
  }

  /** Runs a statement alone. Explains its error if migrations are pending. */
  private async run<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await retryConflicts(work)
    } catch (error) {
      throw await explainMissingTable(this.database, error)
    }
  }
}
