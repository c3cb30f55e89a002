import { memoize } from '../common/memoize.js'
import type { Context } from '../context.js'
import { NotAcceptable, ValidationErrors } from '../errors.js'
import { toJson } from './formats/json.js'
import { formats, negotiate, type Format } from './formats/negotiation.js'
import { problemOf, writeProblem } from './errors/problem.js'
import { toPlain } from './formats/serializer.js'
import { rootName, toXml } from './formats/xml.js'

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
 * @throws NotAcceptable (406) when it accepts none of them
 */
export async function respond(ctx: Context, status: number, responses: Responses): Promise<void> {
  const { html, data, json = data, xml = data } = responses
  const byFormat: Record<Format, unknown> = { html, json, xml }
  const offered = formats.filter((format) => byFormat[format] !== undefined)
  const format = chooseFormat(ctx, offered)
  if (!format) throw new NotAcceptable(offered)
  // Koa's delegated setters, such as `ctx.status = status`, cost more than its own.
  ctx.response.status = status
  const given = byFormat[format]
  const value: unknown = typeof given === 'function' ? await given() : given
  if (format !== 'html') writeValue(ctx, format, value)
}

/** Returns the format of the response. Sets `Vary: Accept`, because other clients may receive another format. */
export function chooseFormat(ctx: Context, offered: readonly Format[] = formats): Format | undefined {
  if (ctx.res.hasHeader('Vary')) ctx.vary('Accept')
  else ctx.set('Vary', 'Accept')
  return negotiate(offered, {
    accept: ctx.req.headers.accept || undefined,
    body: bodyFormat(ctx),
    default: ctx.defaultFormat,
  })
}

function bodyFormat(ctx: Context): Format | undefined {
  const header = ctx.req.headers['content-type']
  return header === undefined ? undefined : formatOfType(header)
}

const formatOfType = memoize((header): Format | undefined => {
  const [type = ''] = header.split(';', 1)
  if (/[/+]json$/.test(type.trim())) return 'json'
  return /[/+]xml$/.test(type.trim()) ? 'xml' : undefined
})

function writeValue(ctx: Context, format: 'json' | 'xml', value: unknown): void {
  if (value instanceof ValidationErrors) {
    ctx.translateErrors(value)
    writeProblem(ctx, format, { ...problemOf(value, ctx), status: ctx.status })
    return
  }
  const plain = toPlain(value)
  ctx.response.set('Content-Type', contentTypes[format])
  ctx.response.body = format === 'json' ? toJson(plain) : toXml(plain, rootName(value, ctx.route?.resource))
}

const contentTypes = { json: 'application/json; charset=utf-8', xml: 'application/xml; charset=utf-8' }
