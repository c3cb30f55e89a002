import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { createSentinel } from 'redis'
import { redisLimits } from '../../src/auth/index.js'
import { redisSessions } from '../../src/index.js'
import { startRedis, type RedisCluster } from './support/redis.js'

describe('Redis with sentinels', () => {
  let redis: RedisCluster

  before(async () => {
    redis = await startRedis()
  })

  after(() => redis?.remove())

  it('stores sessions and limits by createSentinel(), also after its server has been replaced', async () => {
    const client = createSentinel({ name: redis.name, sentinelRootNodes: redis.sentinels })
    const [sessions, limits] = [redisSessions(client), redisLimits(client)]
    await sessions.start?.()
    await limits.start?.()
    const keep = { maxAge: 60_000, isNew: true }
    await sessions.set('one', { content: { name: 'Ada' } }, keep)
    expect(await sessions.get('one')).to.deep.equal({ content: { name: 'Ada' } })
    expect((await limits.increment('one', 60_000)).count).to.equal(1)
    await redis.replicated(2)
    await redis.servers[0]?.stop('SIGKILL')
    // Requests fail until the sentinels have agreed on another one.
    while ((await limits.increment('two', 60_000).catch(() => undefined)) === undefined) await delay(100)
    expect(await sessions.get('one')).to.deep.equal({ content: { name: 'Ada' } })
    expect((await limits.increment('one', 60_000)).count).to.equal(2)
    await limits.stop?.()
    await sessions.stop?.()
  })
})
