import type { Next } from 'koa'
import {
  fileReader,
  filesOf,
  filesOfLines,
  outsideTransaction,
  PerRequest,
  setToken,
  type FileAttribute,
  type FileProblem,
  type FileReader,
} from '../extension.js'
import type { Context, DeclaredRoute, UploadedFile } from '../index.js'
import type { Declaration } from './declaration.js'
import type { Files, Received } from './files.js'
import { describe } from './receiving.js'
import { problemOfCount, problemOfFile, unknownFile } from './rules.js'
import { createFile, rowOf, type FileRow, type StoredFile } from './stored-file.js'
import { createToken, idOfToken } from './tokens.js'

/** The most values of an attribute that are read as tokens. None accepts more files. */
const maxValues = 100

/** The attributes with files that the requests of a route can set. */
export function writableFiles({ resource }: DeclaredRoute): readonly Declaration[] {
  const { model, fields } = resource ?? {}
  if (!model || !fields) return []
  // Only our decorators declare such attributes.
  return filesOf(model).filter(({ name }) => fields.includes(name)) as Declaration[]
}

/** An attribute with files in a request: of its record, or of one of its lines. */
interface FileField {
  attribute: Declaration
  /** The name of the attribute, or the value of the line's attribute: the path of its file. */
  key: unknown
  /** The value in the body. */
  value: unknown
  uploads: readonly UploadedFile[]
}

function fieldsIn(ctx: Context): FileField[] {
  const body: object = Object(ctx.request.body)
  const own = writableFiles(ctx.route).map((attribute): FileField => {
    const { name } = attribute
    const value: unknown = Object.hasOwn(body, name) && Reflect.get(body, name)
    return { attribute, key: name, value, uploads: chosenFiles(attribute, partsOf(ctx, name)) }
  })
  const parts = Object.keys(ctx.request.files ?? {}).flatMap((name) => partsOf(ctx, name))
  const ofLines = lineFilesOf(ctx).flatMap(({ list: { name }, file }) => {
    const lines: unknown = Object.hasOwn(body, name) && Reflect.get(body, name)
    const entries = Object.values(Object(lines)).filter((line) => typeof line === 'object' && line !== null)
    // Only our decorators declare such attributes.
    return entries.map((entry: object) => fieldOfLine(file as Declaration, entry, parts))
  })
  return [...own, ...ofLines]
}

function lineFilesOf({ route: { resource } }: Context) {
  return filesOfLines(resource?.model, resource?.fields)
}

/** The value of a line's attribute becomes the path of the chosen file, else the last value that is none. */
function fieldOfLine(attribute: Declaration, line: object, parts: readonly UploadedFile[]): FileField {
  const { name } = attribute
  const values = [Object.hasOwn(line, name) ? (Reflect.get(line, name) as unknown) : []].flat()
  const sent = parts.filter(({ filepath }) => values.includes(filepath))
  const uploads = chosenFiles(attribute, sent)
  const others = values.filter((value) => !sent.some(({ filepath }) => filepath === value))
  const value = uploads[0]?.filepath ?? others.at(-1)
  if (sent.length > 0) Reflect.set(line, name, value)
  return { attribute, key: value, value, uploads }
}

const stagings = new PerRequest<true>()

/** Stores the files of a request before its handler runs, once: an attempt after a conflict has the same files. */
export async function stageFiles(files: Files, ctx: Context, next: Next): Promise<void> {
  const isWrite = ['POST', 'PUT', 'PATCH'].includes(ctx.method)
  const fields = isWrite && !stagings.has(ctx) ? fieldsIn(ctx) : []
  if (fields.length > 0) {
    stagings.set(ctx, true)
    const staged = new StagedFiles(files, ctx)
    await outsideTransaction(ctx, 'storedFiles()', () => staged.prepare(fields))
    fileReader.set(ctx, (record, attribute, value) => staged.read(record, attribute, value))
  }
  await next()
}

/** The files of a request: those of its form, which are stored by now, and those that its tokens name. */
class StagedFiles {
  /** The stored files, and what is wrong, by the keys of their fields. */
  private readonly uploads = new Map<unknown, StoredFile[]>()
  private readonly rejected = new Map<unknown, FileProblem>()
  private readonly byToken = new Map<string, StoredFile>()

  constructor(
    private readonly files: Files,
    private readonly ctx: Context,
  ) {}

