import type { Context } from '../context.js'
import type { ValidationErrors } from '../errors.js'
import { PerRequest } from '../common/per-request.js'
import { formatOfType, type FormatName } from './formats/formats.js'

type Errors = () => ValidationErrors | undefined

const errorsForHtml = new PerRequest<readonly Errors[]>()
const rejectedFormats = new PerRequest<FormatName | undefined>()

/**
 * Records the errors of a request whose client prefers HTML, so that `rejectData` can throw them: if the handler has no page, it
 * responds with data, which cannot show errors.
 */
export function expectHtml(ctx: Context, errors: Errors): void {
  errorsForHtml.set(ctx, [...(errorsForHtml.get(ctx) ?? []), errors])
}

/**
 * Rejects a request with recorded errors if the handler has responded with data. The client then receives a problem document.
 *
 * @throws ValidationErrors the first recorded errors
 */
export function rejectData(ctx: Context): void {
  const recorded = errorsForHtml.get(ctx)
  if (!recorded || ctx.body == null || ctx.response.is('html')) return
  for (const errors of recorded) {
    const found = errors()
    if (!found) continue
    rejectedFormats.set(ctx, formatOfType(ctx.response.type))
    throw found
  }
}

/** The format of the data that `rejectData` has rejected, in which the errors are then sent. */
export function formatOfData(ctx: Context): FormatName | undefined {
  return rejectedFormats.get(ctx)
}
