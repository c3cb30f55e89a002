import type { ObjectLiteral } from 'typeorm'
import type { Declaration } from './declaration.js'

/** A file that the application stores: its attributes in JSON and XML, and in templates. */
export interface StoredFile {
  readonly id: string
  /** The name that it was uploaded with, cleaned. */
  readonly filename: string
  /** The media type, by content. */
  readonly content_type: string
  /** The size in bytes. */
  readonly byte_size: number
  /** The width of an image in pixels; null for other files. */
  readonly width: number | null
  readonly height: number | null
  /** The path from which it is served; null without such a route, and until its record is saved. */
  readonly url: string | null
  /** The paths of its variants, if the attribute declares some. */
  readonly variants?: Readonly<Record<string, string | null>>
}

/** A row of the table. */
export interface FileRow extends Omit<StoredFile, 'url' | 'variants'> {
  key: string
  sha256: string
  original_id: string | null
  variant: string | null
  expires_at: number | null
}

/** The row of each file, and the attribute that has it; none before its record is saved. */
const sources = new WeakMap<object, { row: FileRow; declaration: Declaration | undefined }>()

/** The row of a stored file; undefined for any other value. */
export function rowOf(file: unknown): FileRow | undefined {
  return typeof file === 'object' && file !== null ? sources.get(file)?.row : undefined
}

/** The attribute that a file belongs to; undefined before its record is saved. */
export function declarationOf(file: StoredFile): Declaration | undefined {
  return sources.get(file)?.declaration
}

/** Creates the object of a row. */
export function createFile(
  row: FileRow,
  paths: Pick<StoredFile, 'url' | 'variants'> = { url: null },
  declaration?: Declaration,
): StoredFile {
  const { id, filename, content_type, byte_size, width, height } = row
  const file: StoredFile = { id, filename, content_type, byte_size, width, height, ...paths }
  sources.set(file, { row, declaration })
  return file
}

/** Reads a row as the driver returns it: numbers may be texts. */
export function readRow(raw: ObjectLiteral): FileRow {
  const number = (value: unknown) => (value === null ? null : Number(value))
  const { byte_size, width, height, expires_at, ...others } = raw as FileRow
  const sizes = { byte_size: Number(byte_size), width: number(width), height: number(height) }
  return { ...others, ...sizes, expires_at: number(expires_at) }
}

/** The maximum number of characters of a filename. */
const maxLength = 200

/** Cleans the name of an uploaded file, which is never a path on our disk: its last part, without invisible characters. */
export function cleanFilename(name: string | null | undefined): string {
  const clean = (name ?? '')
    .toWellFormed()
    .normalize('NFC')
    .replace(/^.*[/\\]/s, '')
    // Control characters, and those that change the direction of text.
    .replaceAll(/[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffd]/gu, '')
    .trim()
    .replace(/^\.+$/, '')
  const characters = [...clean]
  if (characters.length <= maxLength) return clean || 'file'
  const [ending = ''] = /\.[^.]{1,20}$/.exec(clean) ?? []
  return characters.slice(0, maxLength - [...ending].length).join('') + ending
}
