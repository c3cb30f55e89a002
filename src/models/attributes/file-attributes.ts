/** An attribute that contains stored files, as the decorators of `resource-kit/files` declare it. */
export interface FileAttribute {
  /** For example `photo`. */
  readonly name: string
  /** Whether it contains a list of files. */
  readonly isList: boolean
  /** The column with the id of the file, `photo_id`; undefined for a list, which has its own table. */
  readonly column: string | undefined
  /** The media types that it accepts; empty for all. */
  readonly types: readonly string[]
  /** The maximum bytes of a file. */
  readonly maxSize: number
  /** The maximum number of files. */
  readonly maxCount: number
}

/** A stored file, as forms show it. */
export interface ShownFile {
  readonly id: string
  readonly filename: string
  readonly byte_size: number
  readonly url: string | null
}

/** Why the files of a request were not accepted. */
export interface FileProblem {
  /** The code of the error. */
  readonly rule: string
  /** The message without a translation, after the name of the attribute: `is too large`. */
  readonly reason: string
  /** The id of its translation, if it is not `validation.<rule>`. */
  readonly text?: string
  readonly values?: Readonly<Record<string, unknown>>
}

const declared = new WeakMap<Function, FileAttribute[]>()
const tokens = new WeakMap<object, string>()

/** Declares that a class has an attribute with files. */
export function declareFiles(model: Function, attribute: FileAttribute): void {
  declared.set(model, [...ownFiles(model), attribute])
}

/** The attributes with files that a class itself declares. */
export function ownFiles(model: Function): readonly FileAttribute[] {
  return declared.get(model) ?? []
}

/** Sets the token by which the next form attaches a file that no record has yet. */
export function setToken(file: object, token: string): void {
  tokens.set(file, token)
}

/** The token of a file that no record has yet; undefined for the file of a record. */
export function tokenOf(file: object): string | undefined {
  return tokens.get(file)
}
