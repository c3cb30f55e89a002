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
interface KeptResponse {
  status: number
  headers: Record<string, string>
  flash: Flash
  /** The text of data; null if there is none, undefined if it was not kept. */
  body?: string | null | undefined
}

/** The headers that describe the body, or lead to the record. A repetition has its own other headers, and its own cookies. */
const keptHeaders = ['Content-Type', 'Content-Language', 'Location', 'ETag']

/** The most bytes of a body that are kept. */
const maxBody = 64 * 1024

/** The part of a response that is kept for the repetitions of its request. */
export function keptResponse(ctx: Context): string {
  const { res, status } = ctx
  const isSecret = /\bno-store\b/i.test(String(res.getHeader('Cache-Control')))
  const headers = keptHeaders.filter((it) => res.hasHeader(it)).map((it) => [it, String(res.getHeader(it))])
  const body = isRedirect(ctx) ? null : isSecret ? undefined : bodyOf(ctx)
  const flash = isSecret ? [] : addedFlash(ctx)
  return asciiJson({ status, headers: Object.fromEntries(headers), flash, body } satisfies KeptResponse)
}

/** Whether the response leads to another page, which shows what the request has done. */
export function isRedirect({ res, status }: Context): boolean {
  return status >= 300 && res.hasHeader('Location')
}

/**
 * Sends a response that was kept.
 *
 * @throws ResponseNotKept (409) when its body was not kept
 */
export function replay(ctx: Context, kept: string): void {
  const { status, headers, flash, body }: KeptResponse = JSON.parse(kept)
  if (body === undefined) throw new ResponseNotKept(headers['Location'])
  ctx.status = status
  ctx.set({ ...headers, 'Idempotent-Replayed': 'true' })
  if (body !== null) ctx.body = body
  else if (isRedirect(ctx)) ctx.redirect(headers['Location'] ?? '')
  for (const { type, message } of flash) ctx.flash(type, message)
  // The first request has compared its conditions.
  compared.add(ctx.tx)
  addLogFields(ctx, { replayed: true })
}

function bodyOf({ body, res }: Context): string | null | undefined {
  if (body === undefined || body === null) return res.headersSent ? undefined : null
  if (!formatOfType(String(res.getHeader('Content-Type')))) return undefined
  const isData = isPlainObject(body) || Array.isArray(body)
  const text = isData ? JSON.stringify(body) : Buffer.isBuffer(body) ? body.toString() : body
  return typeof text === 'string' && Buffer.byteLength(text) <= maxBody ? text : undefined
}
