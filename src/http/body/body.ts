import type { Context } from '../../context.js'
import { clientNetwork } from '../security/client-network.js'
import { BadRequest, TooManyFields, TooManyMembers, UnsupportedMediaType } from '../../errors.js'
import { bodyFormats, bodyKindOf, hasBody, type BodyFormat } from './body-kind.js'
import { BodyReads, type BodyRead } from './body-reads.js'
import { decodeText, encodingOf, readBytes } from './body-stream.js'
import {
  defaultMembersLimit,
  hasTooManyMembers,
  isTooDeep,
  hasKey,
} from '../../models/attributes/json-limits.js'
import { formReader } from './form-fields.js'
import { readFile, readMultipart } from './multipart.js'
import { explainFullDisk } from './upload-folders.js'
import { UploadSlots } from './upload-slots.js'
import { planOf } from './uploads.js'
import { parseXml } from './xml-reader.js'

/** The options of an application for the bodies of requests. */
export interface BodyOptions {
  /** The maximum size of a request's body in bytes, without uploaded files (1 MiB). */
  bodyLimit?: number
  /** The maximum total size of the files of a request in bytes (10 MiB). */
  filesLimit?: number
  /** The maximum number of multipart forms at a time (50). Further ones get 503 and `Retry-After`. */
  uploadsLimit?: number
  /** The maximum size of an XML body in bytes (128 KiB). XML takes ten times as long to parse as JSON. */
  xmlLimit?: number
  /** The maximum number of values in a JSON body, and of elements and attributes in an XML body (10,000). */
  membersLimit?: number
  /** The formats of bodies that it reads (`['form', 'multipart', 'json', 'xml']`). Others get 415. */
  bodyFormats?: readonly BodyFormat[]
}

/** The maximum total size of the files of a request in bytes, unless the application sets `filesLimit`. */
export const defaultFilesLimit = 10 * 1024 * 1024

/**
 * Reads the body of a request into `ctx.request.body`, and its uploaded files into `ctx.request.files`.
 *
 * @param routes those that the request can have, depending on the `_method` in its body
 */
export type BodyReader = (ctx: Context, routes?: readonly object[]) => Promise<void>

/** The supported charsets: UTF-8 and its subset ASCII. A content type without a charset has an empty one. */
const charsets = ['', 'utf-8', 'utf8', 'us-ascii']

/**
 * Creates the reader of forms, multipart forms, JSON and XML. Without a body, `ctx.request.body` is an empty
 * object.
 *
 * The reader throws UnsupportedMediaType (415) for another type or encoding; ContentTooLarge, TooManyFields,
 * TooManyMembers and DecompressionBomb (413) over the limits; BadRequest (400) for a malformed body;
 * RequestTimeout (408) for a slow one; and TooManyUploads (429) and ServiceUnavailable (503) when too many
 * bodies are being read.
 */
export function bodyReader({
  bodyLimit = 1024 * 1024,
  filesLimit = defaultFilesLimit,
  uploadsLimit = 50,
  xmlLimit = 128 * 1024,
  membersLimit = defaultMembersLimit,
  bodyFormats: formats = bodyFormats,
}: BodyOptions): BodyReader {
  const reads = new BodyReads(bodyLimit)
  const slots = new UploadSlots(uploadsLimit)
  const readForm = formReader(bodyLimit)

  return async function readBody(ctx, routes = []) {
    ctx.request.body = {}
    if (!hasBody(ctx)) return
    rejectUnsupported(ctx, formats)
    const kind = bodyKindOf(ctx)
    try {
      if (kind === 'multipart' || kind === 'csv') {
        // `reads` is called in the slot, because the rate of a form that waits for a slot does not count.
        const plan = planOf(routes)
        const limits = { body: bodyLimit, files: Math.max(filesLimit, plan?.filesLimit ?? 0) }
        const work = () =>
          reads.run(ctx, (read) =>
            kind === 'csv' ? readFile(ctx, filesLimit, read) : readMultipart(ctx, limits, read, plan),
          )
        await slots.run(clientNetwork(ctx.ip), work)
      } else if (kind === 'form') await reads.run(ctx, (read) => readForm(ctx, read))
      else await reads.run(ctx, (read) => readDocument(ctx, read))
    } catch (error) {
      throw explain(error)
    }
  }

  async function readDocument(ctx: Context, read: BodyRead): Promise<void> {
    const isXml = bodyKindOf(ctx) === 'xml'
    const limit = isXml ? Math.min(xmlLimit, bodyLimit) : bodyLimit
    const text = decodeText(await readBytes(ctx, limit, read))
    const parse = isXml ? parseXml : parseJson
    Object.assign(ctx.request, { body: await parse(text, membersLimit) })
  }
}

/** @throws UnsupportedMediaType (415) when the encoding, content type or charset is not supported */
function rejectUnsupported(ctx: Context, formats: readonly BodyFormat[]): void {
  const encoding = encodingOf(ctx)
  if (!encoding) throw new UnsupportedMediaType(`The encoding "${ctx.get('Content-Encoding')}"`)
  const kind = bodyKindOf(ctx)
  // Only an import reads CSV.
  const isRead = kind === 'csv' ? ctx.route?.resource?.forMany === 'import' : kind && formats.includes(kind)
  if (!isRead) {
    const { type } = ctx.request
    throw new UnsupportedMediaType(
      type === '' ? 'A body without a content type' : `The content type "${type}"`,
    )
  }
  const { charset } = ctx.request
  if (!charsets.includes(charset.toLowerCase())) throw new UnsupportedMediaType(`The charset "${charset}"`)
  if (encoding !== 'identity' && kind === 'multipart')
    throw new UnsupportedMediaType('A compressed multipart body')
}

/** @throws BadRequest (400) when it is no JSON object or list, or nested too deeply; TooManyMembers (413) */
function parseJson(text: string, maxMembers: number): unknown {
  if (text === '') return {}
  if (!/^[ \t\n\r]*[[{]/.test(text))
    throw new BadRequest('The JSON body must be an object or a list, like { "name": "value" }.')
  if (hasTooManyMembers(text, maxMembers)) throw new TooManyMembers(maxMembers)
  const json = parseText(text)
  if (isTooDeep(json)) throw new BadRequest('The body is nested too deeply.')
  if (hasKey(json, '__proto__')) throw new BadRequest('The JSON body has a key "__proto__".')
  return json
}

/** @throws BadRequest (400) with the position of the mistake when the JSON is malformed */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const message = error instanceof Error ? error.message.slice(0, 200) : ''
    throw new BadRequest(`The JSON body is not well-formed: ${message}.`, { cause: error })
  }
}

/** Converts the errors of the parsers to errors for the client. */
function explain(error: unknown): unknown {
  // qs throws a RangeError when there are too many fields.
  if (error instanceof RangeError) return new TooManyFields()
  if (!(error instanceof Error)) return error
  const code: unknown = Reflect.get(error, 'code')
  return isInflateError(code)
    ? new BadRequest('The body is malformed.', { cause: error })
    : explainFullDisk(error)
}

/** zlib reports malformed data by codes like Z_DATA_ERROR and Z_BUF_ERROR, brotli by ERR__ERROR_FORMAT_... */
function isInflateError(code: unknown): boolean {
  return typeof code === 'string' && /^(Z_|ERR__ERROR|ERR_ZLIB|ERR_PADDING|ERR_BROTLI)/.test(code)
}
