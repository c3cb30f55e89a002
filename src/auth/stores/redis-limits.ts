import { Redis } from '../../extension.js'
import type { RedisClient } from '../../index.js'
import type { LimitStore } from './limit-store.js'

/** The options of `redisLimits()`. */
export interface RedisLimitsOptions {
  /** The prefix of the keys (`limit:`). */
  prefix?: string
  /** The time in milliseconds within which Redis must respond (2000). */
  timeout?: number
}

/** Redis runs a script atomically. */
const increment = `
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {count, redis.call('PTTL', KEYS[1])}`

const decrement = `
if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
return 0`

/**
 * Keeps the counts of rate limits in Redis, for all processes of an application.
 *
 * @example rateLimit({ name: 'all pages', to: 100, within: '1 minute', store: redisLimits(redis) })
 */
export function redisLimits(
  client: RedisClient,
  { prefix = 'limit:', timeout = 2000 }: RedisLimitsOptions = {},
): LimitStore {
  const redis = new Redis(client, timeout, 'store of rate limits')
  return {
    async increment(key, window) {
      const time = String(Math.ceil(window))
      const reply: unknown = await redis.send('EVAL', increment, '1', prefix + key, time)
      const [count, remaining] = [reply].flat().map(Number)
      return { count: count ?? 1, milliseconds: Math.max(0, remaining ?? window) }
    },

    async decrement(key) {
      await redis.send('EVAL', decrement, '1', prefix + key)
    },

    async reset(key) {
      await redis.send('DEL', prefix + key)
    },

    start: () => redis.start(),
    stop: () => redis.stop(),
  }
}
