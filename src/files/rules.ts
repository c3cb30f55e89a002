import { sizeText } from '../extension.js'
import type { Declaration } from './declaration.js'
import type { FileRow } from './stored-file.js'

/** Why a file, or a list of them, is wrong, and the values of the message. */
export interface Problem {
  rule: 'file_type' | 'file_size' | 'file_empty' | 'file_count' | 'image_size' | 'file_unknown'
  values?: Record<string, unknown>
}

/** What the rules of an attribute are about. */
export type Measured = Pick<FileRow, 'content_type' | 'byte_size' | 'width' | 'height'>

/** Checks a file by the rules of its attribute. */
export function problemOfFile(declaration: Declaration, file: Measured): Problem | undefined {
  const { types, maxSize, maxPixels } = declaration
  if (file.byte_size === 0) return { rule: 'file_empty' }
  if (file.byte_size > maxSize) return { rule: 'file_size', values: { max: sizeText(maxSize) } }
  if (types.length > 0 && !types.includes(file.content_type))
    return { rule: 'file_type', values: { types: types.join(', '), found: file.content_type } }
  const pixels = Number(file.width) * Number(file.height)
  if (pixels > maxPixels)
    return { rule: 'image_size', values: { max: Math.floor(maxPixels / 100_000) / 10 } }
  return undefined
}

/** Checks the number of files. */
export function problemOfCount({ maxCount }: Declaration, count: number): Problem | undefined {
  return count > maxCount ? { rule: 'file_count', values: { max: maxCount } } : undefined
}

/** The translations of the rules that also have a meaning for other files. */
export const TEXTS: Partial<Record<Problem['rule'], string>> = { file_size: 'validation.file_too_large' }

/** The messages without a translation. */
export const MESSAGES: Record<Problem['rule'], string> = {
  file_type: 'has a type that is not accepted',
  file_size: 'is too large',
  file_empty: 'is an empty file',
  file_count: 'has too many files',
  image_size: 'has too many pixels',
  file_unknown: 'is a file that is no longer available',
}
