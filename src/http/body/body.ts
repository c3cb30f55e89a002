import type { Context } from '../../context.js'
import {
  BadRequest,
  ContentTooLarge,
  HttpError,
  ServiceUnavailable,
  TooManyFields,
  TooManyMembers,
  UnsupportedMediaType,
} from '../../errors.js'
import { bodyKindOf, charsetOf, hasBody, type BodyFormat } from './body-kind.js'
import { decompressed, encodingOf } from './body-stream.js'
import { hasTooManyMembers, isTooDeep, hasPrototypeKey } from '../../data/json-limits.js'
import { formReader } from './form-body.js'
import { readMultipart } from './multipart.js'
import { readText } from './read-text.js'
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
  const readForm = formReader(limits.body)
  const readUpload = uploadReader(limits)

  return async function readBody(ctx) {
    ctx.request.body = {}
    if (!hasBody(ctx)) return
    rejectUnsupported(ctx, limits.formats)
    try {
      const kind = bodyKindOf(ctx)
      if (kind === 'form') await readForm(ctx)
      else if (kind === 'multipart') await readUpload(ctx)
      else Object.assign(ctx.request, { body: await readDocument(ctx, limits) })
    } catch (error) {
      throw explain(error, limits)
    }
  }
}

/** Reads multipart forms. Their number is limited, because each form that is being read needs buffers and an open file. */
function uploadReader(limits: BodyLimits): BodyReader {
  let running = 0

  return async function readUpload(ctx) {
    if (running >= limits.uploads)
      throw new ServiceUnavailable(`${running} uploads are in progress, which is the maximum (uploadsLimit).`)
    running++
    try {
      await readMultipart(ctx, limits)
    } finally {
      running--
    }
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

async function readDocument(ctx: Context, { body, members }: BodyLimits): Promise<unknown> {
  const text = await readText(decompressed(ctx), body)
  return bodyKindOf(ctx) === 'xml' ? parseXml(text, members) : parseJson(text, members)
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
function explain(error: unknown, { body }: BodyLimits): unknown {
  if (error instanceof HttpError) return error
  // This is how qs reports too many fields.
  if (error instanceof RangeError) return new TooManyFields()
  const status = memberOf(error, 'status')
  const code = memberOf(error, 'code')
  if (status === 413) return new ContentTooLarge(body)
  if (status === 415) return new UnsupportedMediaType('The encoding of the body')
  const isClientError = (typeof status === 'number' && status < 500) || isInflateError(code)
  return isClientError ? new BadRequest('The body is malformed.', { cause: error }) : error
}

function memberOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined
}

/** zlib reports malformed data by codes like Z_DATA_ERROR and Z_BUF_ERROR, brotli by ERR__ERROR_FORMAT_... */
function isInflateError(code: unknown): boolean {
  return typeof code === 'string' && /^(Z_|ERR__ERROR|ERR_ZLIB|ERR_PADDING|ERR_BROTLI)/.test(code)
}
