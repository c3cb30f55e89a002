import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context, UploadedFile } from '../../context.js'
import { ContentTooLarge, TooManyFields, UnsupportedMediaType } from '../../errors.js'
import type { BodyRead } from './body-reads.js'
import { maxFields, nest } from './form-fields.js'
import { boundaryOf, readParts, type Part, type PartReceiver } from './parts.js'
import { uploadFolder } from './upload-folders.js'

/** The maximum numbers of bytes of a form: of all its fields, and of all its files. */
interface FormLimits {
  body: number
  files: number
}

/** The maximum number of files of a form. */
const maxFiles = 50

/** Reads a multipart form: its fields into `ctx.request.body`, and its files into a folder of the request's own. */
export async function readMultipart(ctx: Context, limits: FormLimits, read: BodyRead): Promise<void> {
  const boundary = boundaryOf(ctx.get('Content-Type'))
  const form = new MultipartForm(ctx, limits, read)
  // The headers of the parts count, too, up to the size of the fields.
  const limit = 2 * limits.body + limits.files
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
  Object.assign(ctx.request, { body: nest(form.fields), files: groupByField(form.files) })
}

/** Receives the decoded content of a part. */
interface Sink {
  write(piece: Buffer): unknown
  end(): unknown
}

/** The fields and files of a form that is being read. */
class MultipartForm implements PartReceiver {
  readonly fields: Array<readonly [name: string, value: string]> = []
  readonly files: Array<readonly [name: string, file: UploadedFile]> = []
  private readonly sizes = { body: 0, files: 0 }
  private decode: Decoder = identity
  private sink: Sink | undefined
  private handle: FileHandle | undefined

  constructor(
    private readonly ctx: Context,
    private readonly limits: FormLimits,
    private readonly read: BodyRead,
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
    await this.content()
    await this.sink?.end()
  }

  /** Closes the file that is being written. */
  async close(): Promise<void> {
    await this.handle?.close()
  }

  private field({ name, charset }: Part): Sink {
    const pieces: Buffer[] = []
    const decoder = textDecoder(charset)
    return {
      write: (piece) => {
        this.count('body', piece.length)
        if (!isFieldName(name)) return
        this.read.hold(piece.length)
        pieces.push(piece)
      },
      end: () => {
        if (!isFieldName(name)) return
        if (this.fields.push([name, decoder.decode(Buffer.concat(pieces))]) > maxFields)
          throw new TooManyFields()
      },
    }
  }

  private async file(name: string, { filename = '', type }: Part): Promise<Sink> {
    const number = this.files.length + 1
    if (number > maxFiles) throw new TooManyFields()
    const filepath = join(await uploadFolder(this.ctx), String(number))
    const file = { filepath, originalFilename: filename, mimetype: type, size: 0 }
    this.files.push([name, file])
    const handle = await open(filepath, 'wx')
    this.handle = handle
    return {
      write: async (piece) => {
        file.size += piece.length
        this.count('files', piece.length)
        if (piece.length > 0) await handle.writeFile(piece)
      },
      end: () => handle.close(),
    }
  }

  private count(what: 'body' | 'files', bytes: number): void {
    this.sizes[what] += bytes
    if (this.sizes[what] > this.limits[what]) throw new ContentTooLarge(this.limits[what])
  }
}

/** Ignores a part without a name, and one with the name of a member that every object has. */
function isFieldName(name: string | undefined): name is string {
  return name !== undefined && !(name in Object.prototype)
}

/** Decodes a piece of a part's content, or without a piece what is left at its end. */
type Decoder = (piece?: Buffer) => Buffer

const nothing = Buffer.alloc(0)
const identity: Decoder = (piece = nothing) => piece

/** The decoder of a transfer encoding, which only old clients use. */
function decoderOf(encoding: string): Decoder {
  if (['7bit', '8bit', 'binary'].includes(encoding)) return identity
  if (encoding !== 'base64')
    throw new UnsupportedMediaType(`The transfer encoding ${JSON.stringify(encoding)}`)
  let rest = ''
  return (piece) => {
    rest += piece?.toString('latin1').replaceAll(/\s+/g, '') ?? ''
    const whole = piece ? rest.length - (rest.length % 4) : rest.length
    const decoded = Buffer.from(rest.slice(0, whole), 'base64')
    rest = rest.slice(whole)
    return decoded
  }
}

function textDecoder(charset: string): InstanceType<typeof TextDecoder> {
  try {
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
