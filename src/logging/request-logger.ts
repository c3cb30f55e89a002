import type { Logger } from 'pino'
import type { Context } from '../context.js'
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

const loggers = new PerRequest<RequestLogger>('logger')

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

/** Writes the line of a request after its response, as the request's logger would. */
export function writeLine(ctx: Context, level: 'info' | 'debug', fields: object, message: string): void {
  const state = loggers.get(ctx)
  if (state && !state.own)
    state.base[level]({ request_id: ctx.requestId, ...fields, ...state.fields }, message)
  else ctx.log[level]({ ...fields, ...state?.fields }, message)
}
