import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { IDEMPOTENT_METHODS } from '../../common/methods.js'
import type { Context } from '../../context.js'
import { BadRequest } from '../../errors.js'
import { bodyKindOf, hasForm } from '../../http/body/body-kind.js'
import { lastValue } from '../../http/body/form-fields.js'

/** The field of forms that contains a key. */
const field = 'idempotency_key'

/** The key of a request. */
interface RequestKey {
  value: unknown
  /** Whether it is from a field of a form, and not from the `Idempotency-Key` header. */
  isOfForm: boolean
}

/** Whether a key makes a difference: sending a request with another method again does no harm, or has none to do. */
export function takesKeys(method: string): boolean {
  return method === 'POST' || method === 'PATCH'
}

/** The key of a request, as it was sent. */
export function keyOf(ctx: Context): RequestKey | undefined {
  if (!takesKeys(ctx.method)) return undefined
  const header = ctx.req.headers['idempotency-key']
  if (header !== undefined) return { value: header, isOfForm: false }
  const value: unknown = hasForm(ctx) ? lastValue(Reflect.get(Object(ctx.request.body), field)) : undefined
  return value === undefined ? undefined : { value, isOfForm: true }
}

/** Whether sending a request again does no harm: because of its method, or because its key is recognized. */
export function isRepeatable(ctx: Context): boolean {
  if (IDEMPOTENT_METHODS.includes(ctx.method)) return true
  // A context of plain Koa has no route.
  return ctx.route?.recognizesKeys === true && keyOf(ctx) !== undefined
}

/**
 * Reads a key: `K`, or `"K"` as a structured header writes it (RFC 9651).
 *
 * @throws BadRequest (400) when it is empty, longer than 255 characters, or not visible ASCII
 */
export function readKey({ value, isOfForm }: RequestKey): string {
  const key = typeof value === 'string' ? value.replace(/^"(.*)"$/, '$1') : ''
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key
  const name = isOfForm ? `The field ${field}` : 'The Idempotency-Key header'
  throw new BadRequest(`${name} must consist of 1 to 255 visible ASCII characters.`)
}

/**
 * A digest of what a request asks for: method, host of a virtual host, path with query, body and files. A form's CSRF token
 * is another one on each page.
 */
export async function digestOf(ctx: Context): Promise<string> {
  const { method, url, route, request } = ctx
  const body = hasForm(ctx) ? { ...Object(request.body), authenticity_token: undefined } : request.body
  const host = route.host && ctx.hostname
  return hashOf([method, host, url, bodyKindOf(ctx), body, await filesOf(ctx)])
}

/** The SHA-256 of values, in 43 characters. */
export function hashOf(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('base64url')
}

/** The fields, names and digests of a request's files. */
async function filesOf({ request }: Context): Promise<unknown[]> {
  const found: unknown[] = []
  for (const [name, files] of Object.entries(request.files ?? {}))
    for (const file of [files ?? []].flat())
      found.push([name, file.originalFilename, await fileDigest(file.filepath)])
  return found
}

async function fileDigest(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('base64url')
}
