import type { DataSource, EntityManager, QueryResult, QueryRunner } from 'typeorm'
import { engineOf } from '../extension.js'
import type { Database } from '../index.js'
import { tableNames, type JobTableOptions } from './table.js'

/** A job to enqueue. */
export interface NewJob {
  id: string
  name: string
  queue: string
  /** JSON. */
  arguments: string
  /** Milliseconds from now. */
  delay?: number
  /** The time at which it is due, instead of a delay. */
  at?: number | undefined
  uniqueKey?: string | undefined
  requestId?: string | undefined
}

/** A job that this process has claimed. */
export interface ClaimedJob {
  readonly id: string
  readonly name: string
  readonly queue: string
  readonly arguments: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** Whether the process of an earlier attempt has ended. */
  readonly wasRunning: boolean
  /** Milliseconds from the time at which it was due. */
  readonly late: number
  readonly requestId: string | undefined
}

/** The jobs that a worker can run. */
export interface Claims {
  worker: string
  /** The names of the jobs that it knows. */
  names: readonly string[]
  queues: readonly string[]
}

/** How a run ends that has not succeeded. */
export interface Ending {
  state: 'waiting' | 'dead'
  /** Milliseconds until it is due again. */
  delay?: number
  /** Whether the run counts as an attempt. */
  counts: boolean
  /** JSON. By default the last error stays. */
  error?: string
}

/** The number of rows of an INSERT. */
const batch = 500

/** The rows of the tables of jobs and schedules, on each engine. */
export class JobStore {
  readonly tables: ReturnType<typeof tableNames>
  readonly jobs: string

  constructor(
    readonly database: Database,
    options: JobTableOptions,
  ) {
    this.tables = tableNames(options)
    this.jobs = database.driver.escape(this.tables.jobs)
  }

  /** Inserts jobs. */
  async insert(tx: EntityManager, jobs: readonly NewJob[]): Promise<void> {
    for (let from = 0; from < jobs.length; from += batch) {
      const [sql, values] = this.insertion(jobs.slice(from, from + batch))
      await this.in(tx, (runner) => this.query(runner, sql, values))
    }
  }

  /**
   * Inserts a job with a unique key, or locks the waiting job that has it.
   *
   * @returns whether it was inserted
   */
  insertUnique(tx: EntityManager, job: NewJob): Promise<boolean> {
    const { lockDuplicate } = this.engine
    const [sql, values] = this.insertion([job])
    return this.in(tx, async (runner) => {
      await this.query(runner, `${sql} ${lockDuplicate('unique_key')}`, values)
      // The row is locked, so this reads it as it is now, also in a transaction that reads a snapshot.
      const lock = this.engine.skipLocked ? 'FOR UPDATE' : ''
      const find = `SELECT id FROM ${this.jobs} WHERE unique_key = ? ${lock}`
      const [row] = await this.rows<{ id: string }>(runner, find, [job.uniqueKey])
      return row?.id === job.id
    })
  }

  private insertion(jobs: readonly NewJob[]): [sql: string, values: unknown[]] {
    const { now } = this.engine
    const columns = 'id, name, queue, arguments, state, attempts, unique_key, request_id, enqueued_at, due_at'
    const rows = jobs.map(
      ({ at }) => `(?, ?, ?, ?, 'waiting', 0, ?, ?, ${now}, ${at === undefined ? `${now} + ?` : '?'})`,
    )
    const values = jobs.flatMap((job) => [
      job.id,
      job.name,
      job.queue,
      job.arguments,
      job.uniqueKey ?? null,
      job.requestId ?? null,
      job.at ?? job.delay ?? 0,
    ])
    return [`INSERT INTO ${this.jobs} (${columns}) VALUES ${rows.join(', ')}`, values]
  }

  /** Reads the time of the database, and the time at which the first job of each queue is due. It takes no lock. */
  async poll(claims: Claims): Promise<{ now: number; due: (number | undefined)[] }> {
    const { queues } = claims
    const [condition, values] = this.claimable(claims)
    const first = queues.map(
      (_, index) =>
        `(SELECT due_at FROM ${this.jobs} WHERE ${condition} ORDER BY due_at LIMIT 1) AS q${index}`,
    )
    const sql = `SELECT ${[`${this.engine.now} AS now`, ...first].join(', ')}`
    const all = queues.flatMap((queue) => values(queue))
    const [row = {}] = await this.alone((runner) => this.rows<Record<string, unknown>>(runner, sql, all))
    const times = queues.map((_, index) => row[`q${index}`])
    return {
      now: Number(row['now']),
      due: times.map((time) => (time === null || time === undefined ? undefined : Number(time))),
    }
  }

