import type { ColumnDefinition, Statement } from 'better-sqlite3'
import { isCount } from './cached-counts.js'

/** What a statement has done: the rows that it returns, or how many rows it has changed. */
export interface Outcome {
  rows?: unknown[]
  affected?: number
  lastId?: number | bigint
}

/** Reads a value of a row. */
type Reader = (value: unknown) => unknown

/**
 * A prepared statement. It returns the columns that are declared as `bigint` or `decimal(10,2)` as text, exactly and with
 * all digits of their scale, as PostgreSQL does: a number of JavaScript has not room for them.
 */
export class SqliteStatement {
  /** Whether it cannot change the database, whether it returns rows or not. */
  readonly readonly: boolean
  /** Whether it may set something on its connection. */
  readonly setsSomething: boolean
  /** Whether it is how `paginate` counts. */
  readonly isCount: boolean
  private readonly readers: [column: string, reader: Reader][]
  /** The columns of its rows, where they are always the same. */
  private readonly names: string[] | undefined

  constructor(private readonly statement: Statement) {
    this.readonly = statement.readonly
    this.isCount = isCount(statement.source)
    this.setsSomething = /\bPRAGMA\b/i.test(statement.source)
    const columns = statement.reader ? statement.columns() : []
    const isBig = columns.some(({ type }) => BIGINT.test(type ?? ''))
    // It costs, so only statements that need it get it: every integer of theirs is then a BigInt.
    if (isBig) statement.safeIntegers(true)
    // What `*` stands for may change with the table.
    if (statement.reader && !statement.source.includes('*')) {
      statement.raw(true)
      this.names = columns.map(({ name }) => name)
    }
    this.readers = columns.flatMap((column) => {
      const reader = readerOf(column) ?? (isBig ? toNumber : undefined)
      return reader ? [[column.name, reader] as [string, Reader]] : []
    })
  }

  /** Its text. */
  get sql(): string {
    return this.statement.source
  }

  execute(parameters: unknown[]): Outcome {
    if (this.statement.reader) return { rows: this.read(this.rows(parameters)) }
    const { changes, lastInsertRowid } = this.statement.run(...parameters)
    return { affected: changes, lastId: lastInsertRowid }
  }

  /** Rows as objects: made here, it takes a third of the time. */
  private rows(parameters: unknown[]): unknown[] {
    const rows = this.statement.all(...parameters)
    const { names } = this
    if (!names) return rows
    for (let index = 0; index < rows.length; index++) {
      // better-sqlite3's type does not know of raw rows.
      const values = rows[index] as unknown[]
      const row: Record<string, unknown> = {}
      for (let at = 0; at < names.length; at++) row[names[at] ?? ''] = values[at]
      rows[index] = row
    }
    return rows
  }

  private read(rows: unknown[]): unknown[] {
    if (this.readers.length === 0) return rows
    for (const row of rows as Record<string, unknown>[])
      for (const [column, reader] of this.readers) row[column] = reader(row[column])
    return rows
  }
}

const BIGINT = /^(big\s?int|int8|unsigned big int)\b/i
const DECIMAL = /^(?:decimal|numeric)\s*(?:\(\s*(?<precision>\d+)\s*(?:,\s*(?<scale>\d+)\s*)?\))?/i

function readerOf({ type }: ColumnDefinition): Reader | undefined {
  if (BIGINT.test(type ?? '')) return toText
  const decimal = DECIMAL.exec(type ?? '')?.groups
  if (!decimal) return undefined
  if (decimal['precision'] === undefined) return toText
  const scale = Number(decimal['scale'] ?? 0)
  return (value) => (isNumeric(value) ? Number(value).toFixed(scale) : value)
}

function toText(value: unknown): unknown {
  if (!isNumeric(value)) return value
  const text = String(value)
  return text.includes('e') ? value.toLocaleString('en-US', PLAIN) : text
}

/** Without an exponent. */
const PLAIN = { useGrouping: false, maximumFractionDigits: 20 } as const

function toNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
