import type { Next } from 'koa'
import type { Logger } from 'pino'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import type { Context, Middleware } from '../context.js'
import type { Database } from '../data/database.js'
import { checkBeforeCommit } from '../data/transactions/before-commit.js'
import { explainDatabaseError } from '../data/database-errors.js'
import { explainMissingTable, pendingMigrations } from '../data/migrations/pending.js'
import { LazyTransaction } from '../data/transactions/lazy-transaction.js'
import { beginTransaction } from '../data/transactions/request-transaction.js'
import { guardUnawaited } from '../data/transactions/pending-work.js'
import { environmentOf } from '../environment.js'
import { OutcomeUnknown, PendingMigrations, ServiceUnavailable } from '../errors.js'
import { IDEMPOTENT, READING } from '../methods.js'
import { retrying, type RepeatOptions } from './retrying.js'

/** The options of `transaction()`. */
export interface TransactionOptions extends RepeatOptions {
  /** The isolation level. By default it is that of the engine. */
  isolation?: IsolationLevel
  /** Whether requests are rejected while migrations are pending. By default in development. */
  checksMigrations?: boolean
  /** Milliseconds after which a transaction that is open and runs no statement is logged. By default 100 in development. */
  idleLimit?: number
}

/**
 * Gives every request a transaction, `ctx.tx`. It begins with the request's first query. It is committed before the
 * response is sent if the handler ends with a status below 400, and rolled back otherwise.
 *
 * If the transaction conflicts with another one (a deadlock, a serialization failure), the request is retried if that is
 * safe: the middleware below and the handler run again, and nothing remains of the first attempt.
 *
 * A request whose client has closed the connection before the transaction began ends with its first query.
 *
 * Queries that the handler did not await are an error, and the transaction is rolled back. If such a query fails later, the
 * failure is logged.
 *
 * @throws PendingMigrations when migrations are pending; if that is not checked before, when a table is missing
 * @throws the error of the commit, explained: a request whose transaction cannot be committed has failed
 * @throws NotAwaited when queries are still running
 * @throws TransactionConflict when the transaction conflicted with another one, and the request may not be retried (again)
 * @throws OutcomeUnknown when the connection is lost during the commit
 */
export function transaction(database: Database, options: TransactionOptions = {}): Middleware {
  let pending: string[] = []

  async function transaction(ctx: Context, next: Next): Promise<void> {
    if (pending.length > 0) {
      pending = await pendingMigrations(database)
      if (pending.length > 0) throw new PendingMigrations(pending)
    }
    return retrying(ctx, options, (time) => once(ctx, next, time))
  }

  /** Runs the middleware below and the handler in a transaction. */
  async function once(ctx: Context, next: Next, time: number): Promise<void> {
    // On SQLite a transaction that reads cannot always write. The second attempt waits for the write lock before it reads.
    const mode = READING.includes(ctx.method) && time === 0 ? 'slave' : 'master'
    const onLost = (error: unknown): void =>
      ctx.log.error(error, 'database work that the request did not await has failed')
    const isAbandoned = (): boolean => ctx.req.socket.destroyed
    const { isolation } = options
    const idleLimit = options.idleLimit ?? (environmentOf(ctx) === 'development' ? 100 : Infinity)
    const onIdle = idleLimit < Infinity ? (time: number) => warnOfIdle(ctx, time, idleLimit) : undefined
    const lazy = new LazyTransaction(database, mode, { isolation, isAbandoned, onLost, onIdle })
    const hooks: (() => unknown)[] = []
    beginTransaction(ctx, { manager: lazy.manager, hooks, configure: (begin) => lazy.configure(begin) })
    try {
      await next()
      if (ctx.status < 400) await checkBeforeCommit(ctx)
    } catch (error) {
      await rollback(ctx, lazy)
      throw explainDatabaseError(
        await explainMissingTable(database, error),
        undefined,
        database.entityMetadatas,
      )
    }
    if (ctx.status >= 400) return rollback(ctx, lazy)
    await lazy.commit().catch((error: unknown) => {
      throw explainCommit(ctx, error)
    })
    for (const hook of hooks) await run(ctx, hook)
  }

  let unguard: (() => void) | undefined
  return Object.assign(transaction, {
    callsAgain: true,
    start: async (logger: Logger, env: string) => {
      unguard ??= guardUnawaited()
      await database.open()
      if (options.checksMigrations ?? env === 'development') pending = await pendingMigrations(database)
      else if (env !== 'test') await warnOfPending(database, logger)
    },
    stop: async () => {
      await database.close()
      unguard?.()
      unguard = undefined
    },
    check: () => database.check(),
  })
}

/** Logs a transaction that was open while its handler did something else: others wait for its locks meanwhile. */
function warnOfIdle(ctx: Context, time: number, limit: number): void {
  if (time <= limit) return
  const handler = ctx.route?.handlerName ?? 'a handler'
  const ms = Math.round(time)
  ctx.log.warn(
    { handler, ms },
    `${handler} left its transaction idle for ${ms} ms. ` +
      'Do slow work (hashes, mail, other services) before the first query or after the commit.',
  )
}

/** Explains a failed commit. An idempotent request can be sent again, whether or not the first one was committed. */
function explainCommit(ctx: Context, error: unknown): unknown {
  if (!(error instanceof OutcomeUnknown) || !IDEMPOTENT.includes(ctx.method))
    return explainDatabaseError(error)
  return new ServiceUnavailable('The connection to the database was lost.', 5, { cause: error })
}

/**
 * Warns about pending migrations. They do not stop the start, because migrations that remove something are run after the
 * last process of the previous release has ended.
 */
async function warnOfPending(database: Database, logger: Logger): Promise<void> {
  const names = await pendingMigrations(database)
  if (names.length > 0) logger.warn(new PendingMigrations(names).message)
}

/** The response is already an error, so a failed rollback is only logged. */
async function rollback(ctx: Context, lazy: LazyTransaction): Promise<void> {
  await lazy
    .rollback()
    .catch((error: unknown) => ctx.log.error(error, 'the transaction could not be rolled back'))
}

/** The commit stays valid, even if a callback after it fails. */
async function run(ctx: Context, hook: () => unknown): Promise<void> {
  try {
    await hook()
  } catch (error) {
    ctx.log.error(error, 'a callback after the commit failed')
  }
}
