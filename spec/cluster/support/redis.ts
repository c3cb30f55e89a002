import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from 'redis'
import { freePort } from '../../support/servers/free-port.js'
import { Daemon, folderOf, writeFor } from './daemon.js'
import { PROGRAMS } from './programs.js'

const user = 'nobody'

/** A Redis, its replica, and three sentinels that replace the first one when it is gone. */
export interface RedisCluster {
  /** The name under which the sentinels know it. */
  name: string
  sentinels: { host: string; port: number }[]
  /** Resolves when the replica has this many keys. */
  replicated(keys: number): Promise<void>
  /** The two servers, the first primary first. */
  servers: Daemon[]
  remove(): Promise<void>
}

/** Starts a Redis with a replica and sentinels. */
export async function startRedis(): Promise<RedisCluster> {
  const [primary, replica] = [await freePort(), await freePort()]
  const servers = [server(primary), server(replica, ['--replicaof', '127.0.0.1', String(primary)])]
  for (const one of servers) await one.start()
  const ports = [await freePort(), await freePort(), await freePort()]
  const sentinels = ports.map((port) => sentinel(port, primary))
  for (const one of sentinels) await one.start()
  return {
    name: 'main',
    sentinels: ports.map((port) => ({ host: '127.0.0.1', port })),
    servers,
    async replicated(keys) {
      const client = await createClient({ socket: { port: replica, host: '127.0.0.1' } }).connect()
      while ((await client.dbSize()) < keys) await delay(20)
      client.destroy()
    },
    async remove() {
      for (const daemon of [...sentinels, ...servers]) await daemon.remove()
    },
  }
}

function server(port: number, more: readonly string[] = []): Daemon {
  const options = [
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--save',
    '',
    '--repl-diskless-sync-delay',
    '0',
  ]
  return daemon(port, PROGRAMS.redis, folderOf(user), [...options, ...more])
}

function sentinel(port: number, primary: number): Daemon {
  const folder = folderOf(user)
  const file = join(folder, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor main 127.0.0.1 ${primary} 2`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 3000',
  ]
  // It writes what it learns into its file.
  writeFor(user, file, `${lines.join('\n')}\n`)
  return daemon(port, PROGRAMS.sentinel, folder, [file])
}

function daemon(port: number, program: string, folder: string, args: readonly string[]): Daemon {
  return new Daemon({ program, args, user, folder, isReady: () => responds(port) })
}

async function responds(port: number): Promise<boolean> {
  const client = createClient({ socket: { port, host: '127.0.0.1', reconnectStrategy: false } })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.ping()
    return true
  } catch {
    return false
  } finally {
    if (client.isOpen) client.destroy()
  }
}
