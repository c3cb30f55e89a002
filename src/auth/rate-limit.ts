import { createHash } from 'node:crypto'
import type { Next } from 'koa'
import type { Logger } from 'pino'
import {
  checkNumbers,
  clientNetwork,
  type Duration,
  hasTransaction,
  milliseconds,
  outsideTransaction,
  PerRequest,
  TooManyRequests,
  WaitsForItself,
  workerNumber,
} from '../extension.js'
import {
  DeclarationError,
  ServiceUnavailable,
  type Context,
  type Middleware,
  type MiddlewareDescription,
} from '../index.js'
import { logAccess } from './access-log.js'
import { currentUser } from './current-user.js'
import { MemoryLimits } from './stores/memory-limits.js'
import type { LimitCount, LimitStore } from './stores/limit-store.js'

/** The options of `rateLimit()`. */
export interface RateLimitOptions {
  /** The number of requests that are allowed within the time. */
  to: number
  /** The time window, which begins with the first request: `'3 minutes'`. */
  within: Duration
  /**
   * Returns the key of a request. Requests with the same key are counted together. By default the key is the
   * client's address (of an IPv6 address, its /64 network). If it returns undefined, the request is not
   * limited.
   */
  by?: (ctx: Context) => string | undefined
  /** Whether only failures count: a response below 400 is not counted (false). */
  failures?: boolean
  /**
   * The name of the limit, which a limit with a `store` needs. Limits with the same name and store share
   * their counts. Without a store, each limit has its own name by default.
   */
  name?: string
  /** Stores the counts: `databaseLimits(database)`, `redisLimits(client)`, by default this process. */
  store?: LimitStore
  /** If the store fails: requests pass, or are rejected with 503 (`pass`). */
  ifStoreFails?: 'pass' | 'reject'
}

/** The middleware of `rateLimit()`. */
export interface RateLimit extends Middleware {
  /** Resets the count of a key that `by` returns, for example of an account whose password was reset. */
  reset(key: string): Promise<void>
}

let limitCount = 0

/**
 * Limits how many requests a client may send within a time window. A request is counted before its handler
 * runs, outside of its transaction, so a rollback does not undo the count. Further requests return 429 with
 * `Retry-After`. All responses have the headers `RateLimit` and `RateLimit-Policy`.
 *
 * @example
 * app.use(rateLimit({ to: 100, within: '1 minute' }))
 * @throws DeclarationError when `to`, `within` or `name` is wrong, or when a limit with a `store` has no name
 * @throws TooManyRequests (429) in a request; ServiceUnavailable (503) when the store fails and
 *   `ifStoreFails` is `reject`
 */
export function rateLimit(options: RateLimitOptions): RateLimit {
  checkNumbers('rateLimit()', options, { to: {} })
  limitCount += 1
  checkName(options)
  const limit = new Limit({ ...options }, options.name ?? `limit-${limitCount}`)
  const rateLimit = (ctx: Context, next: Next) => limit.handle(ctx, next)
  return Object.assign(rateLimit, {
    beforeBody: limit.beforeBody,
    openapi: description,
    reset: (key: string) => limit.reset(key),
    extension: limit,
  })
}

/** A limit, and the requests that it has counted. */
class Limit {
  private readonly store: LimitStore
  /** The `by` function may read the body, so the limit then runs after the body. */
  readonly beforeBody: boolean
  private readonly window: number
  private readonly isCounted = new PerRequest<boolean>()

  constructor(
    private readonly options: RateLimitOptions,
    // Not `name`, by which the application finds extensions.
    private readonly label: string,
  ) {
    this.store = options.store ?? new MemoryLimits()
    this.beforeBody = options.by === undefined
    this.window = milliseconds(options.within)
  }

  async start(logger: Logger, env: string): Promise<void> {
    const isShared = env === 'production' || workerNumber() !== undefined
    if (this.store instanceof MemoryLimits && isShared) logger.warn(describeMemoryStore(this.label))
    await this.store.start?.()
  }

  async stop(): Promise<void> {
    await this.store.stop?.()
  }

  reset(key: string): Promise<void> {
    return this.store.reset(this.hashKey(key))
  }

