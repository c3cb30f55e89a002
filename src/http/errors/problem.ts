import { STATUS_CODES } from 'node:http'
import type { Context } from '../../context.js'
import { HttpError, StaleRecord, ValidationErrors } from '../../errors.js'
import type { ProblemDetails } from '../formats/format.js'
import { dataFormats } from '../formats/formats.js'

/** Returns the problem details of an error. Its message is included only if it is for clients. */
export function problemOf(error: unknown, ctx: Pick<Context, 'requestId' | 't'>): ProblemDetails {
  const status = statusOf(error)
  return {
    ...(error instanceof HttpError && error.type !== undefined && { type: error.type }),
    status,
    title: STATUS_CODES[status] ?? 'Error',
    ...(isPublic(error, status) ? { detail: error.message } : {}),
    request_id: ctx.requestId,
    ...(error instanceof ValidationErrors && {
      detail: ctx.t(`error.${error.status}.${error instanceof StaleRecord ? 'stale' : 'record'}`),
      errors: error.messages,
      codes: error.codes,
    }),
  }
}

/** Returns the status of an error: its own `status` if it is 400 to 599, else 500. */
export function statusOf(error: unknown): number {
  const status: unknown = isForClient(error) ? Reflect.get(error, 'status') : undefined
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
    ? status
    : 500
}

/**
 * Whether an error determines the response: an HttpError, or an error of Koa's `ctx.throw`, which has
 * `expose`. The `status` of any other error has another meaning, such as the response of a service that the
 * handler called.
 */
export function isForClient(error: unknown): error is Error {
  return (
    error instanceof HttpError ||
    (error instanceof Error && typeof Reflect.get(error, 'expose') === 'boolean')
  )
}

/** Responds with problem details in a format of data. */
export function writeProblem(ctx: Context, name: keyof typeof dataFormats, problem: ProblemDetails): void {
  const format = dataFormats[name]
  ctx.status = problem.status
  ctx.type = format.problemType
  ctx.body = format.writeProblem(problem)
}

/** Whether the message is for clients: `isPublic` of an HttpError, `expose` of Koa's errors below 500. */
function isPublic(error: unknown, status: number): error is Error {
  if (error instanceof HttpError) return error.isPublic
  return error instanceof Error && status < 500 && Reflect.get(error, 'expose') === true
}
