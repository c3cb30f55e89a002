import { memoize } from '../common/memoize.js'
import type { AttributeKind } from '../models/attributes/attributes.js'

/** How a file writes its cells. */
export interface Dialect {
  separator: ',' | ';' | '\t'
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

/** Writes a value as JSON has it. Returns an empty cell for null. */
export function writeCell(value: unknown, kind: AttributeKind, { separator, hasComma }: Dialect): string {
  let text = textOf(value)
  if (texts.includes(kind) && /^'*[=+\-@\t\r]/.test(text)) text = `'${text}`
  else if (hasComma && (kind === 'decimal' || kind === 'float')) text = text.replace('.', ',')
  return needsQuotes(text, separator) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Reads the cell of a text, whose first apostrophe only stops a spreadsheet from running it. */
export function readText(text: string, kind: AttributeKind): string {
  return texts.includes(kind) && /^'+[=+\-@\t\r]/.test(text) ? text.slice(1) : text
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined || (typeof value === 'number' && !Number.isFinite(value)))
    return ''
  if (value instanceof Date) return value.toISOString()
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Also quotes a byte order mark, which a reader would remove at the beginning of a file. */
function needsQuotes(text: string, separator: string): boolean {
  return text.includes(separator) || /["\r\n\uFEFF]/.test(text)
}
