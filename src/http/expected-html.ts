import type { Context } from '../context.js'
import type { ValidationErrors } from '../errors.js'
import { PerRequest } from '../common/per-request.js'
import { formatOfType, type FormatName } from './formats/formats.js'

type Errors = () => ValidationErrors | undefined

const expected = new PerRequest<readonly Errors[]>()
const formats = new PerRequest<FormatName | undefined>()

/**
 * Notes the errors of a request whose client prefers HTML. A handler that has no page responds with data, which cannot
 * show errors: a client that accepts anything (Accept: *\/*) then receives them as problem details.
 */
export function expectHtml(ctx: Context, errors: Errors): void {
  expected.set(ctx, [...(expected.get(ctx) ?? []), errors])
}

/** Throws the noted errors if the handler has responded with data. */
export function rejectData(ctx: Context): void {
  const noted = expected.get(ctx)
  if (!noted || ctx.body == null || ctx.response.is('html')) return
  for (const errors of noted) {
    const found = errors()
    if (!found) continue
    formats.set(ctx, formatOfType(ctx.response.type))
    throw found
  }
}

/** The format of the data that has been rejected, which is that of the errors. */
export function formatOfData(ctx: Context): FormatName | undefined {
  return formats.get(ctx)
}
