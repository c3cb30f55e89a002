import { createHash } from 'node:crypto'
import { unreadable } from '../../../models/attributes/coerce.js'
import type { ListColumn, SortKey } from '../definition/definition.js'

/** A position in a list: the values of a row in the columns of the order. */
export interface Cursor {
  values: readonly unknown[]
  /** Whether the page ends before the row. Otherwise it begins after it. */
  isBefore: boolean
}

/** Returns a short string that identifies a list with its sort, filters and search. */
export function listFingerprint(parts: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 12)
}

/** Writes the position of a record as the value of a query parameter. */
export function encodeCursor(fingerprint: string, order: readonly SortKey[], record: object): string {
  const values = order.map(({ column }) => column.metadata.getEntityValue(record) as unknown)
  return Buffer.from(JSON.stringify([fingerprint, ...values])).toString('base64url')
}

/**
 * Reads the values of a position. Converts them like the values of filters, because a client can write
 * anything.
 *
 * @returns undefined if the position does not belong to this list, or if a value cannot be read
 */
export function decodeCursor(
  text: string,
  fingerprint: string,
  order: readonly SortKey[],
): readonly unknown[] | undefined {
  const parts = parseParts(text)
  if (!parts || parts[0] !== fingerprint || parts.length !== order.length + 1) return undefined
  const values = order.map(({ column }, index) => readPart(column, parts[index + 1]))
  return values.includes(unreadable) ? undefined : values
}

function readPart({ read }: ListColumn, part: unknown): unknown {
  return ['string', 'number', 'boolean'].includes(typeof part) ? read(part) : unreadable
}

function parseParts(text: string): unknown[] | undefined {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(parts) ? parts : undefined
  } catch {
    return undefined
  }
}
