import { Cron } from 'croner'
import { checkTimeZone, newId } from '../extension.js'
import { DeclarationError } from '../index.js'
import { toJson, uniqueKey } from './arguments.js'
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
  /** JSON of the expression, time zone and arguments, in the table. A change begins again. */
  text: string
  expression: string
  timeZone: string
  /** The arguments as JSON. */
  arguments: string
  /** The first tick after a time; undefined if there is none. All times are in milliseconds since 1970. */
  next(after: number): number | undefined
  /** The last tick before or at a time; undefined if there is none. */
  last(until: number): number | undefined
}

/** A job that has schedules. */
interface ScheduledJob {
  readonly name: string
  readonly queue: string
  readonly schedules: readonly Schedule[]
}

/** A schedule with its job, and the name under which the table stores it. */
export interface NamedSchedule extends Schedule {
  name: string
  job: ScheduledJob
}

/** @throws DeclarationError when the expression, the time zone or the arguments are wrong */
export function declareSchedule(job: string, expression: string, options: ScheduleOptions): Schedule {
  const { name, timeZone = 'UTC', arguments: args = {} } = options
  checkTimeZone(`The schedule of ${job}`, timeZone)
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
      // `previousRuns` can omit a tick that the change to summer time has moved, and omits a tick at the time
      // itself.
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
export function schedulesOf(definitions: Iterable<ScheduledJob>): NamedSchedule[] {
  return [...definitions].flatMap((job) =>
    job.schedules.map((schedule) => ({
      ...schedule,
      job,
      name: schedule.name === undefined ? job.name : `${job.name}/${schedule.name}`,
    })),
  )
}

/** Enqueues a job at each tick of its schedules. Rows store the last ticks, so that one process does. */
export class Ticks {
  /** The time of the next tick of each schedule; empty before the first call of `fire`. */
  private readonly next = new Map<string, number>()

  constructor(
    private readonly store: JobStore,
    private readonly schedules: readonly NamedSchedule[],
  ) {}

  /**
   * Enqueues a job for each schedule whose next tick has passed: a single job, even if several ticks passed
   * while no worker ran.
   *
   * @param now the time of the database
   * @returns the time of the next tick
   */
  async fire(now: number): Promise<number> {
    for (const schedule of this.schedules) {
      const { name } = schedule
      const next = this.next.get(name)
      if (next === undefined) await this.begin(schedule, now)
      if (next !== undefined && next > now) continue
      // For the tick 0, `enqueue` does nothing.
      await this.enqueue(schedule, schedule.last(now) ?? 0)
      this.next.set(name, schedule.next(now) ?? Infinity)
    }
    return Math.min(Infinity, ...this.next.values())
  }

  /** Writes the row of a schedule that is new or changed, so that it begins with its next tick. */
  private async begin({ name, text }: NamedSchedule, now: number): Promise<void> {
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

  /** Enqueues the job of a tick, unless another process has already done so or has another schedule. */
  private enqueue({ name, text, job, arguments: args }: NamedSchedule, tick: number): Promise<void> {
    const { database, tables } = this.store
    return database.transaction('READ COMMITTED', async (tx) => {
      const update = tx.createQueryBuilder().update(tables.schedules).set({ last_tick: tick })
      const isNext = 'name = :name AND last_tick < :tick AND expression = :text'
      if ((await update.where(isNext, { name, tick, text }).execute()).affected !== 1) return
      // This key prevents a second job if that of an earlier tick has not started.
      const unique_key = uniqueKey('schedule', name)
      await this.store.insert(tx, [
        { id: newId(), name: job.name, queue: job.queue, arguments: args, unique_key },
      ])
    })
  }
}
