import type { Context } from '../context.js'
import { NotAcceptable, ValidationErrors } from '../errors.js'
import { dataFormats, formatOfType, formats, negotiate, type FormatName } from './formats/negotiation.js'
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
 * @throws NotAcceptable (406) when it accepts none of them
 */
export async function respond(ctx: Context, status: number, responses: Responses): Promise<void> {
  const valueFor = (name: FormatName): unknown =>
    name === 'html' || responses[name] !== undefined ? responses[name] : responses.data
  const offered = formats.filter((name) => valueFor(name) !== undefined)
  const format = chooseFormat(ctx, offered)
  if (!format) throw new NotAcceptable(offered)
  // Koa's delegated setters, such as `ctx.status = status`, cost more than its own.
  ctx.response.status = status
  const given = valueFor(format)
  const value: unknown = typeof given === 'function' ? await given() : given
  if (format !== 'html') writeValue(ctx, format, value)
}

/** Returns the format of the response. Sets `Vary: Accept`, because other clients may receive another format. */
export function chooseFormat(ctx: Context, offered: readonly FormatName[] = formats): FormatName | undefined {
  if (ctx.res.hasHeader('Vary')) ctx.vary('Accept')
  else ctx.set('Vary', 'Accept')
  return negotiate(offered, {
    accept: ctx.req.headers.accept || undefined,
    body: formatOfType(ctx.req.headers['content-type'] ?? ''),
    default: ctx.defaultFormat,
  })
}

function writeValue(ctx: Context, name: keyof typeof dataFormats, value: unknown): void {
  if (value instanceof ValidationErrors) {
    ctx.translateErrors(value)
    writeProblem(ctx, name, { ...problemOf(value, ctx), status: ctx.status })
    return
  }
  const format = dataFormats[name]
  ctx.response.set('Content-Type', `${format.mediaTypes[0]}; charset=utf-8`)
  ctx.response.body = format.write(toPlain(value), () => rootName(value, ctx.route?.resource))
}
