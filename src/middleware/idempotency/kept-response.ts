import { isPlainObject } from '../../common/plain-object.js'
import type { Context } from '../../context.js'
import { ResponseNotKept } from '../../errors.js'
import { addLogFields } from '../../logging/request-logger.js'
import type { Flash } from '../../sessions/flash.js'

/** A response as the table of keys contains it. */
export interface KeptResponse {
  status: number
  /** The headers that describe the body, and the path of the record. A repetition has its own cookies and other headers. */
  headers: Record<string, string>
  flash: Flash
  /** The text of a body of JSON or XML; null if there is none, undefined if it was not kept. */
  body?: string | null | undefined
}

const keptHeaders = ['Content-Type', 'Content-Language', 'Location', 'ETag']

/** The most bytes of a body that are kept. */
const maxBody = 64 * 1024

/** The part of a request's response that is kept for its repetitions. */
export function keepResponse(ctx: Context): KeptResponse {
  const { res, status } = ctx
  const isSecret = /\bno-store\b/i.test(String(res.getHeader('Cache-Control')))
  const headers = keptHeaders.flatMap((name) => {
    const value = res.getHeader(name)
    return typeof value === 'string' ? [[name, value]] : []
  })
  return {
    status,
    headers: Object.fromEntries(headers),
    flash: isSecret ? [] : ctx.addedFlash,
    body: isRedirect(ctx) ? null : isSecret || res.headersSent ? undefined : bodyOf(ctx),
  }
}

/** Whether the response leads to another page, which shows what the request has done. */
export function isRedirect({ res, status }: Context): boolean {
  return status >= 300 && status < 400 && res.hasHeader('Location')
}

/**
 * Sends the response of an earlier request again.
 *
 * @throws ResponseNotKept (409) when its body was not kept
 */
export function replayResponse(ctx: Context, { status, headers, flash, body }: KeptResponse): void {
  const { Location: location } = headers
  if (body === undefined) throw new ResponseNotKept(location)
  ctx.status = status
  ctx.set(headers)
  if (body !== null) ctx.body = body
  else if (status >= 300 && location !== undefined) ctx.redirect(location)
  for (const { type, message } of flash) ctx.flash(type, message)
  ctx.set('Idempotent-Replayed', 'true')
  addLogFields(ctx, { replayed: true })
}

function bodyOf({ body, res }: Context): string | null | undefined {
  if (body === undefined || body === null) return null
  if (!/[/+](?:json|xml)\b/i.test(String(res.getHeader('Content-Type')))) return undefined
  const text = textOf(body)
  return text !== undefined && Buffer.byteLength(text) <= maxBody ? text : undefined
}

/** The text of a body as it is sent; undefined for a stream. */
function textOf(body: unknown): string | undefined {
  if (typeof body === 'string') return body
  if (Buffer.isBuffer(body)) return body.toString()
  return isPlainObject(body) || Array.isArray(body) ? JSON.stringify(body) : undefined
}