  /**
   * Claims due jobs, from the first queues first.
   *
   * @param options.later also claims jobs that are due later
   * @param options.except the ids of jobs that it does not claim
   */
  async claim(
    claims: Claims,
    count: number,
    lease: number,
    { later = false, except = [] }: { later?: boolean; except?: readonly string[] } = {},
  ): Promise<ClaimedJob[]> {
    const [condition, values] = this.claimable(claims)
    const due = later ? '' : `AND due_at <= ${this.engine.now}`
    const others = except.length > 0 ? `AND id NOT IN (${marks(except)})` : ''
    const where = `WHERE ${condition} ${due} ${others} ORDER BY due_at LIMIT ?`
    const claimed: Row[] = []
    for (const queue of claims.queues) {
      const left = count - claimed.length
      if (left === 0) break
      claimed.push(...(await this.start(where, [...values(queue), ...except, left], claims.worker, lease)))
    }
    return claimed.map(toClaimed)
  }

  /** Starts jobs, and returns their rows as they were before, the first that was due first. */
  private async start(where: string, values: unknown[], worker: string, lease: number): Promise<Row[]> {
    const { now, skipLocked = '', updatesFrom } = this.engine
    const change = `UPDATE ${this.jobs} SET state = 'running', worker = ?, attempts = attempts + 1, unique_key = NULL, due_at = ${now} + ?`
    if (updatesFrom) {
      const due = `SELECT id AS due_id, state AS was, due_at AS was_due FROM ${this.jobs} ${where} ${skipLocked}`
      const columns = `id, name, queue, arguments, was AS state, attempts - 1 AS attempts, request_id, ${now} - was_due AS late`
      const sql = `WITH due AS MATERIALIZED (${due}) ${change} FROM due WHERE id = due_id RETURNING ${columns}`
      const rows = await this.alone((runner) => this.rows<Row>(runner, sql, [...values, worker, lease]))
      return rows.toSorted((one, other) => Number(other.late) - Number(one.late))
    }
    return this.transaction(async (runner) => {
      const columns = `id, name, queue, arguments, state, attempts, request_id, ${now} - due_at AS late`
      const rows = await this.rows<Row>(
        runner,
        `SELECT ${columns} FROM ${this.jobs} ${where} ${skipLocked}`,
        values,
      )
      const ids = rows.map(({ id }) => id)
      if (rows.length > 0)
        await this.query(runner, `${change} WHERE id IN (${marks(ids)})`, [worker, lease, ...ids])
      return rows
    })
  }

  /** The condition of jobs that a worker may claim, with its values for a queue. */
  private claimable({ worker, names }: Claims): [sql: string, values: (queue: string) => unknown[]] {
    return [
      `queue = ? AND due_at IS NOT NULL AND name IN (${marks(names)}) AND (worker IS NULL OR worker <> ?)`,
      (queue) => [queue, ...names, worker],
    ]
  }

  /** Extends the leases of running jobs. Returns the ids of those that this worker has lost. */
  async extend(worker: string, ids: readonly string[], lease: number): Promise<string[]> {
    return this.alone(async (runner) => {
      const mine = `id IN (${marks(ids)}) AND worker = ? AND state = 'running'`
      const { affected } = await this.query(
        runner,
        `UPDATE ${this.jobs} SET due_at = ${this.engine.now} + ? WHERE ${mine}`,
        [lease, ...ids, worker],
      )
      if (affected === ids.length) return []
      const rows = await this.rows<{ id: string }>(runner, `SELECT id FROM ${this.jobs} WHERE ${mine}`, [
        ...ids,
        worker,
      ])
      return ids.filter((id) => !rows.some((row) => row.id === id))
    })
  }

  /** Deletes a job that this run still owns. Returns whether it does. */
  async end(tx: EntityManager | undefined, { id, attempt }: ClaimedJob, worker: string): Promise<boolean> {
    const sql = `DELETE FROM ${this.jobs} WHERE id = ? AND worker = ? AND attempts = ?`
    const { affected } = await this.in(tx, (runner) => this.query(runner, sql, [id, worker, attempt]))
    return affected === 1
  }

