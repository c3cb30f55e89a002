import type Koa from 'koa'
import type { Logger } from 'pino'
import type { Background, JobConstructor, JobContext } from '../background.js'
import type { Context } from '../context.js'
import { memoizeByObject } from '../common/memoize.js'
import type { Database } from '../database/database.js'
import { watchWaits } from '../database/engines/own-waits.js'
import { LazyTransaction } from '../database/transactions/lazy-transaction.js'
import { beginTransaction, transactionOf } from '../database/transactions/request-transaction.js'
import { logFields, setRequestLogger } from '../logging/request-logger.js'
import { localAddress } from '../server/port.js'
import type { Declarations } from '../routing/scope.js'
import { RequestQueries } from './request-queries.js'

/** Runs work without a request, such as jobs, with those members of the context that need no request. */
export class BackgroundWork implements Background {
  private readonly factoryOf = memoizeByObject((target: JobConstructor) =>
    this.declarations.injector.factory(target),
  )

  constructor(
    private readonly context: Koa['context'],
    private readonly logger: Logger,
    private readonly declarations: Declarations,
    readonly env: string,
  ) {}

  instantiate<T extends object>(
    target: JobConstructor<T>,
    job: JobContext,
    work: (instance: T) => unknown,
  ): unknown {
    // The cast is correct, because `begin` has derived the job from a context.
    return this.factoryOf(target)(job as Context & JobContext, work as (instance: object) => unknown)
  }

  begin(
    database: Database,
    job: Pick<JobContext, 'id' | 'name' | 'attempt' | 'signal' | 'requestId'>,
    fields: object,
  ): { job: JobContext; transaction: LazyTransaction } {
    const { env, context } = this
    const ctx: Context = Object.create(
      context,
      Object.getOwnPropertyDescriptors({ ...requestSubstitutes(), env, ...job }),
    )
    setRequestLogger(ctx, this.logger)
    logFields(ctx, fields)
    const transaction = new LazyTransaction(database, 'write', {
      onLost: (error) => ctx.log.error(error, 'database work that the job did not await has failed'),
      // Transactions count the attempts before this one.
      attempt: job.attempt - 1,
    })
    beginTransaction(ctx, transaction)
    return { job: ctx as Context & JobContext, transaction }
  }

  async around(job: JobContext, fields: object, run: () => Promise<void>): Promise<void> {
    const hooks = [...this.declarations.extensions.keys()].flatMap((it) => it.aroundJob?.bind(it) ?? [])
    const watched = (): Promise<void> => {
      const transaction = transactionOf(job)
      return this.env === 'production' || !transaction ? run() : watchWaits(transaction, run)
    }
    const all = hooks.reduceRight<() => Promise<void>>((next, hook) => () => hook(job, next), watched)
    if (this.env !== 'development') return all()
    const queries = new RequestQueries(job as Context & JobContext)
    try {
      await queries.collect(all)
    } finally {
      Object.assign(fields, queries.fields)
      queries.warn(`the job ${job.name}`)
    }
  }
}

/** Substitutes for the members of a request that a job lacks, but that the members of its context use. */
function requestSubstitutes(): object {
  return {
    state: {},
    params: {},
    route: undefined,
    method: 'JOB',
    url: '/',
    protocol: 'http',
    // For `ctx.urlFor` in development, when `BASE_URL` is not set.
    host: new URL(localAddress()).host,
    pathKeys: undefined,
    set: () => undefined,
    vary: () => undefined,
    // A page in a job has no messages, and its forms have no token.
    takeFlash: () => [],
    csrfToken: undefined,
    // Policies do not apply, and no body has files. `job.bind` copies objects.
    scopeFor: () => undefined,
    noteWrite: () => Promise.resolve(),
    noteMove: () => Promise.resolve(),
    noteFound: () => undefined,
    reportRejectedFiles: () => undefined,
  }
}
