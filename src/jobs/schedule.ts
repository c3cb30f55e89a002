import { Cron } from 'croner'
import { DeclarationError } from '../index.js'
import { toJson } from './arguments.js'

/** The options of `@Schedule`. */
export interface ScheduleOptions<Args extends object = object> {
  /** The name of the schedule. A second schedule of a job needs one. */
  name?: string
  /** The time zone of the expression (`UTC`). */
  timeZone?: string
  /** The arguments of the job (none). */
  arguments?: Args
}

/** A declared schedule. */
export interface Schedule {
  name: string | undefined
  /** The expression, the time zone and the arguments. If it changes, the schedule begins again. */
  text: string
  expression: string
  timeZone: string
  /** The arguments as JSON. */
  arguments: string
  /** The first tick after a time; undefined if there is none. All times are in milliseconds. */
  next(after: number): number | undefined
  /** The last tick up to a time. */
  last(until: number): number | undefined
}

/** @throws DeclarationError when the expression or the time zone is malformed, or when the expression never fires */
export function declareSchedule(job: string, expression: string, options: ScheduleOptions): Schedule {
  const { name, timeZone = 'UTC', arguments: args = {} } = options
  const cron = parse(job, expression, timeZone)
  const json = toJson(args, job)
  const next = (after: number) => cron.nextRun(new Date(after))?.getTime()
  if (next(Date.now()) === undefined)
    throw new DeclarationError(
      `The schedule "${expression}" of ${job} never fires. Correct its fields: minute, hour, day, month, day of the week.`,
    )
  return {
    name,
    text: JSON.stringify([expression, timeZone, json]),
    expression,
    timeZone,
    arguments: json,
    next,
    last(until) {
      let last = cron.previousRuns(1, new Date(until))[0]?.getTime()
      // The previous run can lie before one that a change to summer time has moved, and is never the time itself.
      for (let at = next(last ?? until - 1); at !== undefined && at <= until; at = next(at)) last = at
      return last
    },
  }
}

function parse(job: string, expression: string, timeZone: string): Cron {
  try {
    new Date().toLocaleString('en', { timeZone })
  } catch {
    throw new DeclarationError(
      `The schedule of ${job} has the unknown time zone "${timeZone}". Use a name like Europe/Berlin.`,
    )
  }
  try {
    return new Cron(expression, { timezone: timeZone, mode: '5-or-6-parts' })
  } catch (cause) {
    throw new DeclarationError(
      `The schedule of ${job} is "${expression}", which isn't a cron expression. Use five fields (0 3 * * *), six with ` +
        'seconds, or @hourly, @daily, @weekly, @monthly or @yearly.',
      { cause },
    )
  }
}
