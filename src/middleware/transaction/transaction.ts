import { Readable } from 'node:stream'
import type { Next } from 'koa'
import type { Logger } from 'pino'
import type { Context, Hooks, Middleware } from '../../context.js'
import type { Database } from '../../database/database.js'
import { hasNestedLists } from '../../models/attributes/nested-lists.js'
import { idListsOf } from '../../records/joins.js'
import { checkModels } from '../../records/participants.js'
import { chainsOf } from '../../records/within.js'
import { declaredLists, logListWarnings } from '../../records/lists/list-warnings.js'
import type { DeclaredRoute } from '../../routing/declared-route.js'
import { explainDatabaseError } from '../../database/database-errors.js'
import { engineOf } from '../../database/engines/engines.js'
import { watchWaits } from '../../database/engines/own-waits.js'
import { explainMissingTable, pendingMigrations } from '../../database/migrations/pending.js'
import { LazyTransaction } from '../../database/transactions/lazy-transaction.js'
import type { BeginOptions } from '../../database/transactions/opening.js'
import {
  beginTransaction,
  checkBeforeCommit,
  isDiscarded,
} from '../../database/transactions/request-transaction.js'
import { rejectUncompared } from '../../http/preconditions.js'
import { environmentOf } from '../../common/environment.js'
import { memoize } from '../../common/memoize.js'
import { checkNumbers } from '../../common/numbers.js'
import { OutcomeUnknown, PendingMigrations, RowsNotRead, ServiceUnavailable } from '../../errors.js'
import { SAFE_METHODS } from '../../common/methods.js'
import { addLogFields } from '../../logging/request-logger.js'
import { sessionSecrets } from '../../sessions/secrets.js'
import { visitorOf } from '../../sessions/visitor.js'
import { isRepeatable } from '../idempotency/request-key.js'
import type { ServerChoice } from '../../database/replicas/server-choice.js'
import { maxDuration, retrying, type Attempt, type RetryingOptions } from './retrying.js'

/** How clients other than browsers return the position of their last write. */
const positionHeader = 'Database-Position'
const positionDescription =
  'Return it in the same header of the next request, which then reads what this one has written'

/** The options of `transaction()`. */
export interface TransactionOptions extends RetryingOptions, Pick<BeginOptions, 'isolation' | 'replica'> {
  /** Whether requests are rejected while migrations are pending. By default only in development. */
  checksMigrations?: boolean
  /**
   * Milliseconds for which an open transaction may wait without a statement before a warning is logged. Time
   * in which the process computes does not count. The default is 100 in development; otherwise there is no
   * limit.
   */
  idleLimit?: number
}

/**
 * Gives every request a transaction, `ctx.tx`. It begins with the request's first query. It is committed
 * before the response is sent if the handler ends with a status below 400, and rolled back otherwise.
 *
 * If the transaction conflicts with another one (a deadlock, a serialization failure), the request is retried
 * if that is safe: the middleware below and the handler run again, and nothing remains of the first attempt.
 *
 * If the client has closed the connection before the transaction begins, the first query throws
 * ClientClosedRequest.
 *
 * Queries that the handler did not await are an error, and the transaction is rolled back. If such a query
 * fails later, the failure is logged.
 *
 * @throws DeclarationError when `retries` or `idleLimit` is wrong
 * @throws PendingMigrations when migrations are pending, and `checksMigrations` is true or a table is missing
 * @throws MigrationMissing in development when no migration creates a table or a column of a model
 * @throws the explained database error when the commit fails
 * @throws NotAwaited when queries are still running, RowsNotRead when a stream of rows is still open
 * @throws TransactionConflict after a conflict with another transaction, if the request is not retried or no
 *   retry is left
 * @throws OutcomeUnknown when the connection is lost during the commit
 * @throws ServiceUnavailable (503) when responses that stream rows use half of the connections
 */
export function transaction(database: Database, options: TransactionOptions = {}): Middleware {
  checkNumbers('transaction()', options, { retries: { isWhole: true }, idleLimit: {} })
  const requests = new Requests(database, options)
  const transaction = (ctx: Context, next: Next) => requests.run(ctx, next)
  return Object.assign(transaction, {
    database,
    callsAgain: true,
    ...(requests.needsSecret && {
      openapi: { headers: { [positionHeader]: { description: positionDescription } } },
    }),
    extension: requests,
  })
}