  /** Stores the end of a run that has failed, if the run still owns the job. Returns whether it does. */
  async fail(job: ClaimedJob, worker: string, ending: Ending): Promise<boolean> {
    const { state, delay = 0, counts, error } = ending
    const { now } = this.engine
    const sql = `UPDATE ${this.jobs} SET state = ?, worker = NULL, due_at = ${state === 'dead' ? 'NULL' : `${now} + ?`},
      attempts = attempts - ?, error = COALESCE(?, error), failed_at = ${now}
      WHERE id = ? AND worker = ? AND attempts = ?`
    const values = [state, ...(state === 'dead' ? [] : [delay]), counts ? 0 : 1, error ?? null]
    const { affected } = await this.alone((runner) =>
      this.query(runner, sql, [...values, job.id, worker, job.attempt]),
    )
    return affected === 1
  }

  /** Whether a job exists. */
  async has(id: string): Promise<boolean> {
    const rows = await this.select<{ id: string }>(`SELECT id FROM ${this.jobs} WHERE id = ?`, [id])
    return rows.length > 0
  }

  /** Deletes some dead jobs that failed longer ago than a time. They are the jobs of a queue without a due time. */
  async deleteDead(queue: string, age: number): Promise<void> {
    const old = `queue = ? AND due_at IS NULL AND failed_at < ${this.engine.now} - ?`
    const rows = await this.select<{ id: string }>(
      `SELECT id FROM ${this.jobs} WHERE ${old} LIMIT ${batch}`,
      [queue, age],
    )
    if (rows.length === 0) return
    const ids = rows.map(({ id }) => id)
    const sql = `DELETE FROM ${this.jobs} WHERE state = 'dead' AND id IN (${marks(ids)})`
    await this.alone((runner) => this.query(runner, sql, ids))
  }

  /** Runs a query outside of a transaction. */
  select<Found>(sql: string, values: readonly unknown[] = []): Promise<Found[]> {
    return this.alone((runner) => this.rows<Found>(runner, sql, values))
  }

  /** Runs a statement outside of a transaction. Returns the number of rows that it has changed. */
  async change(sql: string, values: readonly unknown[]): Promise<number> {
    const { affected } = await this.alone((runner) => this.query(runner, sql, values))
    return affected ?? 0
  }

  /** Runs work in its own transaction. */
  async transaction<T>(work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    return this.alone(async (runner) => {
      // MariaDB would lock the gaps between rows at its own level, so that requests could not insert jobs.
      const isDefault = this.engine.readsCommitted?.(this.database, undefined)
      await runner.startTransaction(isDefault ? undefined : 'READ COMMITTED')
      try {
        const result = await work(runner)
        await runner.commitTransaction()
        return result
      } catch (error) {
        if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined)
        throw error
      }
    })
  }

  /** The engine of the database. */
  get engine() {
    return engineOf(this.database)
  }

  /** Runs a statement, whose parameters are question marks on each engine. */
  query(runner: QueryRunner, sql: string, values: readonly unknown[]): Promise<QueryResult> {
    const { driver } = this.database
    let index = 0
    const text = sql.replaceAll('?', () => driver.createParameter('value', index++))
    return runner.query(text, [...values], true)
  }

  private async rows<Found>(runner: QueryRunner, sql: string, values: readonly unknown[]): Promise<Found[]> {
    const { records } = await this.query(runner, sql, values)
    // The columns are those of the query.
    return records as Found[]
  }

  /** Runs work over its own connection. It is never that of a replica. */
  private async alone<T>(
    work: (runner: QueryRunner) => Promise<T>,
    database: DataSource = this.database,
  ): Promise<T> {
    const runner = database.createQueryRunner('master')
    try {
      return await work(runner)
    } finally {
      await runner.release()
    }
  }

  /** Runs work over the connection of a manager, if it has one. */
  private in<T>(tx: EntityManager | undefined, work: (runner: QueryRunner) => Promise<T>): Promise<T> {
    return tx?.queryRunner ? work(tx.queryRunner) : this.alone(work, tx?.dataSource)
  }
}

interface Row {
  id: string
  name: string
  queue: string
  arguments: string
  state: string
  attempts: number | string
  request_id: string | null
  late: number | string
}

function toClaimed({ id, name, queue, arguments: args, state, attempts, request_id, late }: Row): ClaimedJob {
  return {
    id,
    name,
    queue,
    arguments: args,
    attempt: Number(attempts) + 1,
    wasRunning: state === 'running',
    late: Math.max(0, Number(late)),
    requestId: request_id ?? undefined,
  }
}

/** Placeholders for values: `?, ?`. */
export function marks(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}
