import { STATUS_CODES } from 'node:http'
import type { Context } from '../context.js'
import { ValidationErrors } from '../errors.js'
import { writeProblem } from '../http/errors/problem.js'
import type { ProblemDetails, RecordProblem } from '../http/formats/format.js'
import type { FormatName } from '../http/formats/formats.js'
import { chooseFormat } from '../http/responder.js'

/** The number of lines or records whose errors a response has. */
export const maxProblems = 100

/** The errors of a record by field, with their codes. */
export function problemsOf({ messages: errors, codes }: ValidationErrors): RecordProblem {
  return { errors, codes }
}

/** Returns errors of the file or the selection, in the language of the request. */
export function errorsAt(
  ctx: Context,
  field: string,
  rule: string,
  values: Record<string, unknown> = {},
): ValidationErrors {
  const errors = new ValidationErrors().add(field, rule, undefined, { attribute: field, ...values })
  ctx.translateErrors(errors)
  return errors
}

/** The format of a response. An API application has no pages. */
export function formatFor(ctx: Context): FormatName {
  const format = chooseFormat(ctx) ?? ctx.defaultFormat
  return format === 'html' && ctx.defaultFormat !== 'html' ? ctx.defaultFormat : format
}

/**
 * Responds with the errors of many records, 422, so that nothing is saved.
 *
 * @param page renders the page of a browser
 */
export async function respondWithProblems(
  ctx: Context,
  problem: Pick<ProblemDetails, 'detail' | 'lines' | 'records'>,
  page: () => unknown,
): Promise<void> {
  const format = formatFor(ctx)
  ctx.set('Cache-Control', 'no-store')
  if (format === 'html') await page()
  else {
    const title = STATUS_CODES[422] ?? 'Error'
    writeProblem(ctx, format, { status: 422, title, request_id: ctx.requestId, ...problem })
  }
  ctx.status = 422
}
