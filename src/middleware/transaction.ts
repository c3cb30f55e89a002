import type { Next } from 'koa'
import type { IsolationLevel } from 'typeorm/driver/types/IsolationLevel.js'
import type { Context, Middleware } from '../context.js'
import type { Database } from '../data/database.js'
import { checkBeforeCommit } from '../data/before-commit.js'
import { explainDatabaseError } from '../data/database-errors.js'
import { explainMissingTable, pendingMigrations } from '../data/pending-migrations.js'
import { LazyTransaction } from '../data/lazy-transaction.js'
import { guardUnawaited } from '../data/work-under-way.js'
import { currentEnvironment } from '../environment.js'
import { PendingMigrations } from '../errors.js'

/** How the transactions of requests are. */
export interface TransactionOptions {
  /** The isolation level, where it is not to be the engine's own. */
  isolation?: IsolationLevel
  /** Whether requests are refused while migrations have not been run. By default in development. */
  checksMigrations?: boolean
}

/** The methods that only read: their transactions wait for no writer. */
const READING = ['GET', 'HEAD', 'OPTIONS']

/**
 * Gives every request a transaction, `ctx.tx`. It begins with the request's first query, is committed when the handler
 * ends with a status below 400, before the answer leaves, and is rolled back otherwise.
 *
 * Work with the database that the handler has not waited for is an error, and nothing of the request is kept. What of
 * it fails later is logged.
 *
 * @throws PendingMigrations when migrations have not been run yet; where it is not checked before, when a table is missing
 * @throws what the commit says, explained: a request whose transaction can not be committed has not succeeded
 * @throws NotAwaited when work is still under way
 */
export function transaction(database: Database, options: TransactionOptions = {}): Middleware {
  const checksMigrations = options.checksMigrations ?? currentEnvironment() === 'development'
  let pending: string[] = []

  async function transaction(ctx: Context, next: Next): Promise<void> {
    if (pending.length > 0) {
      pending = await pendingMigrations(database)
      if (pending.length > 0) throw new PendingMigrations(pending)
    }
    const mode = READING.includes(ctx.method) ? 'slave' : 'master'
    const onLost = (error: unknown): void =>
      ctx.log.error(error, 'work of this request with the database has failed, and nobody waited for it')
    const lazy = new LazyTransaction(database, mode, { isolation: options.isolation, onLost })
    const hooks: (() => unknown)[] = []
    // The prototype of the context has a getter of this name, which an assignment would not get past.
    Object.defineProperty(ctx, 'tx', { value: lazy.manager, configurable: true })
    Object.defineProperty(ctx, 'afterCommit', {
      value: (hook: () => unknown) => hooks.push(hook),
      configurable: true,
    })
    try {
      await next()
      if (ctx.status < 400) await checkBeforeCommit(ctx)
    } catch (error) {
      await rollback(ctx, lazy)
      throw explainDatabaseError(await explainMissingTable(database, error))
    }
    if (ctx.status >= 400) return rollback(ctx, lazy)
    await lazy.commit().catch((error: unknown) => {
      throw explainDatabaseError(error)
    })
    for (const hook of hooks) await run(ctx, hook)
  }

  let unguard: (() => void) | undefined
  return Object.assign(transaction, {
    start: async () => {
      unguard ??= guardUnawaited()
      await database.open()
      if (checksMigrations) pending = await pendingMigrations(database)
    },
    stop: async () => {
      await database.close()
      unguard?.()
      unguard = undefined
    },
    check: () => database.check(),
  })
}

/** The answer is an error already: that the rollback fails, too, is a matter of the log. */
async function rollback(ctx: Context, lazy: LazyTransaction): Promise<void> {
  await lazy
    .rollback()
    .catch((error: unknown) => ctx.log.error(error, 'the transaction could not be rolled back'))
}

/** What is committed stays committed, whatever happens to the work after it. */
async function run(ctx: Context, hook: () => unknown): Promise<void> {
  try {
    await hook()
  } catch (error) {
    ctx.log.error(error, 'the work after the commit failed')
  }
}
