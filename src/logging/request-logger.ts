import type { Logger } from 'pino'
import type { JobContext } from '../background.js'
import type { Context } from '../context.js'
import { withRedactedErrors } from './logger.js'
import { PerRequest } from '../common/per-request.js'

/** The log of a request. */
interface RequestLogger {
  /** The application's logger. */
  base: Logger
  /** A child logger with the request's id. */
  own?: Logger
  /** The additional fields of the line that is written after the response. */
  fields?: object
}

const loggers = new PerRequest<RequestLogger>()

/** Sets the application's logger for a request. */
export function setRequestLogger(ctx: Context, base: Logger): void {
  loggers.set(ctx, { base })
}

/** A request's logger, with its id. Creating it takes longer than a line, so it is lazy. */
export function loggerOf(ctx: Context): Logger | undefined {
  const state = loggers.get(ctx)
  // The filter is read with each error, because `parameterLogger` may replace it later by one that has more
  // words.
  return (
    state &&
    (state.own ??= withRedactedErrors(state.base, { request_id: ctx.requestId }, (values) =>
      ctx.filterParameters(values),
    ))
  )
}

/** Adds fields to the line that is written after the response, or when a job has finished. */
export function addLogFields(ctx: Context | JobContext, fields: object): void {
  const state = loggers.get(ctx)
  if (state) state.fields = state.fields ? { ...state.fields, ...fields } : fields
}

/** The fields that were added to the line that is written after the response, or when a job has finished. */
export function addedLogFields(ctx: Context | JobContext): object {
  return loggers.get(ctx)?.fields ?? {}
}

/** Adds fields to each line of the log of a request or a job. */
export function logFields(ctx: Context | JobContext, fields: object): void {
  const state = loggers.get(ctx)
  const own = loggerOf(ctx as Context)?.child(fields)
  if (state && own) state.own = own
}

/** The fields of the line after the response that `writeLine` changes. pino omits undefined fields. */
interface LineFields {
  request_id: string | undefined
}

/** Writes a request's line after its response, without a child logger. Changes `fields`. */
export function writeLine(ctx: Context, level: 'info' | 'debug', fields: LineFields, message: string): void {
  const state = loggers.get(ctx)
  if (!state) return
  // A child logger adds the id by itself.
  if (state.own) fields.request_id = undefined
  const logger = state.own ?? state.base
  logger[level](Object.assign(fields, state.fields), message)
}
