import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { DataSource, type DataSourceOptions } from 'typeorm'

/** Milliseconds for a connection, or for an answer before `ServerWatch` looks for another server. */
export const answerTimeout = 3000

/** The maximum age of a connection in milliseconds, so that changes of a load balancer reach each process. */
const maxAge = 15 * 60_000

/** The watched connections of all drivers. */
export const watchedConnections = new WeakMap<object, WatchedConnection>()

/** Notes that the framework has made the transaction of a driver's connection read-only. */
export function noteReadOnly(connection: object): void {
  const watched = watchedConnections.get(connection)
  if (watched) watched.isReadOnly = true
}

/** A connection of a pool. */
export class WatchedConnection {
  /** The server that it leads to: its address, and its start if that is known. */
  server = ''
  /** Whether the framework has made its transaction read-only. */
  isReadOnly = false
  /** When it must be closed, on the clock of the watch. The random part spreads the closings. */
  closesAt: number
  /** Since when the server owes an answer, if it owes one. */
  waitsSince = 0
  private unanswered = 0

  constructor(
    private readonly watch: ServerWatch,
    private readonly socket: Socket | undefined,
  ) {
    this.closesAt = watch.now() + maxAge * (1 - Math.random() / 5)
  }

  /** Whether it must not be used again. */
  get isOver(): boolean {
    return this.watch.now() >= this.closesAt
  }

  /** The milliseconds for which the server has owed an answer. */
  get silence(): number {
    return this.unanswered > 0 ? this.watch.now() - this.waitsSince : 0
  }

  /** Notes that a statement is sent. */
  sent(): void {
    if (this.unanswered === 0) this.waitsSince = this.watch.now()
    this.unanswered += 1
    this.watch.start()
  }

  /** Notes that a statement has ended. If the server refuses writes, the watch retires all connections. */
  answered(error?: unknown): void {
    this.unanswered -= 1
    this.waitsSince = this.watch.now()
    if (error && !this.isReadOnly && this.watch.refusesWrites(error)) this.watch.retire()
  }

  /** Closes it, so that its statements fail. */
  close(): void {
    this.closesAt = 0
    this.socket?.destroy()
  }
}

/**
 * Watches the server of a pool. After a failover, the address of the database leads to another server, while
 * open connections lead to the old one, which only reads or no longer answers.
 */
export class ServerWatch {
  private readonly connections = new Set<WatchedConnection>()
  /** When connections to each server were opened, first and last. */
  private readonly servers = new Map<string, { first: number; last: number }>()
  private timer: NodeJS.Timeout | undefined
  private isLooking = false
  /** The time of the last check, on the process's own clock, because it shows whether the timer was late. */
  private checkedAt = 0
  /** When this process was last too busy to read answers that had arrived. */
  private busyAt = 0

  /**
   * @param sql the query whose column `server` names the server
   * @param refusesWrites whether an error says that the server does not accept writes
   * @param now the clock, in milliseconds
   */
  constructor(
    private readonly dataSource: { options: DataSourceOptions },
    private readonly sql: string,
    readonly refusesWrites: (error: unknown) => boolean,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Watches a new connection until its socket is closed. */
  add(socket: Socket | undefined): WatchedConnection {
    const connection = new WatchedConnection(this, socket)
    this.connections.add(connection)
    socket?.once('close', () => this.connections.delete(connection))
    return connection
  }

  /** Notes the server that a new connection leads to. */
  noteServer(server: string): void {
    const now = this.now()
    const times = this.servers.get(server)
    // If it is not recent, all connections to this server have been closed since.
    const isRecent = times && times.last > now - maxAge
    this.servers.set(server, { first: isRecent ? times.first : now, last: now })
  }

  /** Retires the connections that are open now: only their running transactions may end. */
  retire(): void {
    for (const connection of this.connections) connection.closesAt = 0
  }

  /** Looks at the connections from now on, until none of them waits for an answer. */
  start(): void {
    if (this.timer) return
    this.checkedAt = performance.now()
    this.timer = setInterval(() => this.check(), answerTimeout / 6).unref()
  }

  private check(): void {
    const waiting = [...this.connections].filter(({ silence }) => silence > 0)
    const time = performance.now()
    // The timer was late, so this process may not have read answers that have arrived.
    if (time > this.checkedAt + answerTimeout / 2) {
      this.busyAt = time
      for (const connection of waiting) connection.waitsSince = this.now()
    }
    this.checkedAt = time
    if (waiting.some(({ silence }) => silence >= answerTimeout) && !this.isLooking)
      void this.closeLost(waiting)
    if (waiting.length > 0) return
    clearInterval(this.timer)
    this.timer = undefined
  }

  /** Finds the server of the address now. If silent connections lead elsewhere, closes them, retires all. */
  private async closeLost(waiting: readonly WatchedConnection[]): Promise<void> {
    this.isLooking = true
    const start = performance.now()
    const server = await this.find()
    this.isLooking = false
    // The answer to `find` may have arrived, too, but this process was busy.
    if (server === undefined && this.busyAt > start) return
    if (server !== undefined) this.noteServer(server)
    const isCurrent = (connection: WatchedConnection): boolean =>
      server !== undefined && this.areSame(connection.server, server)
    const lost = waiting.filter((connection) => connection.silence > 0 && !isCurrent(connection))
    for (const connection of waiting) connection.waitsSince = this.now()
    if (lost.length > 0) this.retire()
    for (const connection of lost) connection.close()
  }

  /** Whether two servers are the same, or a balancer leads to both by turns, to the old one again. */
  private areSame(old: string, current: string): boolean {
    const [before, after] = [this.servers.get(old), this.servers.get(current)]
    return old === current || (before !== undefined && after !== undefined && before.last > after.first)
  }

  /** Finds the server that a new connection leads to; undefined without an answer in time. */
  private async find(): Promise<string | undefined> {
    // pg and mysql2 have different names for the same option.
    const limits = { poolSize: 1, connectTimeoutMS: answerTimeout, connectTimeout: answerTimeout }
    const unused = { entities: [], migrations: [], subscribers: [], logging: false }
    // The options come from an existing DataSource.
    const source = new DataSource({ ...this.dataSource.options, ...unused, ...limits } as DataSourceOptions)
    const server = source
      .initialize()
      .then(() => source.query<{ server: string }[]>(this.sql))
      .finally(() => source.isInitialized && source.destroy())
      .then(([row]) => row?.server)
    return Promise.race([server.catch(() => undefined), delay(answerTimeout, undefined, { ref: false })])
  }
}