/** The transactions of the requests to one database. */
class Requests implements Hooks {
  readonly needsSecret?: string
  private pending: string[] = []
  /** The number of responses that stream rows. */
  private streams = 0
  /** Creates the choice of servers for a request, on a database with several of them. */
  private choiceFor?: (ctx: Context) => ServerChoice

  constructor(
    private readonly database: Database,
    private options: TransactionOptions,
  ) {
    if (database.replication.urls.length > 0) this.needsSecret = 'The positions of replicas'
  }

  async start(logger: Logger, env: string): Promise<void> {
    const { database } = this
    await database.hold()
    if (engineOf(database).afterOthers?.(database)) this.options = { retries: 5, ...this.options }
    if (this.options.checksMigrations ?? env === 'development')
      this.pending = await pendingMigrations(database)
    else if (env !== 'test') await warnOfPending(database, logger)
    const servers = await database.watch((change) => logger.info(change))
    if (!servers) return
    const { serverChoices } = await import('../../database/replicas/server-choice.js')
    const visitors = { visitorOf, secretsOf, addLogFields }
    this.choiceFor = serverChoices(servers, database.replication.maxLag, visitors)
  }

  async checkRoutes(routes: readonly DeclaredRoute[], logger: Logger, env: string): Promise<void> {
    if (hasNestedLists()) (await import('../../records/nested/declaration.js')).checkNested(this.database)
    checkModels(this.database)
    // They reject wrong properties with `@RelationIds`, and wrong names of `@Within`.
    for (const metadata of this.database.entityMetadatas) {
      idListsOf(metadata)
      chainsOf(metadata)
    }
    if (routes.some(({ resource }) => resource?.many))
      (await import('../../many/check.js')).checkMany(this.database, routes)
    const lists = declaredLists(this.database, routes)
    if (env === 'development' && this.pending.length === 0)
      await logListWarnings(this.database, lists, logger)
  }

  stop(): Promise<void> {
    return this.database.release()
  }

  check(): Promise<void> {
    return this.database.check()
  }

  run(ctx: Context, next: Next): Promise<void> {
    const choice = this.choiceFor?.(ctx)
    const runOnce = (attempt: Attempt): Promise<void> => {
      const work = () => this.runOnce(ctx, next, attempt, choice)
      return choice ? choice.run(work, attempt.reset) : work()
    }
    const run = () => retrying(ctx, this.options, runOnce)
    return this.pending.length > 0 ? this.rejectPending().then(run) : run()
  }

  private async rejectPending(): Promise<void> {
    this.pending = await pendingMigrations(this.database)
    if (this.pending.length > 0) throw new PendingMigrations(this.pending)
  }

  /** Runs the middleware below and the handler in a transaction. */
  private async runOnce(ctx: Context, next: Next, attempt: Attempt, choice?: ServerChoice): Promise<void> {
    const lazy = lazyTransaction(ctx, this.database, this.options, attempt, choice)
    beginTransaction(ctx, lazy)
    try {
      await (environmentOf(ctx) === 'production' ? next() : watchWaits(lazy, next))
      if (ctx.status < 400) {
        await checkBeforeCommit(ctx)
        rejectUncompared(ctx, lazy.manager)
      }
      choice?.rejectFailure()
    } catch (error) {
      await rollback(ctx, lazy)
      throw explainDatabaseError(
        await explainMissingTable(this.database, error, environmentOf(ctx) === 'development'),
        undefined,
        this.database.entityMetadatas,
      )
    }
    if (ctx.status >= 400 || isDiscarded(ctx)) return rollbackResponse(ctx, lazy)
    if (lazy.isStreaming && SAFE_METHODS.includes(ctx.method) && ctx.body instanceof Readable)
      return this.streamOn(ctx, lazy, ctx.body)
    try {
      await lazy.commit()
    } catch (error) {
      throw explainCommit(ctx, error)
    }
    await runHooks(ctx, lazy)
  }