  async handle(ctx: Context, next: Next): Promise<void> {
    const { by, failures } = this.options
    const key = by ? by(ctx) : clientNetwork(ctx.ip)
    if (key === undefined) return next()
    const hash = this.hashKey(key)
    // A request that is retried after a conflict is counted once. The value is false if the store has failed.
    if (!this.isCounted.has(ctx)) await this.countRequest(ctx, hash)
    await next()
    if (failures && this.isCounted.get(ctx) && ctx.status < 400) await this.decrement(ctx, hash)
  }

  private async countRequest(ctx: Context, hash: string): Promise<void> {
    const result = await this.callStore(ctx, () => this.store.increment(hash, this.window))
    this.isCounted.set(ctx, result !== undefined)
    if (result) this.rejectExcess(ctx, result)
  }

  private rejectExcess(ctx: Context, { count, milliseconds: remaining }: LimitCount): void {
    const { to } = this.options
    const seconds = Math.max(1, Math.ceil(remaining / 1000))
    ctx.append('RateLimit-Policy', `"${this.label}";q=${to};w=${Math.ceil(this.window / 1000)}`)
    ctx.append('RateLimit', `"${this.label}";r=${Math.max(0, to - count)};t=${seconds}`)
    if (count <= to) return
    logAccess(ctx, 'rate_limited', currentUser(ctx))
    throw new TooManyRequests(seconds)
  }

  /**
   * Subtracts a request from its count after the commit, and before the response, so that the client's next
   * request is counted right. Before the commit, a store in the database would wait for the request's own
   * transaction. A limit before the body has no commit to wait for: it runs outside of the transaction.
   */
  private async decrement(ctx: Context, hash: string): Promise<void> {
    const work = () => this.callStore(ctx, () => this.store.decrement(hash), 'pass')
    if (!this.beforeBody && hasTransaction(ctx)) ctx.afterCommit(work)
    else await work()
  }

  /** Calls the store. If it fails, returns undefined, or throws ServiceUnavailable (503) with `reject`. */
  private async callStore<T>(
    ctx: Context,
    work: () => Promise<T>,
    onFailure = this.options.ifStoreFails,
  ): Promise<T | undefined> {
    try {
      return await outsideTransaction(ctx, `rateLimit() "${this.label}"`, work)
    } catch (cause) {
      // Not a failure of the store, but a mistake of the application.
      if (cause instanceof WaitsForItself) throw cause
      if (onFailure === 'reject')
        throw new ServiceUnavailable('The store of rate limits does not respond.', 5, { cause })
      ctx.log.error({ err: cause }, 'the store of rate limits failed, so the request was not counted')
      return undefined
    }
  }

  /** Hashes a key, so that the store contains neither addresses nor accounts. */
  private hashKey(key: string): string {
    return createHash('sha256')
      .update(JSON.stringify([this.label, key]))
      .digest('base64url')
  }
}

function checkName({ name, store }: RateLimitOptions): void {
  if (name === undefined && store)
    throw new DeclarationError(
      'A rateLimit() with a store has no name. Add one, such as `name: "sign-in by client"`: the store counts by it, ' +
        'and a default name would change with the order of the limits.',
    )
  // The headers contain it between quotes.
  if (name !== undefined && !/^[ !#-[\]-~]+$/.test(name))
    throw new DeclarationError(
      `The name of rateLimit() is ${JSON.stringify(name)}. Use ASCII without quotes and backslashes.`,
    )
}

/** The part of the OpenAPI document that each limit adds. */
const description: MiddlewareDescription = {
  responses: {
    429: {
      description: 'There were too many requests',
      headers: { 'Retry-After': { description: 'The seconds until the next request', required: true } },
    },
  },
  headers: {
    RateLimit: { description: 'The requests that are left, and the seconds until the limit is reset' },
    'RateLimit-Policy': { description: 'The requests that the limit allows' },
  },
}

function describeMemoryStore(name: string): string {
  return (
    `The rate limit "${name}" counts in the memory of each process, so each worker and each host allows as many requests. ` +
    'Give it a store: databaseLimits(database) or redisLimits(client).'
  )
}
