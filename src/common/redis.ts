import { setTimeout as delay } from 'node:timers/promises'
import { ServiceUnavailable } from '../errors.js'
import { checkNumbers, longestDelay } from './numbers.js'

/** A client of the `redis` package (node-redis), as `createClient()` makes it. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  readonly isReady: boolean
  connect(): Promise<unknown>
  close(): Promise<unknown>
  destroy(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  sendCommand(args: string[], options?: { abortSignal?: AbortSignal }): Promise<unknown>
}

/** A client of the `redis` package (node-redis) that finds its server by sentinels (`createSentinel()`). */
export interface NodeRedisSentinel extends Omit<NodeRedisClient, 'sendCommand' | 'destroy'> {
  destroy(): unknown
  /** The sentinel that it listens to. */
  getSentinelNode(): unknown
  sendCommand(isReadonly: boolean, args: string[], options?: { abortSignal?: AbortSignal }): Promise<unknown>
}

/** A client of Redis: of the `redis` package or `ioredis`. */
export type RedisClient = NodeRedisClient | NodeRedisSentinel | IoRedisClient

/** A client of the `ioredis` package, as `new Redis()` makes it, also with sentinels. */
export interface IoRedisClient {
  /** `wait`, `connecting`, `ready`, `reconnecting`, ... */
  readonly status: string
  connect(): Promise<unknown>
  quit(): Promise<unknown>
  disconnect(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  call(command: string, ...args: string[]): Promise<unknown>
}

/**
 * Sends commands to Redis, and waits for each reply until a timeout. If the client is not connected yet,
 * `start` connects it, and `stop` closes it.
 */
export class Redis {
  private readonly connection: RedisConnection
  /** Whether `start` has opened the connection, so that `stop` must close it. */
  private isOurs = false

  /**
   * @param timeout the milliseconds within which Redis must reply
   * @param purpose the use of Redis, for messages: `session store`
   */
  constructor(
    client: RedisClient,
    private readonly timeout: number,
    private readonly purpose: string,
  ) {
    checkNumbers(`the ${purpose}`, { timeout }, { timeout: { min: 1, max: longestDelay } })
    // Without a listener, a lost connection would end the process. Requests that need it fail, and are
    // logged.
    client.on('error', () => {})
    this.connection = 'call' in client ? ofIoRedis(client) : ofNodeRedis(client)
  }

  /** @throws ServiceUnavailable without a reply in time, or the client's error when it cannot connect */
  async start(): Promise<void> {
    try {
      this.isOurs = this.connection.isClosed
      if (this.isOurs) await this.withTimeout(this.connection.open())
      await this.send('PING')
    } catch (error) {
      if (this.isOurs) this.connection.giveUp()
      this.isOurs = false
      throw error
    }
  }

  async stop(): Promise<void> {
    if (this.isOurs) await this.withTimeout(this.connection.close()).catch(() => this.connection.giveUp())
    this.isOurs = false
  }

  /** @throws ServiceUnavailable (503) without a connection or a reply in time, or Redis's error */
  async send(...command: [string, ...string[]]): Promise<unknown> {
    if (this.connection.isLost) throw new ServiceUnavailable(`The ${this.purpose} does not respond.`, 5)
    return this.withTimeout(this.connection.send(command, AbortSignal.timeout(this.timeout)))
  }

  private async withTimeout<T>(work: Promise<T>): Promise<T> {
    const end = new AbortController()
    const timeout = delay(this.timeout, undefined, { signal: end.signal, ref: false }).then(() => {
      throw new ServiceUnavailable(`The ${this.purpose} did not respond within ${this.timeout} ms.`, 5)
    })
    try {
      return await Promise.race([work, timeout])
    } finally {
      // The promise that lost the race may still be rejected, which nobody handles otherwise.
      end.abort()
      timeout.catch(() => undefined)
      work.catch(() => undefined)
    }
  }
}

/** The common interface of the clients of both packages. */
interface RedisConnection {
  /** Whether `open` must be called before the first command. */
  readonly isClosed: boolean
  /** Whether a command would wait for a connection. For ioredis, the first one is awaited by `open`. */
  readonly isLost: boolean
  open(): Promise<unknown>
  close(): Promise<unknown>
  /** Closes the connection immediately, even while it is being opened. */
  giveUp(): void
  send(command: [string, ...string[]], signal: AbortSignal): Promise<unknown>
}

function ofNodeRedis(client: NodeRedisClient | NodeRedisSentinel): RedisConnection {
  return {
    get isClosed() {
      return !client.isOpen
    },
    get isLost() {
      return !client.isReady
    },
    open: () => client.connect(),
    close: () => client.close(),
    giveUp: () => client.destroy(),
    // The signal cancels a command that has not been sent when the timeout ends.
    send: (command, abortSignal) =>
      'getSentinelNode' in client
        ? client.sendCommand(false, command, { abortSignal })
        : client.sendCommand(command, { abortSignal }),
  }
}

function ofIoRedis(client: IoRedisClient): RedisConnection {
  return {
    get isClosed() {
      return client.status === 'wait' || client.status === 'end'
    },
    get isLost() {
      return ['reconnecting', 'close', 'end'].includes(client.status)
    },
    open: () => client.connect(),
    close: () => client.quit(),
    giveUp: () => client.disconnect(),
    send: ([command, ...args]) => client.call(command, ...args),
  }
}
