import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js'
import { kindOf } from './attributes.js'

/** Whether a text is longer than its column may be. */
export function isTooLong(text: string, { type, length }: ColumnMetadata): boolean {
  // The length of a text is counted in characters, where JavaScript counts those beyond the first plane twice.
  return kindOf(type) === 'string' && length !== '' && [...text].length > Number(length)
}
