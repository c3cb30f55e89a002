import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { IDEMPOTENT_METHODS } from '../../common/methods.js'
import type { Context } from '../../context.js'
import { BadRequest } from '../../errors.js'
import { bodyKindOf, hasForm } from '../../http/body/body-kind.js'
import { lastValue } from '../../http/body/form-fields.js'

/** Finds the key of a POST or PATCH request, as it was sent: in the header, or in the field of a form. */
export function findKey(ctx: Context): { sent: unknown; isFromForm: boolean } | undefined {
  if (IDEMPOTENT_METHODS.includes(ctx.method)) return undefined
  const header = ctx.req.headers['idempotency-key']
  if (header !== undefined) return { sent: header, isFromForm: false }
  if (!hasForm(ctx)) return undefined
  const sent: unknown = lastValue(Reflect.get(Object(ctx.request.body), 'idempotency_key'))
  return sent === undefined ? undefined : { sent, isFromForm: true }
}

/** Whether sending a request again does no harm: because of its method, or because its key is recognized. */
export function isRepeatable(ctx: Context): boolean {
  if (IDEMPOTENT_METHODS.includes(ctx.method)) return true
  // A context of plain Koa has no route.
  return ctx.route?.recognizesKeys === true && findKey(ctx) !== undefined
}

/**
 * Reads a key: `K`, or `"K"` as a structured header writes it (RFC 9651).
 *
 * @throws BadRequest (400) when it is empty, longer than 255 characters, or not visible ASCII
 */
export function readKey(sent: unknown): string {
  const key = typeof sent === 'string' ? sent.replace(/^"(.*)"$/, '$1') : ''
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw new BadRequest(
    'Idempotency-Key, or the field idempotency_key, must be 1 to 255 visible ASCII characters.',
  )
}

/** Returns a digest of a request: method, URL, body and files, without its changing CSRF token. */
export async function digestRequest(ctx: Context): Promise<string> {
  const { method, url, route, request } = ctx
  const body = hasForm(ctx) ? { ...Object(request.body), authenticity_token: undefined } : request.body
  const files = Object.entries(request.files ?? {}).flatMap(([name, value]) =>
    [value].flat().map(async (file) => [name, file.originalFilename, await digestFile(file.filepath)]),
  )
  // Only a route with a host depends on the host of the request.
  const host = route.host && ctx.hostname
  return hash([method, host, url, bodyKindOf(ctx), body, await Promise.all(files)])
}

/** Returns the SHA-256 of values, in 43 characters. */
export function hash(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url')
}

async function digestFile(path: string): Promise<string> {
  const digest = createHash('sha256')
  for await (const chunk of createReadStream(path)) digest.update(chunk)
  return digest.digest('base64url')
}
