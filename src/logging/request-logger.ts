import type { Logger } from 'pino'
import type { Context, JobContext } from '../context.js'
import { withRedactedErrors } from './logger.js'
import { PerRequest } from '../common/per-request.js'

/** The log of a request. */
interface RequestLogger {
  /** The application's logger. */
  base: Logger
  /** A child logger with the request's id, created when it is first used. */
  own?: Logger
  /** Fields of the line that is written after the response. */
  fields?: object
}

const loggers = new PerRequest<RequestLogger>()

/** Gives a request its log. */
export function setRequestLogger(ctx: Context, base: Logger): void {
  loggers.set(ctx, { base })
}

/** The logger of a request, whose lines carry its id. Creating it costs more than a line, so it is created on first use. */
export function loggerOf(ctx: Context): Logger | undefined {
  const state = loggers.get(ctx)
  // The filter is read when it is needed, because `parameterLogger` replaces it with one that has more words.
  return (
    state &&
    (state.own ??= withRedactedErrors(state.base, { request_id: ctx.requestId }, (values) =>
      ctx.filterParameters(values),
    ))
  )
}

/** Adds fields to the line that is written after the response. */
export function addLogFields(ctx: Context, fields: object): void {
  const state = loggers.get(ctx)
  if (state) state.fields = state.fields ? { ...state.fields, ...fields } : fields
}

/** Adds fields to each line of the log of a request or a job. */
export function logFields(ctx: Context | JobContext, fields: object): void {
  const own = loggerOf(ctx as Context)?.child(fields)
  if (own) Object.assign(loggers.get(ctx) ?? {}, { own })
}

/** The fields of the line that is written after the response. Undefined fields are omitted. */
interface LineFields {
  request_id: string | undefined
}

/** Writes the line of a request after its response, as the request's logger would. Adds the other fields to `fields`. */
export function writeLine(ctx: Context, level: 'info' | 'debug', fields: LineFields, message: string): void {
  const state = loggers.get(ctx)
  if (!state) return
  // The request's own logger adds the id to each line.
  if (state.own) fields.request_id = undefined
  const logger = state.own ?? state.base
  logger[level](Object.assign(fields, state.fields), message)
}
