import { Command, InvalidArgumentError } from 'commander'
import { QueryFailedError, type QueryRunner } from 'typeorm'
import { Worker } from 'node:worker_threads'
import { CommandError } from '../../command-errors.js'
import { milliseconds, type Duration } from '../../common/duration.js'
import { shorten } from '../../common/shorten.js'
import type { Database } from '../../database/database.js'
import { engineOf } from '../../database/engines/engines.js'
import { createRunner } from '../../database/engines/mode.js'
import { problemOf } from '../../database/engines/problems.js'
import { filtered, parameterFilter } from '../../logging/filter.js'
import { usingDatabase } from '../support/application-modules.js'
import { printTo, toJson, type Output } from '../support/output.js'
import { table } from '../support/table.js'

interface Options {
  json?: boolean
  explain?: boolean
  showSecrets?: boolean
  limit: number
  timeout: Duration
}

type Row = Record<string, unknown>

/** `kit query SQL`: reads the database with one statement. */
export function queryCommand(out: Output): Command {
  return new Command('query')
    .description(
      'Runs one SQL statement that reads, in a read-only transaction of the environment (GO_ENV, default: development), and prints ' +
        'its rows: a table in a terminal, else JSON. Values of columns with secret names (password_digest) are [FILTERED].',
    )
    .argument('<sql>', 'one statement: "select * from posts"')
    .option('--json', 'print JSON, in a terminal, too')
    .option('--explain', 'print how the database would run the statement')
    .option('--limit <rows>', 'the maximum number of rows, up to 10,000', parseLimit, 1000)
    .option('--timeout <duration>', 'the time after which the statement is ended', '30 seconds')
    .option('--show-secrets', 'print the values of all columns')
    .addHelpText(
      'after',
      '\nExample:\n  $ kit query "select title from posts order by created_at desc" --limit 5\n' +
        '  $ kit query "select count(*) from posts" --explain',
    )
    .action((sql: string, options: Options) => query(out, statementOf(sql), options))
}

async function query(out: Output, sql: string, options: Options): Promise<void> {
  const limit = milliseconds(options.timeout, '--timeout')
  const rows = await usingDatabase((database) => readRows(database, sql, limit, options))
  const shown = rows.slice(0, options.limit).map((row) => (options.showSecrets ? row : withoutSecrets(row)))
  const print = printTo(out)
  if (options.json || !Reflect.get(out, 'isTTY')) return print(toJson(shown))
  print(table(Object.keys(shown[0] ?? {}), shown.map(cellsOf), 'no rows'))
  if (rows.length > options.limit) print(`There are more rows: --limit ${options.limit} was reached.`)
}

/** The first words of statements whose rows are read one by one, and of others that read. */
const QUERY = /^(?:select|with|values|table)\b/i
const REPORT = /^(?:explain|show|describe|desc|pragma)\b/i

/** @throws CommandError when the text is not one statement that reads */
function statementOf(text: string): string {
  const sql = text.trim().replace(/;$/, '').trimEnd()
  const others = 'To change records, or to run anything else, use `kit console`.'
  if (sql.includes(';'))
    throw new CommandError(`kit query runs one statement, without a semicolon in it. ${others}`)
  if (QUERY.test(sql) || REPORT.test(sql)) return sql
  throw new CommandError(`kit query only runs statements that read, like "select * from posts". ${others}`)
}

/** Reads the rows in a read-only transaction, at most one more than the limit. */
async function readRows(
  database: Database,
  sql: string,
  timeout: number,
  { limit, explain }: Options,
): Promise<Row[]> {
  const engine = engineOf(database)
  const stop = endLater(timeout)
  await database.open()
  const runner = createRunner(database, 'read')
  try {
    await engine.beginReadOnly(runner, undefined)
    await engine.inspection.protect(runner, timeout)
    if (explain) return await runner.query(`${engine.inspection.explain} ${sql}`)
    return await firstRows(runner, sql, limit + 1)
  } catch (error) {
    throw explained(error, timeout)
  } finally {
    await stop()
    if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined)
    await runner.release()
  }
}

async function firstRows(runner: QueryRunner, sql: string, count: number): Promise<Row[]> {
  if (!QUERY.test(sql)) return runner.query(sql)
  const rows: unknown[] = []
  for await (const part of engineOf(runner.dataSource).rows(runner, sql, [])) {
    rows.push(...part)
    if (rows.length >= count) break
  }
  return rows as Row[]
}

function explained(error: unknown, timeout: number): unknown {
  if (!(error instanceof Error)) return error
  const problem = problemOf(error instanceof QueryFailedError ? error : new QueryFailedError('', [], error))
  if (problem === 'slow') return new CommandError(tooSlow(timeout))
  const advice = problem === 'readonly' ? ' kit query only reads. To change records, use `kit console`.' : ''
  return new CommandError(`${error.message}.${advice}`)
}

function tooSlow(timeout: number): string {
  return `The statement was ended after ${timeout / 1000} s. Pass --timeout to let it run for longer.`
}

/**
 * Ends the process if a statement still runs a second after its timeout. A server has then ended it, but
 * SQLite runs statements in this thread, so only another one can.
 *
 * @returns a function that lets the process live
 */
function endLater(timeout: number): () => Promise<unknown> {
  const code = `
    const { writeSync } = require('node:fs')
    setTimeout(() => {
      writeSync(2, ${JSON.stringify(`${tooSlow(timeout)}\n`)})
      process.kill(${process.pid}, 'SIGKILL')
    }, ${timeout + 1000})`
  const worker = new Worker(code, { eval: true })
  worker.unref()
  return () => worker.terminate()
}

const { isSecret } = parameterFilter()

function withoutSecrets(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, isSecret(name) && value !== null ? filtered : value]),
  )
}

/** The maximum number of characters of a cell. */
const maxCell = 60

function cellsOf(row: Row): string[] {
  return Object.values(row).map((value) => shorten(textOf(value), maxCell))
}

function textOf(value: unknown): string {
  if (value === null) return ''
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array) return `[${value.byteLength} bytes]`
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,3}$|^10000$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 to 10000.')
}
