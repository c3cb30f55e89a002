import { injectable } from 'tsyringe'
import { checkNumbers, milliseconds, recordName, type Duration } from '../extension.js'
import { DeclarationError, type JobConstructor, type JobContext } from '../index.js'
import { declareSchedule, type Schedule as Declared, type ScheduleOptions } from './schedules.js'

/** An instance of a job's class. Each run has its own. */
export interface Performs<Args = never> {
  perform(args: Args, job: JobContext): unknown
}

/** The class of a job. */
export type JobClass<Args = never> = JobConstructor<Performs<Args>>

/** A type without the `readonly` of a `const` type parameter. */
type Mutable<T> = { -readonly [Name in keyof T]: Mutable<T[Name]> }

/** The options of `@Job`. */
export interface JobOptions {
  /** The job's name in the database (the name of the class in snake case). Keep it if you rename that. */
  name?: string
  /** The queue (`default`). */
  queue?: string
  /** The number of runs after which a failed job is dead (10). With 1, only `RetryLater` runs it again. */
  attempts?: number
  /**
   * Returns the time from a failed attempt to the next one. The first attempt is 1. By default 15 seconds,
   * doubled after each further attempt up to 6 hours, and up to 20 % more or less.
   */
  backoff?: (attempt: number) => Duration
  /** The time after which a run is rolled back and counts as failed (15 minutes). */
  timeout?: Duration
}

/** The declaration of a job. */
export interface JobDefinition {
  target: JobClass
  name: string
  queue: string
  attempts: number
  /** Milliseconds. */
  timeout: number
  /** Milliseconds from a failed attempt to the next one. */
  pauseAfter(attempt: number): number
  schedules: readonly Declared[]
}

const definitions = new WeakMap<Function, Omit<JobDefinition, 'schedules'>>()
const schedules = new WeakMap<Function, Declared[]>()

/**
 * Declares a class as a job, whose dependencies tsyringe injects. Add it to the `jobs` of `jobQueue`.
 *
 * @example
 * \@Job({ attempts: 5, timeout: '2 minutes' })
 * export class SendDigest {
 *   async perform({ user_id }: { user_id: string }, job: JobContext) {
 *     // ...
 *   }
 * }
 * @throws DeclarationError when an option is malformed
 */
export function Job(given: JobOptions = {}) {
  return (target: JobClass): void => {
    const { name = recordName(target.name), queue = 'default', attempts = 10, backoff } = given
    checkNumbers(`@Job of ${target.name}`, { attempts }, { attempts: { min: 1, isWhole: true } })
    const timeout = milliseconds(given.timeout ?? '15 minutes', `The timeout of ${target.name}`)
    const pauseAfter = (attempt: number) =>
      backoff ? milliseconds(backoff(attempt), `The backoff of ${target.name}`) : defaultPause(attempt)
    injectable()(target)
    definitions.set(target, { target, name, queue, attempts, timeout, pauseAfter })
  }
}

/**
 * Enqueues a job at each time that a cron expression describes: five fields, six with seconds, or `@daily`
 * and the like. A job can have several schedules, of which all but one need a name.
 *
 * @example \@Schedule('0 3 * * *', { timeZone: 'Europe/Berlin', arguments: { days: 365 } })
 * @throws DeclarationError when the expression, the time zone or the arguments are wrong, or when the
 *   expression never fires
 */
export function Schedule<const Args extends object = Record<string, never>>(
  expression: string,
  given: ScheduleOptions<Args> = {},
) {
  // The compiler compares the parameters of a property strictly, unlike those of a method.
  type Performs = { perform: (args: Mutable<NoInfer<Args>>, job: JobContext) => unknown }
  return (target: JobConstructor<Performs>): void => {
    // The decorators of a class run from the last to the first.
    const below = schedules.get(target) ?? []
    schedules.set(target, [declareSchedule(target.name, expression, given), ...below])
  }
}

/** @throws DeclarationError when the class has no `@Job` */
export function definitionOf(target: JobClass): JobDefinition {
  const definition = definitions.get(target)
  if (definition) return { ...definition, schedules: schedules.get(target) ?? [] }
  throw new DeclarationError(`${target.name} is not a job. Decorate the class with @Job().`)
}

/** Milliseconds from a failed attempt to the next one: from 15 seconds up to 6 hours. */
export function defaultPause(attempt: number): number {
  const pause = Math.min(15_000 * 2 ** (attempt - 1), 6 * 3_600_000)
  // The random factor keeps jobs that fail together from running again together.
  return Math.round(pause * (0.8 + 0.4 * Math.random()))
}
