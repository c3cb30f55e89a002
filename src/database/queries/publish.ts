import { QueryFailedError, type QueryResult, type QueryRunner } from 'typeorm'
import { channels, className, type QueryMessage } from '../../common/channels.js'
import { captureStack, siteOf, type CallSite } from '../../common/place.js'
import { TransactionConflict } from '../../errors.js'
import { engineOf } from '../engines/engines.js'
import { problemOf } from '../engines/problems.js'
import { refusalOf } from './statement-guards.js'
import { maskedSql } from './masked-sql.js'

/**
 * The statements that begin, end or configure transactions and savepoints. They are published, but reports of
 * the number of queries do not count them.
 */
const CONTROL = /^\s*(BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|SET)\b/i

/** The statements that read a stream of rows on PostgreSQL. They are not published: a stream is one query. */
const CURSOR = /^(DECLARE|FETCH \d+ FROM) kit_rows_/

/** The message about a statement, with properties that only the framework reads. */
export interface StatementMessage extends QueryMessage {
  /** Whether reports of the number of queries count it: not the statements of `CONTROL`. */
  readonly isQuery: boolean
  readonly site: CallSite | undefined
}

/** The method of TypeORM's query runners that runs a statement. */
type Query = (this: QueryRunner, sql: string, values: unknown, isStructured?: boolean) => Promise<QueryResult>

/** Replaces the methods that run statements in a class of query runners, so that each is checked and published. */
export function publishStatements({ prototype }: { prototype: QueryRunner }): void {
  // TypeScript cannot call an overloaded method with arguments that fit several of its signatures.
  const run = prototype.query as Query
  const stream = prototype.stream
  const query: Query = function query(sql, values, isStructured) {
    const refusal = refusalOf(this, sql, values)
    if (refusal) return Promise.reject(refusal)
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
  Object.assign(prototype, {
    query,
    stream(this: QueryRunner, ...args: Parameters<QueryRunner['stream']>) {
      const refusal = refusalOf(this, args[0], args[1])
      return refusal ? Promise.reject(refusal) : stream.apply(this, args)
    },
  })
}

/**
 * Notes where and when a statement begins. Returns the function that publishes its end; undefined if that is
 * not published. A stream of rows passes its own `ms`, without the time of its reader.
 */
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

/** The name of the problem of the database (`unique`, `conflict`), else the class of the error. */
export function wordOf(error: unknown): string {
  if (error instanceof TransactionConflict) return 'conflict'
  return (error instanceof QueryFailedError && problemOf(error)) || className(error)
}
