import { hash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Context } from '../context.js'
import { versionIn } from '../models/attributes/attributes.js'
import { NotAcceptable, ValidationErrors } from '../errors.js'
import { namesTag } from './entity-tags.js'
import { dataFormats, formatOfType, formats, type FormatName } from './formats/formats.js'
import { negotiate } from './formats/negotiation.js'
import { problemOf, writeProblem } from './errors/problem.js'
import { toPlain } from './formats/serializer.js'
import { rootName } from './formats/xml.js'

/**
 * The responses that a handler offers.
 *
 * @example ctx.respond({ html: () => ctx.render('posts/show', { post }), data: post })
 */
export interface Responses {
  /** Renders a page or redirects. It may be async, and load what only the page needs. */
  html?: () => unknown
  /** The value to serialize to JSON and XML, or a function that returns it. */
  data?: unknown
  /** The value for JSON, if it differs from `data`. */
  json?: unknown
  /** The value for XML, if it differs from `data`. */
  xml?: unknown
}

/**
 * Sends the response that the client prefers.
 *
 * @throws NotAcceptable (406) when the client accepts none of the responses; TypeError when there is none
 */
export async function respond(ctx: Context, status: number, responses: Responses): Promise<void> {
  const valueFor = (name: FormatName): unknown =>
    name === 'html' || responses[name] !== undefined ? responses[name] : responses.data
  const offered = formats.filter((name) => valueFor(name) !== undefined)
  if (offered.length === 0)
    throw new TypeError(
      'ctx.respond() has nothing to send. Pass `data`, `json`, `xml` or `html`, which were undefined.',
    )
  const format = chooseFormat(ctx, offered)
  if (!format) throw new NotAcceptable(offered)
  ctx.status = status
  if (status === 201) locate(ctx, responses.data)
  // If the handler has set an `ETag` that the client has, no value is needed.
  if (sendNotModified(ctx)) return
  const response = valueFor(format)
  const value: unknown = typeof response === 'function' ? await response() : response
  if (format !== 'html') writeValue(ctx, format, value)
}

/** Sets `Location` to the path of a created record, unless the handler has set it. */
function locate(ctx: Context, record: unknown): void {
  const path = ctx.res.hasHeader('Location') ? undefined : ctx.recordPath(record)
  if (path !== undefined) ctx.set('Location', path)
}

/** Returns the format of the response. Sets `Vary: Accept`, because clients differ. */
export function chooseFormat(ctx: Context, offered: readonly FormatName[] = formats): FormatName | undefined {
  if (ctx.res.hasHeader('Vary')) ctx.vary('Accept')
  else ctx.set('Vary', 'Accept')
  return negotiate(offered, {
    accept: ctx.req.headers.accept || undefined,
    body: formatOfBody(ctx.req.headers['content-type'] ?? ''),
    default: ctx.defaultFormat,
  })
}

/** The format of a body of a request. A program that sends CSV gets its answer as JSON. */
function formatOfBody(type: string): FormatName | undefined {
  return formatOfType(type) ?? (/^text\/csv\b/i.test(type) ? 'json' : undefined)
}

/** Writes the body in a data format. A record with a version gets a tag, and errors are a problem. */
function writeValue(ctx: Context, name: keyof typeof dataFormats, value: unknown): void {
  if (value instanceof ValidationErrors) {
    ctx.translateErrors(value)
    ctx.remove('ETag')
    const { status } = ctx
    const problem = problemOf(value, ctx)
    const title = status === value.status ? problem.title : (STATUS_CODES[status] ?? problem.title)
    writeProblem(ctx, name, { ...problem, status, title })
    return
  }
  const format = dataFormats[name]
  ctx.set('Content-Type', `${format.mediaTypes[0]}; charset=utf-8`)
  const text = format.write(toPlain(value), () => rootName(value, ctx.route?.resource))
  ctx.body = text
  const version = versionIn(value)
  if (version !== undefined && ctx.status < 300) tagRecord(ctx, version, text)
}

/**
 * Sets the tag of a record, `"7-mZ3kQ2v0aB1cD4eF"`: the version and a digest of the body, which also depends
 * on loaded relations, on the user and on the release. A client that has the body receives 304.
 */
function tagRecord(ctx: Context, version: unknown, text: string): void {
  if (!ctx.res.hasHeader('ETag'))
    ctx.set('ETag', `"${version}-${hash('sha256', text, 'base64url').slice(0, 16)}"`)
  if (!ctx.res.hasHeader('Cache-Control')) ctx.set('Cache-Control', 'private, no-cache')
  sendNotModified(ctx)
}

/** Sends 304 if the client has the response with this `ETag` (RFC 9110). Returns whether it has. */
function sendNotModified(ctx: Context): boolean {
  const header = ctx.req.headers['if-none-match']
  if (header === undefined || ctx.status >= 300 || !['GET', 'HEAD'].includes(ctx.method)) return false
  const tag = ctx.res.getHeader('ETag')
  if (typeof tag !== 'string' || !namesTag(header, tag)) return false
  ctx.status = 304
  ctx.body = null
  return true
}
