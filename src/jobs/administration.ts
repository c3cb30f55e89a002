import { QueryFailedError } from 'typeorm'
import { isId, newId, wordOf } from '../extension.js'
import { DeclarationError } from '../index.js'
import type { JobDefinition } from './job.js'
import { toJson } from './arguments.js'
import { marks, type JobStore } from './store.js'
import { schedulesOf } from './ticks.js'

/** The numbers of jobs of a queue. */
export interface QueueCounts {
  queue: string
  waiting: number
  running: number
  dead: number
  /** Milliseconds since the oldest waiting job was due; undefined if none is. */
  age: number | undefined
}

/** A job as `kit jobs` shows it. Times are in ISO 8601. */
export interface JobDetails {
  id: string
  name: string
  queue: string
  state: string
  attempts: number
  due_at: string | null
  enqueued_at: string
  /** The message of the last error. */
  error: string | null
}

/** The columns of a job. */
export type JobRow = Record<string, unknown>

/** Which jobs a command is about. */
export interface Selection {
  ids?: readonly string[]
  state?: string | undefined
  queue?: string | undefined
  name?: string | undefined
}

/** Reads and changes jobs for the commands of `kit jobs`. */
export class Administration {
  constructor(
    private readonly store: JobStore,
    private readonly definitions: ReadonlyMap<string, JobDefinition>,
    readonly queues: readonly string[],
  ) {}

  /** Opens the database. */
  async open(): Promise<void> {
    await this.store.database.open()
    await this.check()
  }

  /** @throws DeclarationError when the tables do not exist */
  async check(): Promise<void> {
    await this.store.has(newId()).catch((cause: unknown) => {
      if (!(cause instanceof QueryFailedError) || wordOf(cause) !== 'missing') throw cause
      throw new DeclarationError('The tables of jobs do not exist. Run `kit db migrate`.', { cause })
    })
  }

  async counts(): Promise<QueueCounts[]> {
    const { jobs, engine } = this.store
    const of = (state: string) => `SUM(CASE WHEN state = '${state}' THEN 1 ELSE 0 END) AS ${state}`
    const rows = await this.store.select<JobRow>(
      `SELECT queue, ${of('waiting')}, ${of('running')}, ${of('dead')}, ${engine.now} AS now,
         MIN(CASE WHEN state = 'waiting' THEN due_at END) AS due FROM ${jobs} GROUP BY queue ORDER BY queue`,
    )
    return rows.map(({ queue, waiting, running, dead, now, due }) => {
      const age = due === null ? -1 : Number(now) - Number(due)
      const counts = { waiting: Number(waiting), running: Number(running), dead: Number(dead) }
      return { queue: String(queue), ...counts, age: age < 0 ? undefined : age }
    })
  }

  /** The names of jobs in the table that no class declares. */
  async unknownNames(): Promise<string[]> {
    const rows = await this.store.select<{ name: string }>(
      `SELECT DISTINCT name FROM ${this.store.jobs} ORDER BY name`,
    )
    return rows.map(({ name }) => name).filter((name) => !this.definitions.has(name))
  }

  /** The rows of jobs, at most 1,000, the oldest first. */
  list(selection: Selection): Promise<JobRow[]> {
    const [condition, values] = conditionOf(selection)
    return this.store.select(
      `SELECT * FROM ${this.store.jobs} WHERE ${condition} ORDER BY enqueued_at, id LIMIT 1000`,
      values,
    )
  }

  /** Makes dead jobs due now, with all their attempts. Returns their number. */
  retry(selection: Selection): Promise<number> {
    const [condition, values] = conditionOf({ ...selection, state: 'dead' })
    return this.store.change(
      `UPDATE ${this.store.jobs} SET state = 'waiting', attempts = 0, due_at = ${this.store.engine.now} WHERE ${condition}`,
      values,
    )
  }

  /** Deletes jobs, and aborts those that run. Returns their number. */
  discard(selection: Selection): Promise<number> {
    const [condition, values] = conditionOf(selection)
    return this.store.change(`DELETE FROM ${this.store.jobs} WHERE ${condition}`, values)
  }

  /** Enqueues a job by its name. Returns its id; undefined if there is no such job. */
  async enqueue(name: string, args: unknown): Promise<string | undefined> {
    const definition = this.definitions.get(name)
    if (!definition) return undefined
    const job = { id: newId(), name, queue: definition.queue, arguments: toJson(args, name) }
    await this.store.insert(this.store.database.manager, [job])
    return job.id
  }

  /** The schedules, with the times of their last and next ticks. */
  async schedules() {
    const { driver } = this.store.database
    const table = driver.escape(this.store.tables.schedules)
    const rows = await this.store.select<JobRow>(`SELECT name, last_tick FROM ${table}`)
    return schedulesOf(this.definitions.values()).map(
      ({ name, schedule: { expression, timeZone, next } }) => {
        const last = rows.find((row) => row['name'] === name)?.['last_tick']
        return { name, expression, time_zone: timeZone, last: toIso(last), next: toIso(next(Date.now())) }
      },
    )
  }

  get names(): string[] {
    return [...this.definitions.keys()]
  }
}

/** The job of a row. */
export function detailsOf(row: JobRow): JobDetails {
  const { id, name, queue, state, attempts, due_at, enqueued_at, error } = row
  const { message = null } = error === null ? {} : (JSON.parse(String(error)) as { message?: string })
  const texts = { id: String(id), name: String(name), queue: String(queue), state: String(state) }
  const times = { due_at: toIso(due_at), enqueued_at: toIso(enqueued_at) ?? '' }
  return { ...texts, attempts: Number(attempts), ...times, error: message }
}

function toIso(time: unknown): string | null {
  return time === null || time === undefined ? null : new Date(Number(time)).toISOString()
}

function conditionOf({ ids, state, queue, name }: Selection): [sql: string, values: unknown[]] {
  const known = ids?.filter(isId)
  const parts: [string, unknown[]][] = [
    ...Object.entries({ state, queue, name }).flatMap(([column, value]): [string, unknown[]][] =>
      value === undefined ? [] : [[`${column} = ?`, [value]]],
    ),
    ...(known
      ? ([known.length > 0 ? [`id IN (${marks(known)})`, known] : ['1 = 0', []]] as [string, unknown[]][])
      : []),
  ]
  return [parts.map(([sql]) => sql).join(' AND ') || '1 = 1', parts.flatMap(([, values]) => values)]
}
