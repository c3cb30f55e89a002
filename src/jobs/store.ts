import { QueryFailedError, type EntityManager, type ObjectLiteral } from 'typeorm'
import { engineOf, isId, newId, wordOf } from '../extension.js'
import { DeclarationError, type Database } from '../index.js'
import { tableNames, type JobTableOptions } from './table.js'

/** A job to enqueue. */
export interface JobRow {
  id: string
  name: string
  queue: string
  /** JSON. */
  arguments: string
  /** Milliseconds from now. */
  delay?: number
  /** The time at which the job is due, instead of a delay, in milliseconds since 1970. */
  at?: number | undefined
  unique_key?: string | undefined
  request_id?: string | undefined
}

/** A job that this process has claimed, as its row was before the claim. */
export interface ClaimedJob extends Readonly<Pick<JobRow, 'id' | 'name' | 'queue' | 'arguments'>> {
  readonly state: 'waiting' | 'running'
  /** The number of earlier attempts. */
  readonly attempts: number
  /** Milliseconds from when the job was due to the claim. Some drivers return a `bigint` as a string. */
  readonly late: number | string
  readonly request_id: string | null
}

/** The jobs that a worker can run. */
export interface Claims {
  worker: string
  /** The names of the jobs that the worker's release declares. */
  names: readonly string[]
  queues: readonly string[]
  /** Milliseconds for which a claim is valid, unless it is extended. */
  lease: number
  /** The ids of jobs that are not claimed: those that run, even without an extended lease. */
  except: readonly string[]
}

/** The end of a run that has not succeeded. */
export interface Ending {
  /** Without a state, the job is deleted. */
  state?: 'waiting' | 'dead'
  attempts: number
  /** Milliseconds until the job is due again. */
  delay?: number
  /** JSON. By default the row keeps the error of an earlier run. */
  error?: string
}

/** The numbers of jobs of a queue. */
export interface QueueCounts {
  queue: string
  waiting: number
  running: number
  dead: number
  /** Milliseconds since the oldest waiting job was due; undefined if none is. */
  age: number | undefined
}

/** The jobs that a command lists or changes. They meet all given conditions. */
export interface Selection {
  ids?: readonly string[]
  state?: string | undefined
  queue?: string | undefined
  name?: string | undefined
}

/** The maximum number of rows of an INSERT. */
const batch = 500

/** The row that a run must still own at its end. `:attempts` is the number before the claim added 1. */
const ownRow = 'id = :id AND worker = :worker AND attempts = :attempts + 1'

/** The jobs that a worker may claim. PostgreSQL and MariaDB reject empty lists. */
function claimable({ names, except }: Claims): string {
  const known = names.length > 0 ? 'name IN (:...names)' : '1 = 0'
  return `due_at IS NOT NULL AND ${known} ${except.length > 0 ? 'AND id NOT IN (:...except)' : ''}`
}

/** The rows of the tables of jobs and schedules, on each engine. */
export class JobStore {
  readonly tables: ReturnType<typeof tableNames>
  /** The name of the table of jobs, escaped. */
  readonly jobs: string

  constructor(
    readonly database: Database,
    options: JobTableOptions,
  ) {
    this.tables = tableNames(options)
    this.jobs = database.driver.escape(this.tables.jobs)
  }

  /** The engine of the database. */
  get engine() {
    return engineOf(this.database)
  }

  /**
   * Inserts jobs. A waiting job with the same unique key is locked instead.
   *
   * @returns the ids of those that were inserted
   */
  async insert(tx: EntityManager, jobs: readonly JobRow[]): Promise<string[]> {
    const { now, skipLocked } = this.engine
    const ids: string[] = []
    for (let from = 0; from < jobs.length; from += batch) {
      // An INSERT cannot lock a row that it inserts itself, so each of its keys is unique.
      const byKey = jobs.slice(from, from + batch).map((job) => [job.unique_key ?? job.id, job] as const)
      const part = [...new Map(byKey).values()]
      const rows = part.map(({ delay = 0, at, ...job }) => {
        const due_at = at ?? (() => `${now} + ${Math.round(delay)}`)
        return { ...job, state: 'waiting', attempts: 0, enqueued_at: () => now, due_at }
      })
      const insertion = tx
        .createQueryBuilder()
        .insert()
        .into(this.tables.jobs, Object.keys(rows[0] ?? {}))
        .values(rows)
      const keys = part.flatMap(({ unique_key: key }) => key ?? [])
      if (keys.length > 0) insertion.orUpdate(['unique_key'], ['unique_key'])
      await insertion.execute()
      // With a lock, a query reads the current rows, even in a transaction that reads a snapshot. SQLite has
      // no row locks.
      const find = `SELECT id FROM ${this.jobs} WHERE unique_key IN (:...keys) ${skipLocked ? 'FOR UPDATE' : ''}`
      const found = keys.length > 0 ? await this.query<{ id: string }>(find, { keys }, tx) : part
      ids.push(...part.flatMap(({ id }) => (found.some((row) => row.id === id) ? id : [])))
    }
    return ids
  }