  async prepare(fields: readonly FileField[]): Promise<void> {
    const accepted: (Received & { key: unknown })[] = []
    for (const { attribute, key, uploads } of fields) {
      const received = await Promise.all(
        uploads.map(async (upload) => ({
          key,
          path: upload.filepath,
          file: await describe(upload),
        })),
      )
      const problem =
        problemOfCount(attribute, received.length) ??
        received.map(({ file }) => problemOfFile(attribute, file)).find(Boolean)
      if (problem) this.rejected.set(key, problem)
      else accepted.push(...received)
    }
    const rows = await this.files.keep(accepted, this.ctx.log)
    for (const [index, row] of rows.entries()) {
      const key = accepted[index]?.key
      const file = stagedFile(row, createToken(this.files, this.ctx, row.id))
      this.uploads.set(key, [...(this.uploads.get(key) ?? []), file])
    }
    await this.findTokens(fields)
  }

  /** Reads the rows of all tokens in the body with one query. */
  private async findTokens(fields: readonly FileField[]): Promise<void> {
    const ids = new Map<string, string>()
    for (const { value } of fields)
      for (const token of valuesOf(value).slice(0, maxValues)) {
        const id = typeof token === 'string' && idOfToken(this.files, this.ctx, token)
        if (id) ids.set(id, token)
      }
    const { table } = this.files
    for (const row of ids.size > 0 ? await table.find([...ids.keys()]) : []) {
      const token = ids.get(row.id) ?? ''
      if (Number(row.expires_at) > table.now()) this.byToken.set(token, stagedFile(row, token))
    }
  }

  /** Returns the new value of an attribute, and what is wrong with it. */
  read(record: object, { name, isList }: FileAttribute, value: unknown): ReturnType<FileReader> {
    const isLine = lineFilesOf(this.ctx).some(({ list }) => record instanceof list.line)
    const key = isLine ? value : name
    const uploads = this.uploads.get(key) ?? []
    const problem = this.rejected.get(key)
    if (!isList && uploads.length > 0) return { value: uploads.at(-1) }
    const present = [Reflect.get(record, name) as unknown].flat().filter(rowOf)
    const read = isList ? this.readList(value, present) : this.readOne(value, present)
    if (read === unknown) return { problem: problem ?? unknownFile }
    if (!isList || (read === undefined && uploads.length === 0)) return { value: read, problem }
    return { value: [...(Array.isArray(read) ? read : present), ...uploads], problem }
  }

  private readOne(value: unknown, present: readonly unknown[]): unknown {
    if (value === undefined || value === null) return value
    return value === '' && !this.isJson ? null : this.resolve(value, present)
  }

  private readList(value: unknown, present: readonly unknown[]): unknown {
    if (value === undefined) return undefined
    if (value === null || (this.isJson && !Array.isArray(value) && value !== '')) return unknown
    const items = valuesOf(value).filter((item) => item !== '')
    const found = items.map((item) => this.resolve(item, present))
    return found.includes(unknown) ? unknown : [...new Set(found)]
  }

  /** Finds the file that a value names: a present one by its id, or one without a record by its token. */
  private resolve(value: unknown, present: readonly unknown[]): unknown {
    const id: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'id') : value
    if (typeof id !== 'string') return unknown
    const isNamed = (file: unknown) => rowOf(file)?.id === id.toLowerCase()
    return present.find(isNamed) ?? this.byToken.get(id) ?? unknown
  }

  private get isJson(): boolean {
    return /json/i.test(this.ctx.get('Content-Type'))
  }
}

/** A file that no record has yet. */
function stagedFile(row: FileRow, token: string): StoredFile {
  const file = createFile(row)
  setToken(file, token)
  return file
}

/** The value of a field that names no file. */
const unknown = Symbol('unknown')

/** A list, the values of an object as forms send it, or one value. An object of a response is one value. */
function valuesOf(value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [value].flat()
  return 'id' in value ? [value] : Object.values(value)
}

/** The files that a part of a form contains. */
function partsOf({ request: { files } }: Context, name: string): UploadedFile[] {
  return [files && Object.hasOwn(files, name) ? (files[name] ?? []) : []].flat()
}

/** The files that were chosen. A browser sends a part without a name and content if none was chosen. */
function chosenFiles({ isList }: Declaration, parts: readonly UploadedFile[]): readonly UploadedFile[] {
  const chosen = parts.filter(({ originalFilename, size }) => originalFilename || size > 0)
  return isList ? chosen : chosen.slice(-1)
}
