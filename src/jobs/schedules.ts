import { Cron } from 'croner'
import { knownTimeZone, newId } from '../extension.js'
import { DeclarationError } from '../index.js'
import { toJson, uniqueKey } from './arguments.js'
import type { JobDefinition } from './job.js'
import type { JobStore } from './store.js'

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

/** A schedule of a job, as it is stored. */
export interface NamedSchedule extends Schedule {
  name: string
  job: JobDefinition
}

/** @throws DeclarationError when the expression or the time zone is malformed, or when the expression never fires */
export function declareSchedule(job: string, expression: string, options: ScheduleOptions): Schedule {
  const { name, timeZone = 'UTC', arguments: args = {} } = options
  if (knownTimeZone(timeZone) === undefined)
    throw new DeclarationError(
      `The schedule of ${job} has the unknown time zone "${timeZone}". Use a name like Europe/Berlin.`,
    )
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

function parse(job: string, expression: string, timezone: string): Cron {
  try {
    return new Cron(expression, { timezone, mode: '5-or-6-parts' })
  } catch (cause) {
    throw new DeclarationError(
      `The schedule of ${job} is "${expression}", which isn't a cron expression. Use five fields (0 3 * * *), six with ` +
        'seconds, or @hourly, @daily, @weekly, @monthly or @yearly.',
      { cause },
    )
  }
}

/** The schedules of jobs, by their names: the name of the job, and that of the schedule if it has one. */
export function schedulesOf(definitions: Iterable<JobDefinition>): NamedSchedule[] {
  return [...definitions].flatMap((job) =>
    job.schedules.map((schedule) => ({
      ...schedule,
      job,
      name: schedule.name === undefined ? job.name : `${job.name}/${schedule.name}`,
    })),
  )
}

/** Enqueues a job at each tick of its schedules, once for all processes: their rows tell the last ticks. */
export class Ticks {
  /** The next tick of each schedule in this process; empty before the first look. */
  private readonly next = new Map<string, number>()

  constructor(
    private readonly store: JobStore,
    private readonly schedules: readonly NamedSchedule[],
  ) {}

  /**
   * Enqueues the jobs of the ticks that have passed.
   *
   * @param now the time of the database
   * @returns the time of the next tick
   */
  async fire(now: number): Promise<number> {
    for (const schedule of this.schedules) {
      const { name } = schedule
      const next = this.next.get(name)
      if (next === undefined) await this.declare(schedule, now)
      if (next !== undefined && next > now) continue
      await this.enqueue(schedule, schedule.last(now) ?? 0)
      this.next.set(name, schedule.next(now) ?? Infinity)
    }
    return Math.min(Infinity, ...this.next.values())
  }

  /** Writes the row of a schedule that is new, or that has changed. It begins with its next tick. */
  private async declare({ name, text }: NamedSchedule, now: number): Promise<void> {
    const { database, tables } = this.store
    const values = { expression: text, last_tick: now }
    const update = database.createQueryBuilder().update(tables.schedules).set(values)
    await update.where('name = :name AND expression <> :text', { name, text }).execute()
    const insert = database.createQueryBuilder().insert().into(tables.schedules)
    await insert
      .values({ name, ...values })
      .orIgnore()
      .execute()
  }

  private enqueue({ name, text, job, arguments: args }: NamedSchedule, tick: number): Promise<void> {
    const { database, tables } = this.store
    return database.transaction('READ COMMITTED', async (tx) => {
      const update = tx.createQueryBuilder().update(tables.schedules).set({ last_tick: tick })
      const isNext = 'name = :name AND last_tick < :tick AND expression = :text'
      if ((await update.where(isNext, { name, tick, text }).execute()).affected !== 1) return
      // The job of an earlier tick that has not started is enough.
      const unique_key = uniqueKey('schedule', name)
      await this.store.insert(tx, [
        { id: newId(), name: job.name, queue: job.queue, arguments: args, unique_key },
      ])
    })
  }
}
