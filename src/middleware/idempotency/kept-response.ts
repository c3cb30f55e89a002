import { asciiJson } from '../../common/ascii-json.js'
import { isPlainObject } from '../../common/plain-object.js'
import type { Context } from '../../context.js'
import { ResponseNotKept } from '../../errors.js'
import { compared } from '../../http/preconditions.js'
import { formatOfType } from '../../http/formats/formats.js'
import { addLogFields } from '../../logging/request-logger.js'
import { addedFlash } from '../../sessions/flash-cookie.js'
import type { Flash } from '../../sessions/flash.js'

/** A response as the table of keys contains it. */
interface StoredResponse {
  status: number
  headers: Record<string, string>
  flash: Flash
  /** The text of the body; null for an empty body, undefined if the body was not stored. */
  body?: string | null | undefined
}

/** The stored headers, which describe the body or the record. Others and cookies are created again. */
const HEADERS = ['Content-Type', 'Content-Language', 'Location', 'ETag']

/** The maximum number of bytes of a stored body. */
const maxBytes = 64 * 1024

/** Serializes the parts of a response that are stored for repetitions of its request. */
export function serializeResponse(ctx: Context): string {
  const { res, status } = ctx
  const isSecret = /\bno-store\b/i.test(String(res.getHeader('Cache-Control')))
  const names = HEADERS.filter((name) => res.hasHeader(name))
  const headers = names.map((name) => [name, String(res.getHeader(name))])
  const body = isRedirect(ctx) ? null : isSecret ? undefined : serializeBody(ctx)
  const flash = isSecret ? [] : addedFlash(ctx)
  return asciiJson({ status, headers: Object.fromEntries(headers), flash, body } satisfies StoredResponse)
}

/** Whether the response leads to another page, which shows what the request has done. */
export function isRedirect({ res, status }: Context): boolean {
  return status >= 300 && res.hasHeader('Location')
}

/**
 * Sends a stored response.
 *
 * @throws ResponseNotKept (409) when the body was not stored
 */
export function replayResponse(ctx: Context, json: string): void {
  const { status, headers, flash, body }: StoredResponse = JSON.parse(json)
  if (body === undefined) throw new ResponseNotKept(headers['Location'])
  ctx.status = status
  ctx.set({ ...headers, 'Idempotent-Replayed': 'true' })
  if (body !== null) ctx.body = body
  else if (isRedirect(ctx)) ctx.redirect(headers['Location'] ?? '')
  for (const { type, message } of flash) ctx.flash(type, message)
  // The first request has met its conditions (`If-Match`), so they are not compared again.
  compared.add(ctx.tx)
  addLogFields(ctx, { replayed: true })
}

function serializeBody({ body, res }: Context): string | null | undefined {
  // If the headers have been sent, the handler has written the response past Koa.
  if (body === undefined || body === null) return res.headersSent ? undefined : null
  if (!formatOfType(String(res.getHeader('Content-Type')))) return undefined
  const isData = isPlainObject(body) || Array.isArray(body)
  const text = isData ? JSON.stringify(body) : Buffer.isBuffer(body) ? body.toString() : body
  return typeof text === 'string' && Buffer.byteLength(text) <= maxBytes ? text : undefined
}
