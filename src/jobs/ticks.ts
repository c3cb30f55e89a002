import { newId } from '../extension.js'
import type { JobDefinition } from './job.js'
import { uniqueKey } from './enqueue.js'
import type { Schedule } from './schedule.js'
import type { JobStore } from './store.js'

/** A schedule of a job, as it is stored. */
export interface NamedSchedule {
  name: string
  job: JobDefinition
  schedule: Schedule
}

/** The schedules of jobs, by their names: the name of the job, and that of the schedule if it has one. */
export function schedulesOf(definitions: Iterable<JobDefinition>): NamedSchedule[] {
  return [...definitions].flatMap((job) =>
    job.schedules.map((schedule) => ({
      name: schedule.name === undefined ? job.name : `${job.name}/${schedule.name}`,
      job,
      schedule,
    })),
  )
}

/** Enqueues a job at each tick of its schedules, once for all processes: their rows tell the last ticks. */
export class Ticks {
  private readonly table: string
  /** The next tick of each schedule in this process; empty before the first look. */
  private readonly next = new Map<string, number>()

  constructor(
    private readonly store: JobStore,
    private readonly schedules: readonly NamedSchedule[],
  ) {
    this.table = store.database.driver.escape(store.tables.schedules)
  }

  /**
   * Enqueues the jobs of the ticks that have passed.
   *
   * @param now the time of the database
   * @returns the time of the next tick
   */
  async fire(now: number): Promise<number> {
    for (const one of this.schedules) {
      const next = this.next.get(one.name)
      if (next === undefined) await this.declare(one, now)
      if (next === undefined || next <= now) await this.enqueue(one, now)
    }
    return Math.min(Infinity, ...this.next.values())
  }

  /** Writes the row of a schedule that is new, or that has changed. It begins with its next tick. */
  private async declare({ name, schedule: { text } }: NamedSchedule, now: number): Promise<void> {
    const { store, table } = this
    const [row] = await store.select<{ expression: string }>(
      `SELECT expression FROM ${table} WHERE name = ?`,
      [name],
    )
    if (row?.expression === text) return
    // Another process may insert it at the same time.
    const insert = `INSERT INTO ${table} (expression, last_tick, name) VALUES (?, ?, ?) ${store.engine.lockDuplicate('name')}`
    const update = `UPDATE ${table} SET expression = ?, last_tick = ? WHERE name = ?`
    await store.change(row ? update : insert, [text, now, name])
  }

  private async enqueue({ name, job, schedule }: NamedSchedule, now: number): Promise<void> {
    const tick = schedule.last(now)
    if (tick !== undefined)
      await this.store.transaction(async (runner) => {
        const { affected } = await this.store.query(
          runner,
          `UPDATE ${this.table} SET last_tick = ? WHERE name = ? AND last_tick < ? AND expression = ?`,
          [tick, name, tick, schedule.text],
        )
        if (affected !== 1) return
        // The job of an earlier tick that has not started is enough.
        await this.store.insertUnique(runner.manager, {
          id: newId(),
          name: job.name,
          queue: job.queue,
          arguments: schedule.arguments,
          uniqueKey: uniqueKey('schedule', name),
        })
      })
    this.next.set(name, schedule.next(now) ?? Infinity)
  }
}
