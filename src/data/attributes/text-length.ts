import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { kindOf } from './attributes.js'

/** Whether a text is longer than its column allows. */
export function isTooLong(text: string, { type, length }: ColumnMetadata): boolean {
  // Lengths are counted in code points; JavaScript's `length` counts some of them as two.
  return kindOf(type) === 'string' && length !== '' && [...text].length > Number(length)
}
