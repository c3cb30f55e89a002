import { QueryFailedError, type QueryResult, type QueryRunner } from 'typeorm'
import { channels, className, type QueryMessage } from '../../common/channels.js'
import { captureStack, siteOf, type CallSite } from '../../common/place.js'
import { TransactionConflict } from '../../errors.js'
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

/** The message about a statement, with members that only the framework reads. */
export interface StatementMessage extends QueryMessage {
  readonly isQuery: boolean
  readonly site: CallSite | undefined
}

/** The method of TypeORM's query runners that runs a statement. */
type Query = (this: QueryRunner, sql: string, values: unknown, isStructured?: boolean) => Promise<QueryResult>

for (const { prototype } of [PooledSqliteQueryRunner, PostgresRunner, MariadbRunner]) {
  // The method is overloaded.
  const run = prototype.query as Query
  const query: Query = function query(sql, values, isStructured) {
    const end = beginStatement(this, sql)
    if (!end) return run.call(this, sql, values, isStructured)
    return run.call(this, sql, values, true).then(
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
  Object.assign(prototype, { query })
}

/** Notes where and when a statement begins. Returns the function that publishes its end; undefined if nobody listens. */
export function beginStatement({ dataSource }: QueryRunner, text: string) {
  if (!channels.query.hasSubscribers || CURSOR.test(text)) return undefined
  const [stack, start, engine] = [captureStack(), performance.now(), engineOf(dataSource).name]
  return (rows?: number, failure?: unknown, ms = performance.now() - start): void => {
    const sql = maskedSql(text, engine)
    const message: StatementMessage = {
      sql,
      ms,
      rows: failure ? undefined : rows,
      engine,
      error: failure ? wordOf(failure) : undefined,
      isQuery: !CONTROL.test(sql),
      get site() {
        return siteOf(stack)
      },
      get place() {
        return this.site?.place
      },
    }
    channels.query.publish(message)
  }
}

/** The problem of an error, or its class. */
export function wordOf(error: unknown): string {
  if (error instanceof TransactionConflict) return 'conflict'
  return (error instanceof QueryFailedError && problemOf(error)) || className(error)
}
