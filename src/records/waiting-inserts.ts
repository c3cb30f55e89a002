import type { EntityManager } from 'typeorm'
import type { Waiting } from '../database/transactions/lazy-transaction.js'
import { TransactionManager } from '../database/transactions/transaction-manager.js'
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

/**
 * The inserts of an import, which are sent together: no record is stored unless all are. Any other statement
 * sends them first, unless the framework only reads other tables.
 */
export class WaitingInserts<Owner> implements Waiting {
  /** The line to which the next records belong. */
  owner: Owner | undefined
  /** The records that the database has rejected. */
  readonly failed: FailedInsert<Owner>[] = []
  private rows: InsertingRows | undefined
  private records: { record: Model; owner: Owner | undefined; row: string }[] = []
  private values: unknown[] = []
  private sending: Promise<void> | undefined

  constructor(private readonly tx: EntityManager) {}

  /** Adds the row of a record. */
  async add(rows: InsertingRows, record: Model): Promise<void> {
    if (this.rows !== rows || this.records.length >= limits.rows || this.values.length >= limits.values)
      await this.send()
    this.rows = rows
    this.records.push({ record, owner: this.owner, row: rows.writeNewRow(record, this.values) })
  }

  before(sql: string | undefined): Promise<void> | undefined {
    if (this.records.length === 0 || (sql !== undefined && this.isOfOthers(sql))) return undefined
    return this.send()
  }

  /** Sends the rows. If that fails, sends them one by one, to find those that the database rejects. */
  async send(): Promise<void> {
    if (this.sending) return this.sending
    this.sending = this.sendAll().finally(() => (this.sending = undefined))
    return this.sending
  }

  private async sendAll(): Promise<void> {
    const { rows, records, values } = this
    ;[this.records, this.values] = [[], []]
    if (!rows || records.length === 0) return
    try {
      await rows.insertWritten(
        this.tx,
        records.map(({ row }) => row),
        values,
      )
    } catch {
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
    return /^\s*SELECT\b/i.test(sql) && !sql.includes(this.rows?.table ?? '')
  }
}

/** The waiting inserts of a transaction, if it belongs to an import. */
export function waitingInsertsOf(tx: EntityManager): WaitingInserts<unknown> | undefined {
  const waiting = tx instanceof TransactionManager ? tx.waiting : undefined
  return waiting instanceof WaitingInserts ? waiting : undefined
}
