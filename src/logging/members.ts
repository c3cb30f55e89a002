import type { Logger } from 'pino'
import type { Context } from '../context.js'
import { parameterFilter, type ParameterFilter } from './filter.js'
import { loggerOf } from './request-logger.js'

declare module '../context.js' {
  interface ContextMembers extends LoggingMembers {}
}

/** The members of a context for the log. */
export interface LoggingMembers {
  /** A logger whose lines contain the request's id. */
  readonly log: Logger

  /**
   * Copies parameters for the log and for error pages, with `[FILTERED]` instead of secrets.
   *
   * @internal
   */
  filterParameters: ParameterFilter
}

export const loggingMembers: LoggingMembers & ThisType<Context> = {
  get log() {
    const log = loggerOf(this)
    if (!log) throw new Error('A request has a log as soon as it has begun.')
    return log
  },

  filterParameters: parameterFilter(),
}
