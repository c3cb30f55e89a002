import { memoize } from '../common/memoize.js'
import type { AttributeKind } from '../models/attributes/attributes.js'

/** How a file writes its cells. */
export interface Dialect {
  separator: ',' | ';'
  /** Whether decimals have a comma. */
  hasComma: boolean
}

/** The dialect of programs. */
export const plainDialect: Dialect = { separator: ',', hasComma: false }

/** The dialect that spreadsheets expect in a language: where decimals have a comma, cells are separated by semicolons. */
export const dialectOf = memoize((locale): Dialect => {
  const hasComma = new Intl.NumberFormat(locale).format(1.5).includes(',')
  return hasComma ? { separator: ';', hasComma } : plainDialect
})

/** The kinds whose values are texts, which a spreadsheet could run as a formula. */
const texts: readonly AttributeKind[] = ['string', 'text', 'json', 'enum']

const decimals: readonly AttributeKind[] = ['decimal', 'float']

const numbers: readonly AttributeKind[] = [...decimals, 'int', 'bigint']

/** Writes a value as JSON has it. Returns an empty cell for null. */
export function writeCell(value: unknown, kind: AttributeKind, { separator, hasComma }: Dialect): string {
  let text = textOf(value)
  if (texts.includes(kind) && /^'*[=+\-@\t\r]/.test(text)) text = `'${text}`
  else if (hasComma && decimals.includes(kind)) text = text.replace('.', ',')
  // A reader would remove a byte order mark at the beginning of a file.
  const needsQuotes = text.includes(separator) || /["\r\n\uFEFF]/.test(text)
  return needsQuotes ? `"${text.replaceAll('"', '""')}"` : text
}

/** Reads a cell. Where the semicolon separates cells, decimals may have a comma, and dates may be `28.02.2026`. */
export function readCell(cell: string, kind: AttributeKind, separator: string): string {
  // The first apostrophe only stops a spreadsheet from running the text.
  if (texts.includes(kind)) return /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell
  if (kind === 'bool') return cell.toLowerCase()
  if (separator !== ';') return cell
  if (decimals.includes(kind) && /^\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*$/i.test(cell)) return cell.replace(',', '.')
  const [, day = '', month = '', year] = /^\s*(\d{1,2})\.(\d{1,2})\.(\d{4})\s*$/.exec(cell) ?? []
  return kind === 'date' && year ? `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}` : cell
}

/** Whether a number such as `1.000` may have a point for thousands, because the semicolon separates cells. */
export function hasUnclearPoint(cell: string, kind: AttributeKind, separator: string): boolean {
  return separator === ';' && numbers.includes(kind) && /^\s*[+-]?\d{1,3}(\.\d{3})+\s*$/.test(cell)
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value)))
    return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