  /** Reads the database's time, and that at which the first job is due. It takes no lock. */
  async poll(claims: Claims): Promise<{ now: number; due: number }> {
    const first = claims.queues.map(
      (_, index) =>
        `(SELECT due_at FROM ${this.jobs} WHERE queue = :queue${index} AND ${claimable(claims)} ORDER BY due_at LIMIT 1) AS q${index}`,
    )
    const sql = `SELECT ${[`${this.engine.now} AS now`, ...first].join(', ')}`
    const queues = Object.fromEntries(claims.queues.map((queue, index) => [`queue${index}`, queue]))
    const [row = {}] = await this.query(sql, { ...claims, ...queues })
    const { now, ...due } = row
    const times = Object.values(due).flatMap((time) => (time === null ? [] : Number(time)))
    return { now: Number(now), due: Math.min(Infinity, ...times) }
  }

  /**
   * Claims due jobs: those of the first queues first, and those of a queue in the order in which they were
   * due.
   *
   * @param count the maximum number of jobs
   * @param later whether it also claims jobs that are due later
   */
  async claim(claims: Claims, count: number, later = false): Promise<ClaimedJob[]> {
    const { now, skipLocked = '' } = this.engine
    const due = `SELECT *, ${now} - due_at AS late FROM ${this.jobs} WHERE queue = :queue AND ${claimable(claims)}
      ${later ? '' : `AND due_at <= ${now}`} ORDER BY due_at LIMIT :count ${skipLocked}`
    const claimed: ClaimedJob[] = []
    for (const queue of claims.queues) {
      const left = count - claimed.length
      if (left > 0) claimed.push(...(await this.start(due, { ...claims, queue, count: left })))
    }
    return claimed
  }

  /** Runs the query `due`, and marks the jobs that it returns as running. */
  private async start(due: string, parameters: ObjectLiteral): Promise<ClaimedJob[]> {
    const { now, updatesInQueries } = this.engine
    const start = `UPDATE ${this.jobs} SET state = 'running', worker = :worker, attempts = attempts + 1, unique_key = NULL,
      due_at = ${now} + :lease WHERE id IN`
    if (updatesInQueries) {
      const queries = `due AS MATERIALIZED (${due}), started AS (${start} (SELECT id FROM due))`
      return this.query(`WITH ${queries} SELECT * FROM due ORDER BY late DESC`, parameters)
    }
    // At its default isolation level, MariaDB would lock the gaps between rows, so that requests could not
    // insert jobs.
    return this.database.transaction('READ COMMITTED', async (tx) => {
      const rows = await this.query<ClaimedJob>(due, parameters, tx)
      const ids = rows.map(({ id }) => id)
      if (ids.length > 0) await this.query(`${start} (:...ids)`, { ...parameters, ids }, tx)
      return rows
    })
  }

  /** Extends the leases of running jobs. Returns the ids of the jobs that this worker has lost. */
  async extend(
    { worker, lease }: Pick<Claims, 'worker' | 'lease'>,
    ids: readonly string[],
  ): Promise<string[]> {
    const own = 'id IN (:...ids) AND worker = :worker'
    const parameters = { ids, worker, lease }
    await this.query(`UPDATE ${this.jobs} SET due_at = ${this.engine.now} + :lease WHERE ${own}`, parameters)
    const rows = await this.query<{ id: string }>(`SELECT id FROM ${this.jobs} WHERE ${own}`, parameters)
    return ids.filter((id) => !rows.some((row) => row.id === id))
  }

  /** Deletes a job if this run still owns it. Returns whether the run did. */
  async end(tx: EntityManager, { id, attempts }: ClaimedJob, worker: string): Promise<boolean> {
    return (await this.delete(ownRow, { id, worker, attempts }, tx)) === 1
  }

