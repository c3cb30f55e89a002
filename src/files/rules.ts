import { mediaTypeName, sizeText, type FileProblem } from '../extension.js'
import type { Declaration } from './declaration.js'
import type { FileRow } from './stored-file.js'

/** The properties of a file that the rules of an attribute limit. */
export type Measured = Pick<FileRow, 'content_type' | 'byte_size' | 'width' | 'height'>

/** Checks a file by the rules of its attribute. */
export function problemOfFile(
  { types, maxSize, maxPixels }: Declaration,
  file: Measured,
): FileProblem | undefined {
  if (file.byte_size === 0) return { rule: 'file_empty', reason: 'is an empty file' }
  if (file.byte_size > maxSize) {
    const values = { max: sizeText(maxSize) }
    // The translation of the rule itself is about all files of a form.
    return { rule: 'file_size', reason: 'is too large', text: 'validation.file_too_large', values }
  }
  if (types.length > 0 && !types.includes(file.content_type)) {
    const values = { types: types.map(mediaTypeName).join(', '), found: mediaTypeName(file.content_type) }
    return { rule: 'file_type', reason: `is ${file.content_type}, which is not accepted`, values }
  }
  if (Number(file.width) * Number(file.height) <= maxPixels) return undefined
  const values = { max: Math.floor(maxPixels / 100_000) / 10 }
  return { rule: 'image_size', reason: 'has too many pixels', values }
}

/** Checks the number of files. */
export function problemOfCount({ maxCount }: Declaration, count: number): FileProblem | undefined {
  if (count <= maxCount) return undefined
  return { rule: 'file_count', reason: `can have up to ${maxCount} files`, values: { max: maxCount } }
}

/** The problem of a value that names no file of the record, and none that the visitor may attach. */
export const unknownFile: FileProblem = {
  rule: 'file_unknown',
  reason: 'is a file that is no longer available',
}
