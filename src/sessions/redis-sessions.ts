import { SessionStoreUnreachable } from '../errors.js'
import { Redis, type RedisClient } from '../common/redis.js'
import { readSession, type SessionStore } from './session-store.js'

/** The options of `redisSessions()`. */
export interface RedisSessionsOptions {
  /** The prefix of the keys (`session:`). It lets several applications share one Redis. */
  prefix?: string
  /** Milliseconds that Redis has to respond (2000). */
  timeout?: number
}

/**
 * Keeps sessions in Redis, which deletes them when they expire. The application installs the `redis` package
 * or `ioredis`. A client that is not connected yet is connected at the start and closed at the end.
 *
 * @example
 * const redis = createClient({ url: process.env['REDIS_URL'] })
 * const app = new App({ sessionName: '_blog_session', sessionStore: redisSessions(redis) })
 */
export function redisSessions(
  client: RedisClient,
  { prefix = 'session:', timeout = 2000 }: RedisSessionsOptions = {},
): SessionStore {
  const redis = new Redis(client, timeout, 'session store')
  return {
    async get(id) {
      const text = await redis.send('GET', prefix + id)
      return typeof text === 'string' ? readSession(text) : undefined
    },

    async set(id, data, { maxAge, isNew }) {
      // Redis rejects an expiry of 0 milliseconds.
      const expiry = ['PX', String(Math.max(1, Math.round(maxAge)))]
      // A session that is not new and no longer exists has been ended.
      const condition = isNew ? 'NX' : 'XX'
      return (await redis.send('SET', prefix + id, JSON.stringify(data), ...expiry, condition)) !== null
    },

    async destroy(id) {
      await redis.send('DEL', prefix + id)
    },

    start: () =>
      redis.start().catch((error: unknown) => {
        throw new SessionStoreUnreachable(error)
      }),
    stop: () => redis.stop(),
  }
}
