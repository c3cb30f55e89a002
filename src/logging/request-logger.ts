import type { Logger } from 'pino'
import type { Context } from '../context.js'
import { withRedactedErrors } from './logger.js'
import { PerRequest } from '../per-request.js'

/** The log of a request. */
interface RequestLogger {
  /** The application's logger. */
  base: Logger
  /** A child logger with the request's id, created when it is first used. */
  own?: Logger
}

const loggers = new PerRequest<RequestLogger>('logger')

/** Gives a request its log. */
export function giveLogger(ctx: Context, base: Logger): void {
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

/** Writes a line as the request's logger would. */
export function writeLine(ctx: Context, level: 'info' | 'debug', fields: object, message: string): void {
  const state = loggers.get(ctx)
  if (state && !state.own) state.base[level]({ request_id: ctx.requestId, ...fields }, message)
  else ctx.log[level](fields, message)
}
