import { rm } from 'node:fs/promises'
import coBody from 'co-body'
import koaBody from 'koa-body'
import type { Context } from '../context.js'
import { BadRequest, ContentTooLarge, HttpError, UnsupportedMediaType } from '../errors.js'
import { parseXml } from './xml.js'

/** How large a body may be. */
export interface BodyLimits {
  /** Bytes of a decompressed body, uploaded files apart (1 MiB). */
  body: number
  /** Bytes of all uploaded files together (10 MiB). */
  files: number
}

/** Reads the body of a request into `ctx.request.body`, and its uploaded files into `ctx.request.files`. */
export type BodyReader = (ctx: Context) => Promise<void>

const formTypes = ['urlencoded', 'multipart']
const encodings = ['identity', 'gzip', 'deflate', 'br']

/**
 * Makes the reader of forms, multipart forms, JSON and XML. A request without a body has an empty one.
 *
 * The reader throws UnsupportedMediaType (415) for another type or encoding, ContentTooLarge (413) over the limit, and
 * BadRequest (400) for what is malformed.
 */
export function bodyReader(limits: BodyLimits): BodyReader {
  const parse = koaBody({
    jsonLimit: limits.body,
    formLimit: limits.body,
    text: false,
    multipart: true,
    patchNode: false,
    parsedMethods: ['POST', 'PUT', 'PATCH', 'DELETE'] as never,
    queryString: { depth: 5, arrayLimit: 100, parameterLimit: 1000, allowDots: false, duplicates: 'last' } as object,
    formidable: {
      maxFieldsSize: limits.body,
      maxFields: 1000,
      maxFileSize: limits.files,
      maxTotalFileSize: limits.files,
      allowEmptyFiles: true,
      minFileSize: 0,
      onPart: (part, handle) => {
        // formidable keeps fields in a plain object, which already has members of these names.
        if (part.name === null || !(part.name in Object.prototype)) handle(part)
      },
    },
  })

  return async function readBody(ctx) {
    setBody(ctx, {})
    if (!hasBody(ctx)) return
    refuseUnknown(ctx)
    try {
      if (isXml(ctx)) setBody(ctx, parseXml(await coBody.text(ctx, { limit: String(limits.body) })))
      else await parse(ctx, async () => {})
    } catch (error) {
      throw explain(error, limits)
    }
  }
}

/** Whether a request has a form as its body: only such a one may carry `_method`. */
export function hasForm(ctx: Context): boolean {
  return hasBody(ctx) && typeof ctx.is(formTypes) === 'string'
}

/** Deletes the uploaded files of a request that nobody moved elsewhere. */
export async function removeUploads(ctx: Context): Promise<void> {
  const uploads = Object.values(ctx.request.files ?? {}).flat()
  await Promise.all(uploads.map(({ filepath }) => rm(filepath, { force: true })))
}

function hasBody(ctx: Context): boolean {
  return ctx.request.length !== 0 && (ctx.request.length !== undefined || ctx.get('Transfer-Encoding') !== '')
}

function refuseUnknown(ctx: Context): void {
  const encoding = ctx.get('Content-Encoding').toLowerCase() || 'identity'
  if (!encodings.includes(encoding)) throw new UnsupportedMediaType(`the encoding "${encoding}"`)
  const type = ctx.request.type
  if (type === '') throw new UnsupportedMediaType('a body without a content type')
  const isKnown = isXml(ctx) || typeof ctx.is([...formTypes, 'json', 'application/*+json']) === 'string'
  if (!isKnown) throw new UnsupportedMediaType(`the content type "${type}"`)
  const isCompressedUpload = encoding !== 'identity' && typeof ctx.is('multipart') === 'string'
  if (isCompressedUpload) throw new UnsupportedMediaType('a compressed multipart body')
}

function isXml(ctx: Context): boolean {
  return typeof ctx.is(['xml', 'text/xml', 'application/*+xml']) === 'string'
}

function setBody(ctx: Context, body: Record<string, unknown>): void {
  Object.assign(ctx.request, { body })
}

/** What the parsers throw, as the errors that the client is told. */
function explain(error: unknown, { body }: BodyLimits): unknown {
  if (error instanceof HttpError) return error
  const code = memberOf(error, 'status') ?? memberOf(error, 'httpCode')
  if (code === 413) return new ContentTooLarge(body)
  if (code === 415) return new UnsupportedMediaType('the encoding of the body')
  const isClients = (typeof code === 'number' && code < 500) || isInflateError(error)
  return isClients ? new BadRequest('the body is malformed', { cause: error }) : error
}

function memberOf(error: unknown, name: string): unknown {
  return error instanceof Error ? Reflect.get(error, name) : undefined
}

/** zlib tells broken data by codes like Z_DATA_ERROR and Z_BUF_ERROR, brotli by ERR__ERROR_FORMAT_... */
function isInflateError(error: unknown): boolean {
  const code = memberOf(error, 'code')
  return typeof code === 'string' && /^(Z_|ERR__ERROR|ERR_ZLIB|ERR_PADDING|ERR_BROTLI)/.test(code)
}
