import type { Context } from '../context.js'

/** What a body is, as its content type says; undefined for a type that is not read. */
export type BodyKind = 'form' | 'multipart' | 'json' | 'xml' | undefined

const types = [
  ['form', ['urlencoded']],
  ['multipart', ['multipart/form-data']],
  ['json', ['json', 'application/*+json']],
  ['xml', ['xml', 'text/xml', 'application/*+xml']],
] as const

/** Few different headers come: what the last ones mean is kept. */
const kept = new Map<string, BodyKind>()
const mostKept = 100
const longestKept = 200

/** The kind of a request's body. A request without one has none. */
export function bodyKindOf(ctx: Context): BodyKind {
  if (!hasBody(ctx)) return undefined
  const header = ctx.get('Content-Type')
  if (kept.has(header)) return kept.get(header)
  const kind = types.find(([, names]) => typeof ctx.is([...names]) === 'string')?.[0]
  if (kept.size === mostKept) kept.clear()
  if (header.length <= longestKept) kept.set(header, kind)
  return kind
}

/** Whether a request has a body at all. */
export function hasBody(ctx: Context): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = ctx.req.headers
  return length === undefined || length === '' ? Boolean(encoding) : Number(length) !== 0
}
