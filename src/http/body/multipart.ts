import { createHash } from 'node:crypto'
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ByteList } from '../../common/byte-list.js'
import type { Context, UploadedFile } from '../../context.js'
import { ContentTooLarge, TooManyFields, UnsupportedMediaType } from '../../errors.js'
import type { BodyRead } from './body-reads.js'
import { piecesOf } from './body-stream.js'
import { maxFields, nest } from './form-fields.js'
import { isRejectedField, readableFiles, rejectFile } from './rejected-files.js'
import { boundaryOf, readParts, type Part, type PartReceiver } from './parts.js'
import { uploadFolder } from './upload-folders.js'
import type { UploadPlan } from './uploads.js'

/** The maximum numbers of bytes of a form: of all its fields, and of all its files. */
interface FormLimits {
  body: number
  files: number
}

/** The maximum number of files of a form. */
const maxFiles = 50

/**
 * Reads the fields of a multipart form into `ctx.request.body`, writes its files to a folder for the request,
 * and describes them in `ctx.request.files`. Files of a browser's form that are too large are noted and
 * dropped.
 *
 * @throws ContentTooLarge, TooManyFields (413), UnsupportedMediaType (415), BadRequest (400), and the errors
 *   of `read`
 */
export async function readMultipart(
  ctx: Context,
  limits: FormLimits,
  read: BodyRead,
  plan?: UploadPlan,
): Promise<void> {
  const boundary = boundaryOf(ctx.get('Content-Type'))
  const form = new MultipartForm(ctx, limits, read, plan)
  // The whole form: the fields, the headers of its parts, which may be as large, and the files.
  const limit = 2 * limits.body + readableFiles(ctx, limits.files)
  if (plan && Number(ctx.get('Content-Length')) > limit) throw new ContentTooLarge(limit)
  let left = limit
  async function next(): Promise<Buffer | undefined> {
    const piece = await read.next()
    if (piece && (left -= piece.length) < 0) throw new ContentTooLarge(limit)
    return piece
  }
  try {
    // The last delimiter does not begin a part.
    await readParts(next, boundary, maxFields + maxFiles + 1, form)
  } finally {
    await form.close()
  }
  const files = form.files.filter(([name]) => !isRejectedField(ctx, name))
  const ofLines = files.filter(([name]) => plan?.lines?.test(name))
  const paths = ofLines.map(([name, { filepath }]) => [name, filepath] as const)
  Object.assign(ctx.request, { body: nest([...form.fields, ...paths]), files: groupByField(files) })
}

/**
 * Writes a body that is a file to a folder for the request, and describes it as a form's file in the `file`
 * field.
 *
 * @throws ContentTooLarge (413), and the errors of `read` and of the decompression
 */
export async function readFile(ctx: Context, limit: number, read: BodyRead): Promise<void> {
  const filepath = join(await uploadFolder(ctx), '1')
  const file: UploadedFile = { filepath, originalFilename: '', mimetype: ctx.request.type, size: 0 }
  const handle = await open(filepath, 'wx')
  try {
    for await (const piece of piecesOf(ctx, read)) {
      file.size += piece.length
      if (file.size > limit) throw new ContentTooLarge(limit)
      await handle.writeFile(piece)
    }
  } finally {
    await handle.close()
  }
  Object.assign(ctx.request, { files: { file } })
}

/** Receives the decoded content of one part. */
interface Sink {
  write(piece: Buffer): unknown
  end(): unknown
}

/** The fields and files of a form that is being read. */
class MultipartForm implements PartReceiver {
  readonly fields: Array<readonly [name: string, value: string]> = []
  readonly files: Array<readonly [name: string, file: UploadedFile]> = []
  /** The bytes of all fields and of all files so far. */
  private readonly sizes = { body: 0, files: 0 }
  private decode: Decoder = identity
  /** The sink of the current part; undefined for a file without a field name, which is ignored. */
  private sink: Sink | undefined
  private handle: FileHandle | undefined

  constructor(
    private readonly ctx: Context,
    private readonly limits: FormLimits,
    private readonly read: BodyRead,
    private readonly plan: UploadPlan | undefined,
  ) {}

  async begin(part: Part): Promise<void> {
    this.decode = decoderOf(part.encoding)
    if (part.filename === undefined) this.sink = this.field(part)
    else this.sink = isFieldName(part.name) ? await this.file(part.name, part) : undefined
  }