  /** Ends the transaction with the response, whose body reads rows. */
  private async streamOn(ctx: Context, lazy: LazyTransaction, body: Readable): Promise<void> {
    // Streams use at most half of the connections, so that other requests do not wait for slow clients.
    if (this.streams >= Math.max(1, Math.floor(this.database.pool / 2))) {
      await rollback(ctx, lazy)
      throw new ServiceUnavailable(`${this.streams} responses already stream rows of the database.`, 5)
    }
    // The callbacks of `ctx.afterCommit` run when the transaction has been committed.
    const rows = await lazy.streamOn(() => runHooks(ctx, lazy))
    // Most bodies that read from another stream do not notice that it has failed.
    rows.once('error', (error) => body.destroy(error))
    // Nobody reads the body.
    if (ctx.method === 'HEAD' || ctx.res.closed) return rollback(ctx, lazy)
    this.streams += 1
    ctx.res.once('close', () => {
      this.streams -= 1
      void rollback(ctx, lazy)
    })
  }
}

/** Creates the transaction of a request. It begins with the first query. */
function lazyTransaction(
  ctx: Context,
  database: Database,
  {
    isolation,
    replica,
    idleLimit = environmentOf(ctx) === 'development' ? 100 : Infinity,
  }: TransactionOptions,
  { count, start }: Attempt,
  choice: ServerChoice | undefined,
): LazyTransaction {
  // On SQLite a transaction that has read cannot always write, so a retry first waits for the write lock.
  const mode = SAFE_METHODS.includes(ctx.method) && count === 0 ? 'read' : 'write'
  return new LazyTransaction(database, mode, {
    isolation,
    replica,
    open: choice && ((primary, begin) => choice.open(primary, begin)),
    waited: performance.now() - start,
    maxWait: Math.max(maxDuration, database.acquireTimeout),
    isAbandoned: () => ctx.req.socket.destroyed,
    onLost: (error) => ctx.log.error(error, 'database work that the request did not await has failed'),
    attempt: count,
    onIdle: idleLimit < Infinity ? (idle) => warnOfIdle(ctx, idle, idleLimit) : undefined,
  })
}

/** The secrets that encrypt positions: those of the sessions, or without any, of the environment. */
function secretsOf(ctx: Context): readonly string[] {
  const { keys } = ctx.app
  return Array.isArray(keys) ? keys : secretsOfEnvironment(environmentOf(ctx))
}

/** Returns none if the environment has none: `replicas` need one, but a cluster works without. */
const secretsOfEnvironment = memoize((env): readonly string[] => {
  try {
    return sessionSecrets(undefined, env, 'The positions of replicas')
  } catch {
    return []
  }
})

/** Warns if a transaction was idle for longer than the limit, because others may wait for its locks. */
function warnOfIdle(ctx: Context, idle: number, limit: number): void {
  if (idle <= limit) return
  const handler = ctx.route?.handlerName ?? 'a handler'
  const ms = Math.round(idle)
  ctx.log.warn(
    { handler, ms },
    `${handler} left its transaction idle for ${ms} ms. ` +
      'Do slow work (hashes, mail, other services) before the first query or after the commit.',
  )
}

/**
 * Explains a failed commit. If its outcome is unknown, a repeatable request returns 503, because it can be
 * sent again whether or not it was committed.
 */
function explainCommit(ctx: Context, error: unknown): unknown {
  if (!(error instanceof OutcomeUnknown) || !isRepeatable(ctx)) return explainDatabaseError(error)
  return new ServiceUnavailable('The connection to the database was lost.', 5, { cause: error })
}

/**
 * Warns about pending migrations. They do not prevent the start, because a migration that removes a column or
 * a table runs after the last process of the previous release has ended.
 */
async function warnOfPending(database: Database, logger: Logger): Promise<void> {
  const names = await pendingMigrations(database)
  if (names.length > 0) logger.warn(new PendingMigrations(names).message)
}

/** Rolls back. A failure is only logged, because the response is already an error. */
async function rollback(ctx: Context, lazy: LazyTransaction): Promise<void> {
  await lazy
    .rollback()
    .catch((error: unknown) => ctx.log.error(error, 'the transaction could not be rolled back'))
}

/** Rolls back after a response with a status from 400. It ends a stream of rows that the body waits for. */
async function rollbackResponse(ctx: Context, lazy: LazyTransaction): Promise<void> {
  const isUnread = lazy.isStreaming && ctx.body instanceof Readable
  await rollback(ctx, lazy)
  if (isUnread) throw new RowsNotRead()
}

/** Runs the callbacks of `ctx.afterCommit`. A failure is only logged, after the commit. */
async function runHooks(ctx: Context, { hooks }: LazyTransaction): Promise<void> {
  for (const hook of hooks)
    try {
      await hook()
    } catch (error) {
      ctx.log.error(error, 'a callback after the commit failed')
    }
}
