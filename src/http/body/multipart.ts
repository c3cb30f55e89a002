import { createWriteStream } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type * as FastifyBusboy from '@fastify/busboy'
import type { Context, UploadedFile } from '../../context.js'
import { BadRequest, ContentTooLarge, HttpError, TooManyFields, UnsupportedMediaType } from '../../errors.js'
import type { BodyLimits } from './body.js'
import { limited, type BodyStream } from './body-stream.js'
import { maxFields, nest } from './form-fields.js'
import { boundaryOf, partCheck } from './parts.js'
import { uploadFolder } from './uploads.js'

/** The maximum number of files of a form. */
const maxFiles = 50

/** The parser is loaded with the first multipart form, so that an application without them starts without it. */
const require = createRequire(import.meta.url)

/** Reads a multipart form: its fields into `ctx.request.body`, and its files into a folder of the request's own. */
export async function readMultipart(ctx: Context, limits: BodyLimits): Promise<void> {
  const form = new MultipartForm(ctx, limits)
  await form.read()
  Object.assign(ctx.request, { body: nest(form.fields), files: grouped(form.files) })
}

/** The reading of one multipart form. */
class MultipartForm {
  readonly fields: Array<readonly [name: string, value: string]> = []
  readonly files: Array<readonly [name: string, file: UploadedFile]> = []
  private readonly contents: Readable[] = []
  private readonly writing: Array<Promise<void>> = []
  private readonly source: BodyStream
  private readonly parser: Writable
  private fieldBytes = 0
  private fileBytes = 0
  private failure: unknown

  constructor(
    private readonly ctx: Context,
    private readonly limits: BodyLimits,
  ) {
    const boundary = boundaryOf(ctx.get('Content-Type'))
    // The headers of the parts count, too, up to the size of the fields. The last delimiter does not begin a part.
    const most = { bytes: 2 * limits.body + limits.files, delimiters: maxFields + maxFiles + 1 }
    this.source = limited(ctx, most.bytes, partCheck(boundary, most.delimiters))
    this.parser = this.makeParser(boundary)
  }

  async read(): Promise<void> {
    await pipeline(this.source, this.parser).catch((error: unknown) => this.fail(error))
    for (const content of this.contents) content.destroy()
    // A file that is still being written would remain when the folder is deleted.
    await Promise.all(this.writing)
    if (this.failure) throw this.failure
  }

  private makeParser(boundary: string): Writable {
    const { Busboy }: typeof FastifyBusboy = require('@fastify/busboy')
    const parser = new Busboy({
      headers: { 'content-type': `multipart/form-data; boundary="${boundary}"` },
      isPartAFile: (_name, _type, filename) => filename !== undefined,
      limits: { fieldSize: this.limits.body + 1 },
    })
    // Our own errors arrive here as well, because the source forwards them.
    parser.on('error', (cause) =>
      this.fail(cause instanceof HttpError ? cause : new BadRequest('The body is malformed.', { cause })),
    )
    parser.on('field', (name, value, _isNameCut, _isValueCut, encoding) =>
      this.attempt(() => this.addField(name, textOf(value, encoding))),
    )
    parser.on('file', (name, content, filename, encoding, mimetype) => {
      // The parser fails, too, when the content is incomplete.
      content.on('error', () => {})
      this.contents.push(content)
      const file = { filepath: '', originalFilename: filename, mimetype, size: 0 }
      this.attempt(() => this.addFile(name, file, decoded(content, encoding)))
    })
    return parser
  }

  /** The first failure ends the reading. */
  private fail(error: unknown): void {
    this.failure ??= error
    this.source.destroy()
    this.parser.destroy()
  }

  /** An error that a listener throws would end the process. */
  private attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(error)
    }
  }

  private addField(name: string | undefined, value: string): void {
    this.fieldBytes += Buffer.byteLength(value)
    if (this.fieldBytes > this.limits.body) throw new ContentTooLarge(this.limits.body)
    if (!isFieldName(name)) return
    if (this.fields.push([name, value]) > maxFields) throw new TooManyFields()
  }

  private addFile(name: string | undefined, file: UploadedFile, content: AsyncIterable<Buffer>): void {
    if (!isFieldName(name)) return void this.contents.at(-1)?.resume()
    const number = this.files.push([name, file])
    if (number > maxFiles) throw new TooManyFields()
    this.writing.push(this.write(String(number), file, content).catch((error: unknown) => this.fail(error)))
  }

  private async write(name: string, file: UploadedFile, content: AsyncIterable<Buffer>): Promise<void> {
    file.filepath = join(await uploadFolder(this.ctx), name)
    await pipeline(this.counted(file, content), createWriteStream(file.filepath))
  }

  private async *counted(file: UploadedFile, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of content) {
      file.size += chunk.length
      this.fileBytes += chunk.length
      if (this.fileBytes > this.limits.files) throw new ContentTooLarge(this.limits.files)
      yield chunk
    }
  }
}

/** Ignores a part without a name, and one with the name of a member that every object has. */
function isFieldName(name: string | undefined): name is string {
  return name !== undefined && !(name in Object.prototype)
}

const plainEncodings = ['7bit', '8bit', 'binary']

function isBase64(encoding: string): boolean {
  if (encoding === 'base64') return true
  if (plainEncodings.includes(encoding)) return false
  throw new UnsupportedMediaType(`The transfer encoding ${JSON.stringify(encoding)}`)
}

function textOf(value: string, encoding: string): string {
  return isBase64(encoding) ? Buffer.from(value, 'base64').toString() : value
}

/** The content of a file, without the transfer encoding that old clients use. */
async function* decoded(content: Readable, encoding: string): AsyncGenerator<Buffer> {
  if (!isBase64(encoding)) return yield* content
  let rest = ''
  for await (const chunk of content) {
    rest += String(chunk).replaceAll(/\s+/g, '')
    const whole = rest.length - (rest.length % 4)
    yield Buffer.from(rest.slice(0, whole), 'base64')
    rest = rest.slice(whole)
  }
  yield Buffer.from(rest, 'base64')
}

/** The files by field: one, or a list. */
function grouped(
  files: ReadonlyArray<readonly [name: string, file: UploadedFile]>,
): Record<string, UploadedFile | UploadedFile[]> {
  const byName: Record<string, UploadedFile | UploadedFile[]> = {}
  for (const [name, file] of files) {
    const others = byName[name]
    byName[name] = others ? [others, file].flat() : file
  }
  return byName
}
