import { Readable } from 'node:stream'
import type { koaBody } from 'koa-body'
import type { Context } from '../../context.js'
import type { BodyRead } from './body-reads.js'
import { readBytes } from './body-stream.js'
import { require } from '../../common/lazy.js'

/** The maximum number of fields of a form. */
export const maxFields = 1000

/**
 * The options of qs for the names of fields, in both encodings of forms: `a=1&a=2` and `a[]=1&a[]=2` are
 * lists, and `a[b]=1` is an object.
 */
export const nesting = {
  depth: 5,
  // A list may contain all fields of a form.
  arrayLimit: maxFields,
  parameterLimit: maxFields,
  throwOnLimitExceeded: true,
  allowDots: false,
  duplicates: 'combine',
} as const

/**
 * Creates the reader of urlencoded forms, which sets `ctx.request.body`.
 *
 * @param limit the maximum bytes of a form
 */
export function formReader(limit: number): (ctx: Context, read: BodyRead) => Promise<void> {
  let parse: ReturnType<typeof koaBody> | undefined

  return async function readForm(ctx, read) {
    parse ??= parserOf(limit)
    const bytes = await readBytes(ctx, limit, read)
    const { request, method } = ctx
    const is = (...types: string[]) => ctx.is(...types)
    // koa-body would keep a string for each piece of the body, so it receives the whole as one, and the
    // members that it uses.
    const req = Object.assign(Readable.from([bytes], { objectMode: false }), { headers: {} })
    await parse({ req, request, method, is } as unknown as Context, async () => undefined)
  }
}

function parserOf(limit: number): ReturnType<typeof koaBody> {
  const loaded: { koaBody: typeof koaBody } = require('koa-body')
  return loaded.koaBody({
    formLimit: limit,
    json: false,
    text: false,
    multipart: false,
    // The route has already decided that the body is read. The type requires members of an enum with these
    // values.
    parsedMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as never,
    // The type lacks some of the options.
    queryString: {
      ...nesting,
      decoder: (part: string, decode: Decode) => decode(withSpaces(part)),
    } as object,
  })
}

type Decode = (part: string) => string

const [plus, space] = [0x2b, 0x20]

/** Replaces plus signs by spaces: qs takes a quarter of a second for a million. They are ASCII in UTF-8. */
function withSpaces(part: string): string {
  if (!part.includes('+')) return part
  const bytes = Buffer.from(part)
  for (let at = bytes.indexOf(plus); at >= 0 && at < bytes.length; at++)
    if (bytes[at] === plus) bytes[at] = space
  return bytes.toString()
}

/** Nests the fields of a multipart form exactly as the same fields of an urlencoded form. */
export function nest(fields: ReadonlyArray<readonly [name: string, value: string]>): Record<string, unknown> {
  const qs: typeof import('qs') = require('qs')
  // Only the names are encoded. The index of a field represents its value, which the decoder inserts.
  const text = fields.map(([name], index) => `${encodeURIComponent(name)}=${index}`).join('&')
  return qs.parse(text, {
    ...nesting,
    decoder: (part, decode, _charset, type) => (type === 'value' ? fields[Number(part)]?.[1] : decode(part)),
  })
}

/** The value of a single-value field: the last one, because a checkbox follows a hidden field of its name. */
export function lastValue(value: unknown): unknown {
  return Array.isArray(value) ? value.at(-1) : value
}
