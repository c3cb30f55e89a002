import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from 'mocha'
import { createClient } from 'redis'
import { freePort } from './free-port.js'

/** The url of Redis, unless the environment has another one. */
export const redisUrl = process.env['KIT_REDIS_URL'] || 'redis://127.0.0.1:6379'

/** Skips a spec if Redis does not respond, unless everything is required. */
export async function needRedis(context: Context): Promise<void> {
  if (process.env['KIT_REQUIRE_ALL'] === '1' || (await responds(redisUrl))) return
  console.log(`      Redis does not respond on ${redisUrl}: left out`)
  context.skip()
}

/** A Redis for one spec, on a free port, that can be stopped and started again. It stores nothing on disk. */
export class OwnRedis {
  private child: ChildProcess | undefined

  private constructor(private readonly port: number) {}

  static async start(): Promise<OwnRedis> {
    const own = new OwnRedis(await freePort())
    await own.start()
    return own
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const settings = ['--port', String(this.port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    this.child = spawn('redis-server', settings, { stdio: 'ignore' })
    for (let tries = 0; !(await responds(this.url)); tries++) {
      if (tries === 100) throw new Error('redis-server does not start')
      await delay(50)
    }
  }

  async stop(): Promise<void> {
    if (!this.child) return
    const ended = once(this.child, 'close')
    this.child.kill('SIGKILL')
    await ended
    this.child = undefined
  }
}

async function responds(url: string): Promise<boolean> {
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 1000 } })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.ping()
    await client.close()
    return true
  } catch {
    return false
  }
}