  /** Stores the end of a run that has failed, if the run still owns the job. Returns whether the run did. */
  async fail(job: ClaimedJob, worker: string, { delay = 0, ...ending }: Ending): Promise<boolean> {
    const { now } = this.engine
    if (!ending.state) return this.end(this.database.manager, job, worker)
    const due_at = () => (ending.state === 'dead' ? 'NULL' : `${now} + ${Math.round(delay)}`)
    const values = { ...ending, worker: () => 'NULL', due_at, failed_at: () => now }
    return (await this.update(values, ownRow, { id: job.id, worker, attempts: job.attempts })) === 1
  }

  /** Changes jobs. Returns their number. */
  async update(values: ObjectLiteral, where: string, parameters: ObjectLiteral): Promise<number> {
    const query = this.database.createQueryBuilder().update(this.tables.jobs).set(values)
    return (await query.where(where, parameters).execute()).affected ?? 0
  }

  /** Deletes jobs. Returns their number. */
  async delete(where: string, parameters: ObjectLiteral, tx = this.database.manager): Promise<number> {
    const query = tx.createQueryBuilder().delete().from(this.tables.jobs)
    return (await query.where(where, parameters).execute()).affected ?? 0
  }

  /** @throws DeclarationError when the tables do not exist */
  async check(): Promise<void> {
    await this.list({ ids: [] }).catch((cause: unknown) => {
      if (!(cause instanceof QueryFailedError) || wordOf(cause) !== 'missing') throw cause
      throw new DeclarationError('The tables of jobs do not exist. Run `kit db migrate`.', { cause })
    })
  }

  /** The rows of jobs, at most 1,000, the oldest first. */
  list(selection: Selection): Promise<ObjectLiteral[]> {
    const rows = `SELECT * FROM ${this.jobs} WHERE ${conditionOf(selection)} ORDER BY enqueued_at, id LIMIT 1000`
    return this.query(rows, parametersOf(selection))
  }

  /** Makes jobs due now, with all their attempts, unless they are running. Returns their number. */
  retry(selection: Selection): Promise<number> {
    const values = { state: 'waiting', attempts: 0, due_at: () => this.engine.now }
    return this.update(values, `${conditionOf(selection)} AND state <> 'running'`, parametersOf(selection))
  }

  /** Deletes jobs. A running job loses its lease, so that its worker aborts it. Returns their number. */
  discard(selection: Selection): Promise<number> {
    return this.delete(conditionOf(selection), parametersOf(selection))
  }

  /** The numbers of jobs of each queue. */
  async counts(): Promise<QueueCounts[]> {
    const rows = await this.query(
      `SELECT queue, state, COUNT(*) AS count, ${this.engine.now} - MIN(due_at) AS age FROM ${this.jobs} GROUP BY queue, state ORDER BY queue`,
    )
    const counts = new Map<string, QueueCounts>()
    for (const { queue, state, count, age } of rows) {
      const own = counts.get(queue) ?? { queue, waiting: 0, running: 0, dead: 0, age: undefined }
      const isDue = state === 'waiting' && Number(age) >= 0
      counts.set(queue, { ...own, [state]: Number(count), ...(isDue && { age: Number(age) }) })
    }
    return [...counts.values()]
  }

  /** The names of all jobs in the table. */
  async names(): Promise<string[]> {
    const rows = await this.query<{ name: string }>(`SELECT DISTINCT name FROM ${this.jobs} ORDER BY name`)
    return rows.map(({ name }) => name)
  }

  /** Runs a statement with named parameters, in a transaction or over a connection of the primary. */
  query<Row = ObjectLiteral>(
    sql: string,
    parameters: ObjectLiteral = {},
    tx?: EntityManager,
  ): Promise<Row[]> {
    const [text, values] = this.database.driver.escapeQueryWithParameters(sql, parameters)
    return this.database.query(text, values, tx?.queryRunner)
  }
}

function conditionOf({ ids, ...columns }: Selection): string {
  const own = Object.entries(columns).flatMap(([name, value]) =>
    value === undefined ? [] : `${name} = :${name}`,
  )
  return ['1 = 1', ...own, ...(ids ? ['id IN (:...ids)'] : [])].join(' AND ')
}

/** Its parameters. PostgreSQL rejects malformed ids and empty lists; a new id isn't that of a job. */
function parametersOf({ ids = [], ...columns }: Selection): ObjectLiteral {
  return { ...columns, ids: [...ids.filter(isId), newId()] }
}
