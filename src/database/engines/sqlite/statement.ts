import type { ColumnDefinition, Statement } from 'better-sqlite3'
import { COUNT_ALIAS } from '../engine.js'

/** The result of a statement: the rows that it returns, or the number of rows that it has changed. */
export interface StatementResult {
  rows?: unknown[]
  affected?: number
  lastId?: number | bigint
}

type Reader = (value: unknown) => unknown

/**
 * A prepared statement. It returns columns of the types `bigint` and `decimal(10,2)` as text, exactly and
 * with all digits of their scale, as PostgreSQL does, because a JavaScript number is not precise enough.
 */
export class SqliteStatement {
  /** Whether it cannot change the database, whether it returns rows or not. */
  readonly readonly: boolean
  /** Whether it may change a setting of its connection, by a PRAGMA. */
  readonly setsSomething: boolean
  /** Whether it is a count of `paginate`. */
  readonly isCount: boolean
  /** The columns whose values must be converted. */
  private readonly readers: [column: string, reader: Reader][] = []
  /** The columns of its rows, if they are always the same. */
  private readonly names: string[] | undefined

  constructor(private readonly statement: Statement) {
    this.readonly = statement.readonly
    this.isCount = isCount(statement.source)
    this.setsSomething = /\bPRAGMA\b/i.test(statement.source)
    const columns = statement.reader ? statement.columns() : []
    const isBig = columns.some(({ type }) => BIGINT.test(type ?? ''))
    // Reading every integer as a BigInt is slow, so only statements that need it do that.
    if (isBig) statement.safeIntegers(true)
    // The columns of `*` can change with the table.
    if (statement.reader && !statement.source.includes('*')) {
      statement.raw(true)
      this.names = columns.map(({ name }) => name)
    }
    for (const column of columns) {
      const reader = readerOf(column) ?? (isBig ? toNumber : undefined)
      if (reader) this.readers.push([column.name, reader])
    }
  }

  /** The SQL text. */
  get sql(): string {
    return this.statement.source
  }

  execute(parameters: unknown[]): StatementResult {
    if (this.statement.reader)
      return { rows: this.convert(this.toObjects(this.statement.all(...parameters))) }
    const { changes, lastInsertRowid } = this.statement.run(...parameters)
    return { affected: changes, lastId: lastInsertRowid }
  }

  *iterate(parameters: unknown[]): Generator<unknown> {
    for (const row of this.statement.iterate(...parameters)) yield this.convert(this.toObjects([row]))[0]
  }

  /** Converts lists of values to objects in place, in a third of better-sqlite3's time. */
  private toObjects(rows: unknown[]): unknown[] {
    const { names } = this
    if (!names) return rows
    for (let index = 0; index < rows.length; index++) {
      // The type of better-sqlite3 has no raw rows.
      const values = rows[index] as unknown[]
      const row: Record<string, unknown> = {}
      for (let at = 0; at < names.length; at++) row[names[at] ?? ''] = values[at]
      rows[index] = row
    }
    return rows
  }

  private convert(rows: unknown[]): unknown[] {
    if (this.readers.length === 0) return rows
    for (const row of rows as Record<string, unknown>[])
      for (const [column, reader] of this.readers) row[column] = reader(row[column])
    return rows
  }
}

/** Whether a statement is a count of `paginate`. */
function isCount(sql: string): boolean {
  return sql.startsWith(`SELECT COUNT(*) AS "${COUNT_ALIAS}" FROM`)
}

const BIGINT = /^(big\s?int|int8|unsigned big int)\b/i
const DECIMAL = /^(?:decimal|numeric)\s*(?:\(\s*(?<precision>\d+)\s*(?:,\s*(?<scale>\d+)\s*)?\))?/i

function readerOf({ type }: ColumnDefinition): Reader | undefined {
  if (BIGINT.test(type ?? '')) return toText
  const decimal = DECIMAL.exec(type ?? '')?.groups
  if (!decimal) return undefined
  if (decimal['precision'] === undefined) return toText
  const scale = Number(decimal['scale'] ?? 0)
  // The numbers with at most 15 digits.
  const limit = 1e15 / 10 ** scale
  return (value) => {
    if (!isNumeric(value)) return value
    const number = Number(value)
    return Math.abs(number) < limit ? number.toFixed(scale) : decimalText(number, scale)
  }
}

/** Writes a decimal whose scale would show more than 15 digits. The others are 0, because SQLite keeps 15. */
function decimalText(number: number, scale: number): string {
  const exponent = Number(number.toExponential().split('e')[1])
  const places = Math.min(scale, Math.max(0, 14 - exponent))
  const text = number.toFixed(places)
  const [whole, fraction = ''] = text.split('.')
  return scale > 0 ? `${whole}.${fraction.padEnd(scale, '0')}` : text
}

/** Converts a number to text without an exponent. */
function toText(value: unknown): unknown {
  if (!isNumeric(value)) return value
  const text = String(value)
  const format = { useGrouping: false, maximumFractionDigits: 20 } as const
  return text.includes('e') ? value.toLocaleString('en-US', format) : text
}

function toNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}
