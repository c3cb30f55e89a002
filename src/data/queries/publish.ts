import { QueryFailedError, type QueryResult, type QueryRunner } from 'typeorm'
import { channels, className, type QueryMessage } from '../../common/channels.js'
import { siteOf, stackHere, type Site } from '../../common/place.js'
import { TransactionConflict } from '../../errors.js'
import type { Engine } from '../engines/engine.js'
import { engineOf } from '../engines/engines.js'
import { MariadbRunner } from '../engines/mysql-driver.js'
import { PostgresRunner } from '../engines/postgres/query-runner.js'
import { problemOf } from '../engines/problems.js'
import { PooledSqliteQueryRunner } from '../engines/sqlite/pooled-query-runner.js'
import { maskedSql } from './masked-sql.js'

/** The beginning and the end of transactions and savepoints, and their settings: they are published, but they are not queries. */
const CONTROL = /^\s*(BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET)\b/i

/** How PostgreSQL reads a stream, which is one query. */
const CURSOR = /^(DECLARE|FETCH \d+ FROM) kit_rows_/

/** A statement that has ended. */
export class StatementMessage implements QueryMessage {
  readonly #stack: Error | undefined

  constructor(
    readonly sql: string,
    readonly ms: number,
    readonly rows: number | undefined,
    readonly engine: Engine['name'],
    readonly error: string | undefined,
    stack: Error | undefined,
  ) {
    this.#stack = stack
  }

  /** It is found when it is read, because that takes time. */
  get place(): string | undefined {
    return this.site?.place
  }

  get site(): Site | undefined {
    return siteOf(this.#stack)
  }

  /** Whether it counts as a query. */
  get isQuery(): boolean {
    return !CONTROL.test(this.sql)
  }
}

/** The method of TypeORM's query runners that runs a statement. */
type Query = (this: QueryRunner, sql: string, values: unknown, isStructured?: boolean) => Promise<unknown>

/** Lets the query runners of a class publish their statements. */
function publishStatements({ prototype }: { prototype: QueryRunner }): void {
  // The method is overloaded.
  const run = prototype.query as Query
  const query: Query = function query(sql, values, isStructured) {
    if (!channels.query.hasSubscribers || CURSOR.test(sql)) return run.call(this, sql, values, isStructured)
    const end = begin(engineOf(this.dataSource), sql)
    return (run.call(this, sql, values, true) as Promise<QueryResult>).then(
      (result) => {
        end(result.affected ?? result.records?.length)
        return isStructured ? result : result.raw
      },
      (error: unknown) => {
        end(undefined, error)
        throw error
      },
    )
  }
  Object.defineProperty(prototype, 'query', { value: query, configurable: true, writable: true })
}

for (const runner of [PooledSqliteQueryRunner, PostgresRunner, MariadbRunner]) publishStatements(runner)

/** Publishes a query whose rows are read as a stream, after the last row that is read. The time of its reader does not count. */
export function publishRows(
  engine: Engine,
  sql: string,
  parts: AsyncIterable<unknown[]>,
): AsyncIterable<unknown[]> {
  if (!channels.query.hasSubscribers) return parts
  const end = begin(engine, sql)
  return (async function* publishing() {
    let [rows, ms, from] = [0, 0, performance.now()]
    let problem: unknown
    try {
      for await (const part of parts) {
        ms += performance.now() - from
        rows += part.length
        yield part
        from = performance.now()
      }
    } catch (error) {
      problem = error
      throw error
    } finally {
      end(rows, problem, ms)
    }
  })()
}

/** Notes where and when a statement begins. Returns the function that publishes it. */
function begin({ name }: Engine, sql: string) {
  const stack = stackHere()
  const start = performance.now()
  return (rows: number | undefined, error?: unknown, ms = performance.now() - start): void => {
    const [changed, word] = error === undefined ? [rows, undefined] : [undefined, wordOf(error)]
    channels.query.publish(new StatementMessage(maskedSql(sql, name), ms, changed, name, word, stack))
  }
}

/** The problem of an error, or its class. */
export function wordOf(error: unknown): string {
  if (error instanceof TransactionConflict) return 'conflict'
  return (error instanceof QueryFailedError && problemOf(error)) || className(error)
}
