import type { Context } from '../../context.js'
import { clientNetwork } from '../security/client-network.js'
import {
  BadRequest,
  ContentTooLarge,
  TooManyFields,
  TooManyMembers,
  UnsupportedMediaType,
} from '../../errors.js'
import { bodyKindOf, charsetOf, hasBody, type BodyFormat } from './body-kind.js'
import { BodyReads, type BodyRead } from './body-reads.js'
import { decompressed, encodingOf } from './body-stream.js'
import { hasTooManyMembers, isTooDeep, hasPrototypeKey } from '../../data/attributes/json-limits.js'
import { formReader } from './form-fields.js'
import { readMultipart } from './multipart.js'
import { readText } from './read-text.js'
import { UploadSlots } from './upload-slots.js'
import { parseXml } from './xml-reader.js'

/** The limits of a body. */
export interface BodyLimits {
  /** Bytes of a decompressed body, without uploaded files (1 MiB). */
  body: number
  /** Bytes of all uploaded files together (10 MiB). */
  files: number
  /** Multipart forms that are read at the same time (50). */
  uploads: number
  /** Values of JSON, or elements, attributes and entities of XML (10,000). */
  members: number
  /** The formats that are read. */
  formats: readonly BodyFormat[]
}

/** Reads the body of a request into `ctx.request.body`, and its uploaded files into `ctx.request.files`. */
export type BodyReader = (ctx: Context) => Promise<void>

const charsets = ['', 'utf-8', 'utf8', 'us-ascii']

/**
 * Creates the reader of forms, multipart forms, JSON and XML. Without a body, `ctx.request.body` is an empty object.
 *
 * The reader throws UnsupportedMediaType (415) for another type or encoding, ContentTooLarge (413) over the limit, and
 * BadRequest (400) for a malformed body.
 */
export function bodyReader(limits: BodyLimits): BodyReader {
  const reads = new BodyReads(limits.body)
  const slots = new UploadSlots(limits.uploads)
  const readForm = formReader(limits.body)

  return async function readBody(ctx) {
    ctx.request.body = {}
    if (!hasBody(ctx)) return
    rejectUnsupported(ctx, limits.formats)
    const kind = bodyKindOf(ctx)
    try {
      if (kind === 'multipart') {
        // A form that waits for a place is not read yet, so its rate does not count.
        const read = () => reads.run(ctx, (one) => readMultipart(ctx, limits, one))
        await slots.run(clientNetwork(ctx.ip), read)
      } else if (kind === 'form') await reads.run(ctx, (one) => readForm(ctx, one))
      else await reads.run(ctx, (one) => readDocument(ctx, one))
    } catch (error) {
      throw explain(error, limits)
    }
  }

  async function readDocument(ctx: Context, read: BodyRead): Promise<void> {
    const text = await readText(decompressed(ctx), limits.body, read)
    const parse = bodyKindOf(ctx) === 'xml' ? parseXml : parseJson
    Object.assign(ctx.request, { body: await parse(text, limits.members) })
  }
}

/** Whether the body of a request is a form. Only a form can override the method with the field `_method`. */
export function hasForm(ctx: Context): boolean {
  const kind = bodyKindOf(ctx)
  return kind === 'form' || kind === 'multipart'
}

function rejectUnsupported(ctx: Context, formats: readonly BodyFormat[]): void {
  const encoding = encodingOf(ctx)
  if (!encoding) throw new UnsupportedMediaType(`The encoding "${ctx.get('Content-Encoding')}"`)
  const kind = bodyKindOf(ctx)
  if (!kind || !formats.includes(kind)) {
    const { type } = ctx.request
    throw new UnsupportedMediaType(
      type === '' ? 'A body without a content type' : `The content type "${type}"`,
    )
  }
  const charset = charsetOf(ctx)
  if (!charsets.includes(charset.toLowerCase())) throw new UnsupportedMediaType(`The charset "${charset}"`)
  if (encoding !== 'identity' && kind === 'multipart')
    throw new UnsupportedMediaType('A compressed multipart body')
}

function parseJson(text: string, members: number): unknown {
  if (text === '') return {}
  if (!/^[ \t\n\r]*[[{]/.test(text))
    throw new BadRequest('The JSON body must be an object or a list, like { "name": "value" }.')
  if (hasTooManyMembers(text, members)) throw new TooManyMembers(members)
  const json = parsed(text)
  if (isTooDeep(json)) throw new BadRequest('The body is nested too deeply.')
  if (hasPrototypeKey(json)) throw new BadRequest('The JSON body has a key "__proto__".')
  return json
}

/** Parses JSON. The error for malformed text contains the position of the mistake. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const message = error instanceof Error ? error.message.slice(0, 200) : ''
    throw new BadRequest(`The JSON body is not well-formed: ${message}.`, { cause: error })
  }
}

/** Converts the errors of the parsers to errors for the client. */
function explain(error: unknown, limits: BodyLimits): unknown {
  // This is how qs reports too many fields.
  if (error instanceof RangeError) return new TooManyFields()
  if (!(error instanceof Error)) return error
  // The types of koa-body's errors.
  const type: unknown = Reflect.get(error, 'type')
  if (type === 'entity.too.large') return new ContentTooLarge(limits.body)
  if (type === 'request.aborted') return new BadRequest('The body is incomplete.')
  return isInflateError(Reflect.get(error, 'code'))
    ? new BadRequest('The body is malformed.', { cause: error })
    : error
}

/** zlib reports malformed data by codes like Z_DATA_ERROR and Z_BUF_ERROR, brotli by ERR__ERROR_FORMAT_... */
function isInflateError(code: unknown): boolean {
  return typeof code === 'string' && /^(Z_|ERR__ERROR|ERR_ZLIB|ERR_PADDING|ERR_BROTLI)/.test(code)
}
