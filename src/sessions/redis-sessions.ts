import { SessionStoreUnreachable } from '../errors.js'
import { Redis, type IoRedisClient, type NodeRedisClient } from '../common/redis.js'
import { readSession, type KeepOptions, type SessionData, type SessionStore } from './session-store.js'

/** The options of `redisSessions()`. */
export interface RedisSessionsOptions {
  /** The prefix of the keys (`session:`). It lets several applications share one Redis. */
  prefix?: string
  /** Milliseconds that Redis has to respond (2000). */
  timeout?: number
}

/**
 * Keeps sessions in Redis, which deletes them when they expire. The application installs the package `redis` or
 * `ioredis`. A client that is not connected yet is connected at the start and closed at the end.
 *
 * @example
 * const redis = createClient({ url: process.env['REDIS_URL'] })
 * const app = new App({ sessionName: '_blog_session', sessionStore: redisSessions(redis) })
 */
export function redisSessions(
  client: NodeRedisClient | IoRedisClient,
  options: RedisSessionsOptions = {},
): SessionStore {
  return new RedisSessions(client, options)
}

class RedisSessions implements SessionStore {
  private readonly redis: Redis
  private readonly prefix: string

  constructor(
    client: NodeRedisClient | IoRedisClient,
    { prefix = 'session:', timeout = 2000 }: RedisSessionsOptions,
  ) {
    this.redis = new Redis(client, timeout, 'session store')
    this.prefix = prefix
  }

  async get(id: string): Promise<SessionData | undefined> {
    const text = await this.redis.send('GET', this.prefix + id)
    return typeof text === 'string' ? readSession(text) : undefined
  }

  async set(id: string, data: SessionData, { maxAge, isNew }: KeepOptions): Promise<boolean> {
    const expiry = ['PX', String(Math.max(1, Math.round(maxAge)))]
    // A session that is not new and no longer exists has been ended.
    const condition = isNew ? 'NX' : 'XX'
    const reply = await this.redis.send('SET', this.prefix + id, JSON.stringify(data), ...expiry, condition)
    return reply !== null
  }

  async destroy(id: string): Promise<void> {
    await this.redis.send('DEL', this.prefix + id)
  }

  /** @throws SessionStoreUnreachable when Redis does not respond */
  async start(): Promise<void> {
    await this.redis.start().catch((error: unknown) => {
      throw new SessionStoreUnreachable(error)
    })
  }

  stop(): Promise<void> {
    return this.redis.stop()
  }
}