  content(piece?: Buffer): unknown {
    return this.sink?.write(this.decode(piece))
  }

  async end(): Promise<void> {
    // Without a piece, the decoder returns what is left.
    await this.content()
    await this.sink?.end()
  }

  /** Closes the last file, if an error has left it open. */
  async close(): Promise<void> {
    await this.handle?.close()
  }

  private field({ name, charset }: Part): Sink {
    const bytes = new ByteList()
    const decoder = textDecoder(charset)
    return {
      write: (piece) => {
        this.sizes.body += piece.length
        if (this.sizes.body > this.limits.body) throw new ContentTooLarge(this.limits.body)
        if (!isFieldName(name)) return
        const before = bytes.capacity
        bytes.add(piece)
        this.read.hold(bytes.capacity - before)
      },
      end: () => {
        if (!isFieldName(name)) return
        if (this.fields.push([name, decoder.decode(bytes.take())]) > maxFields) throw new TooManyFields()
      },
    }
  }

  private async file(name: string, { filename = '', type }: Part): Promise<Sink> {
    const number = this.files.length + 1
    if (number > maxFiles) throw new TooManyFields()
    const filepath = join(await uploadFolder(this.ctx, this.plan?.folder), String(number))
    const hash = this.plan && createHash('sha256')
    const file: UploadedFile = { filepath, originalFilename: filename, mimetype: type, size: 0 }
    this.files.push([name, file])
    const handle = await open(filepath, 'wx', 0o600)
    this.handle = handle
    return {
      write: async (piece) => {
        file.size += piece.length
        if (piece.length === 0 || !this.keeps(name, piece.length)) return
        hash?.update(piece)
        await handle.writeFile(piece)
      },
      end: async () => {
        await handle.close()
        if (hash) file.sha256 = hash.digest('hex')
      },
    }
  }

  /**
   * Whether the next bytes of a file are kept. If the files are too large, a browser's form is read to its
   * end.
   *
   * @throws ContentTooLarge (413) when another client sends too much
   */
  private keeps(name: string, bytes: number): boolean {
    const limit = this.limits.files
    this.sizes.files += bytes
    if (this.sizes.files <= limit) return true
    if (this.sizes.files > readableFiles(this.ctx, limit)) throw new ContentTooLarge(limit)
    rejectFile(this.ctx, name, limit)
    return false
  }
}

/** Whether it has a name, and not that of one of every object, such as `constructor`. Others are left out. */
function isFieldName(name: string | undefined): name is string {
  return name !== undefined && !(name in Object.prototype)
}

/** Decodes a piece of a part's content. Without a piece, at the end of the part, it decodes what is left. */
type Decoder = (piece?: Buffer) => Buffer

const nothing = Buffer.alloc(0)
const identity: Decoder = (piece = nothing) => piece

/**
 * Returns the decoder for a transfer encoding, which only old clients use.
 *
 * @throws UnsupportedMediaType (415) for any encoding besides base64 and the identity
 */
function decoderOf(encoding: string): Decoder {
  if (['7bit', '8bit', 'binary'].includes(encoding)) return identity
  if (encoding !== 'base64')
    throw new UnsupportedMediaType(`The transfer encoding ${JSON.stringify(encoding)}`)
  // base64 is decoded in groups of four characters.
  let rest = ''
  return (piece) => {
    rest += piece?.toString('latin1').replaceAll(/\s+/g, '') ?? ''
    const end = piece ? rest.length - (rest.length % 4) : rest.length
    const decoded = Buffer.from(rest.slice(0, end), 'base64')
    rest = rest.slice(end)
    return decoded
  }
}

/** @throws UnsupportedMediaType (415) when the charset is unknown */
function textDecoder(charset: string): InstanceType<typeof TextDecoder> {
  try {
    // `ignoreBOM` keeps a byte order mark, which is part of the value of a field.
    return new TextDecoder(charset, { ignoreBOM: true })
  } catch {
    throw new UnsupportedMediaType(`The charset ${JSON.stringify(charset)}`)
  }
}

/** The files of each field: one file, or a list. */
function groupByField(
  files: ReadonlyArray<readonly [name: string, file: UploadedFile]>,
): Record<string, UploadedFile | UploadedFile[]> {
  const byName: Record<string, UploadedFile | UploadedFile[]> = {}
  for (const [name, file] of files) {
    const others = byName[name]
    byName[name] = others ? [others, file].flat() : file
  }
  return byName
}
