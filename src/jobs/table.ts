import { Table, type QueryRunner } from 'typeorm'
import { column } from '../index.js'

/** The names of the tables. */
export interface JobTableOptions {
  /** The beginning of both tables' names, for example `background_` (none). Pass the same to `jobQueue`. */
  prefix?: string
}

/** The names of the tables with a prefix. */
export function tableNames({ prefix = '' }: JobTableOptions) {
  return { jobs: `${prefix}jobs`, schedules: `${prefix}job_schedules` }
}

/**
 * The tables of jobs and schedules, for a migration.
 *
 * @example for (const table of jobTables(runner)) await runner.createTable(table)
 */
export function jobTables(runner: QueryRunner, options: JobTableOptions = {}): Table[] {
  const { jobs, schedules } = tableNames(options)
  const isNullable = true
  return [
    new Table({
      name: jobs,
      columns: [
        column(runner, 'id', 'uuid', { isPrimary: true }),
        column(runner, 'name', 'string'),
        column(runner, 'queue', 'string', { length: '100' }),
        column(runner, 'arguments', 'text'),
        column(runner, 'state', 'string', { length: '16' }),
        // Times are milliseconds since 1970: the same in every engine and time zone.
        column(runner, 'due_at', 'bigint', { isNullable }),
        column(runner, 'attempts', 'int'),
        column(runner, 'unique_key', 'string', { length: '64', isNullable }),
        column(runner, 'worker', 'string', { length: '100', isNullable }),
        column(runner, 'error', 'text', { isNullable }),
        column(runner, 'request_id', 'string', { length: '128', isNullable }),
        column(runner, 'enqueued_at', 'bigint'),
        column(runner, 'failed_at', 'bigint', { isNullable }),
      ],
      indices: [
        { name: `${jobs}_due`, columnNames: ['queue', 'due_at'] },
        { name: `${jobs}_unique_key`, columnNames: ['unique_key'], isUnique: true },
      ],
    }),
    new Table({
      name: schedules,
      columns: [
        column(runner, 'name', 'string', { isPrimary: true }),
        column(runner, 'expression', 'text'),
        column(runner, 'last_tick', 'bigint'),
      ],
    }),
  ]
}
