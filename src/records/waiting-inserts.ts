import type { EntityManager } from 'typeorm'
import type { Waiting } from '../database/transactions/lazy-transaction.js'
import { TransactionManager } from '../database/transactions/transaction-manager.js'
import { explainDatabaseError } from '../database/database-errors.js'
import { ValidationErrors } from '../errors.js'
import type { Model } from '../models/model.js'

/** The most rows of a statement, and the most parameters, of which each engine accepts more. */
const limits = { rows: 500, values: 20_000 }

/** The part of `Rows` that writes several new rows. */
export interface InsertingRows {
  /** The name of the table in statements. */
  readonly table: string
  /** Writes the values of a new row in SQL, and adds their parameters. */
  writeNewRow(record: Model, values: unknown[]): string
  /** Inserts rows that have been written. */
  insertWritten(tx: EntityManager, rows: readonly string[], values: unknown[]): Promise<unknown>
}

/** A record that could not be inserted. */
export interface FailedInsert<Owner> {
  record: Model
  error: unknown
  owner: Owner | undefined
}

/** Rows of one table that are sent by one statement. */
interface Batch<Owner> {
  rows: InsertingRows
  isBeside: boolean
  records: { record: Model; owner: Owner | undefined; row: string }[]
  values: unknown[]
}

/**
 * The inserts of an import, which are sent together: no record is stored unless all are. Any other statement
 * sends them first, unless the framework only reads other tables.
 */
export class WaitingInserts<Owner> implements Waiting {
  /** The line to which the next records belong. */
  owner: Owner | undefined
  /** The records that the database has rejected. */
  readonly failed: FailedInsert<Owner>[] = []
  private batches: Batch<Owner>[] = []
  private sending: Promise<void> | undefined

  constructor(private readonly tx: EntityManager) {}

  /**
   * Adds the row of a record.
   *
   * @param isBeside whether nothing refers to the row, so that it is sent after the rows of another table
   */
  async add(rows: InsertingRows, record: Model, isBeside = false): Promise<void> {
    const own = this.batches.find((batch) => batch.rows === rows)
    const isFull = own && (own.records.length >= limits.rows || own.values.length >= limits.values)
    const isOther = !isBeside && !own && this.batches.some((batch) => !batch.isBeside)
    if (isFull || isOther) await this.send()
    const batch = (!isFull && own) || { rows, isBeside, records: [], values: [] }
    if (batch !== own) this.batches.push(batch)
    batch.records.push({ record, owner: this.owner, row: rows.writeNewRow(record, batch.values) })
  }

  before(sql: string | undefined): Promise<void> | undefined {
    if (this.batches.length === 0 || (sql !== undefined && this.isOfOthers(sql))) return undefined
    return this.send()
  }

  /** Sends the rows. If that fails, sends them one by one, to find those that the database rejects. */
  async send(): Promise<void> {
    this.sending ??= this.sendAll().finally(() => (this.sending = undefined))
    return this.sending
  }

  private async sendAll(): Promise<void> {
    const { batches } = this
    this.batches = []
    for (const batch of batches) await this.sendBatch(batch)
  }

  private async sendBatch({ rows, records, values }: Batch<Owner>): Promise<void> {
    const written = records.map(({ row }) => row)
    try {
      await rows.insertWritten(this.tx, written, values)
    } catch (error) {
      const metadata = this.tx.dataSource.getMetadata(records[0]?.record.constructor ?? Object)
      // Not one of the rows is wrong, but the disk is full, or another request won a deadlock. The transaction may have ended.
      if (!(explainDatabaseError(error, metadata, [metadata]) instanceof ValidationErrors)) throw error
      for (const { record, owner } of records) {
        const own: unknown[] = []
        const row = rows.writeNewRow(record, own)
        await rows
          .insertWritten(this.tx, [row], own)
          .catch((error: unknown) => void this.failed.push({ record, error, owner }))
      }
    }
  }

  /** Whether a statement only reads other tables. */
  private isOfOthers(sql: string): boolean {
    return /^\s*SELECT\b/i.test(sql) && !this.batches.some(({ rows }) => sql.includes(rows.table))
  }
}

/** The waiting inserts of a transaction, if it belongs to an import. */
export function waitingInsertsOf(tx: EntityManager): WaitingInserts<unknown> | undefined {
  const waiting = tx instanceof TransactionManager ? tx.waiting : undefined
  return waiting instanceof WaitingInserts ? waiting : undefined
}
