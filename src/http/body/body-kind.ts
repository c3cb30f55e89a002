import type { Context } from '../../context.js'
import { memoize } from '../../common/memoize.js'

/** A format of bodies: an urlencoded form, a multipart form, JSON or XML. */
export type BodyFormat = 'form' | 'multipart' | 'json' | 'xml'

/** The kind of a body by its content type, `csv` for the file of an import; undefined if unsupported. */
export type BodyKind = BodyFormat | 'csv' | undefined

const types: Record<BodyFormat, RegExp> = {
  form: /^application\/x-www-form-urlencoded$/,
  multipart: /^multipart\/form-data$/,
  json: /^application\/(?:[^/]+\+)?json$/,
  xml: /^(?:text\/xml|application\/(?:[^/]+\+)?xml)$/,
}

/** The formats of bodies. */
export const bodyFormats = Object.keys(types) as readonly BodyFormat[]

/** The kind of a request's body; undefined without a body, or if its type is not supported. */
export function bodyKindOf(ctx: Context): BodyKind {
  return hasBody(ctx) ? declaredKindOf(ctx) : undefined
}

/** Whether the body of a request is a form. Only a form can override the method with the `_method` field. */
export function hasForm(ctx: Context): boolean {
  const kind = bodyKindOf(ctx)
  return kind === 'form' || kind === 'multipart'
}

/** The kind that the content type declares, even if there is no body. */
export function declaredKindOf(ctx: Context): BodyKind {
  return kindOfType(ctx.req.headers['content-type'] ?? '')
}

const kindOfType = memoize((header): BodyKind => {
  const type = header.split(';', 1).join().trim().toLowerCase()
  return type === 'text/csv' ? 'csv' : bodyFormats.find((format) => types[format].test(type))
})

/** Whether a request has a body at all. */
export function hasBody(ctx: Context): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = ctx.req.headers
  return length === undefined || length === '' ? Boolean(encoding) : Number(length) !== 0
}
