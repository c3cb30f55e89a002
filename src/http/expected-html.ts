import type { Context } from '../context.js'
import type { ValidationErrors } from '../errors.js'
import { PerRequest } from '../common/per-request.js'
import { formatOfType, type FormatName } from './formats/formats.js'

/** Finds the errors, which is only needed if the handler has responded with data. */
type FindErrors = () => ValidationErrors | undefined

const finders = new PerRequest<readonly FindErrors[]>()
const rejectedFormats = new PerRequest<FormatName | undefined>()

/**
 * Leaves the errors of a list's query to the page, because the client prefers HTML, and the page shows them
 * beside the list. If the handler responds with data instead, `rejectData` throws them.
 */
export function expectHtml(ctx: Context, findErrors: FindErrors): void {
  finders.set(ctx, [...(finders.get(ctx) ?? []), findErrors])
}

/**
 * Rejects a request with recorded errors if the handler has responded with data. The client then receives a
 * problem document.
 *
 * @throws ValidationErrors the first recorded errors
 */
export function rejectData(ctx: Context): void {
  const recorded = finders.get(ctx)
  if (!recorded || ctx.body == null || ctx.response.is('html')) return
  for (const findErrors of recorded) {
    const errors = findErrors()
    if (!errors) continue
    rejectedFormats.set(ctx, formatOfType(ctx.response.type))
    throw errors
  }
}

/** The format of the data that `rejectData` has rejected, in which the errors are then sent. */
export function formatOfData(ctx: Context): FormatName | undefined {
  return rejectedFormats.get(ctx)
}
