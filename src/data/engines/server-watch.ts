import type { Socket } from 'node:net'
import { DataSource, type DataSourceOptions } from 'typeorm'

/** Milliseconds after which the server of a statement, or of a new connection, is looked for again. */
export const serverPatience = 3000

/** Milliseconds that a connection lives, less a random share of a fifth: changes of a balancer reach each process. */
const maxAge = 15 * 60_000

/** A connection of a pool. */
export class WatchedConnection {
  /** The server that it leads to: its address, and its start if that is known. */
  server: string | undefined
  /** Whether its transaction is one that the framework has made read-only. */
  isReadOnly = false
  /** The statements without an answer. */
  private waiting = 0
  private since = 0

  constructor(
    private readonly watch: ServerWatch,
    private readonly socket: Socket | undefined,
    /** When it has to be closed, on the clock of the watch. */
    public closesAt: number,
  ) {}

  /** Whether it must not be used again. */
  get isOver(): boolean {
    return this.watch.now() >= this.closesAt
  }

  /** A statement is sent. */
  sent(): void {
    this.waiting += 1
    if (this.waiting === 1) this.since = this.watch.now()
    this.watch.start()
  }

  /** A statement has ended. */
  answered(error?: unknown): void {
    this.waiting -= 1
    this.since = this.watch.now()
    if (error && !this.isReadOnly && this.watch.refusesWrites(error)) this.watch.retire()
  }

  /** The milliseconds for which the server has not answered. */
  get silence(): number {
    return this.waiting > 0 ? this.watch.now() - this.since : 0
  }

  /** Its server is there and works on the statement. */
  wait(): void {
    this.since = this.watch.now()
  }

  /** Closes it, so that its statements fail. */
  close(): void {
    this.closesAt = 0
    this.socket?.destroy()
  }
}

/** The part of an engine that a watch needs. */
export interface Watching {
  /** The query whose column `server` names the server. */
  sql: string
  /** Whether an error says that the server does not accept writes. */
  refusesWrites(error: unknown): boolean
}

/**
 * Watches the server of a pool. After a failover, the address of the database leads to another server, while open connections
 * lead to the old one, which only reads or no longer answers. It costs two assignments for each statement.
 */
export class ServerWatch {
  private readonly connections = new Set<WatchedConnection>()
  /** When new connections led to each server, first and last. */
  private readonly servers = new Map<string, { first: number; last: number }>()
  private timer: NodeJS.Timeout | undefined
  private isLooking = false

  /** @param now the clock, in milliseconds */
  constructor(
    private readonly dataSource: { options: DataSourceOptions },
    private readonly engine: Watching,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Watches a new connection until its socket is closed. */
  add(socket: Socket | undefined): WatchedConnection {
    const connection = new WatchedConnection(this, socket, this.now() + maxAge * (1 - Math.random() / 5))
    this.connections.add(connection)
    socket?.once('close', () => this.connections.delete(connection))
    return connection
  }

  /** Notes the server that a new connection leads to. */
  found(server: string): void {
    const now = this.now()
    const known = this.servers.get(server)
    if (known && known.last > now - maxAge) known.last = now
    else this.servers.set(server, { first: now, last: now })
  }

  /** Whether an error says that the server does not accept writes. */
  refusesWrites(error: unknown): boolean {
    return this.engine.refusesWrites(error)
  }

  /** Lets no connection that is open now be used again. Transactions that run may end. */
  retire(): void {
    for (const connection of this.connections) connection.closesAt = 0
  }

  /** Looks for silent connections from now on, until there is nothing to wait for. */
  start(): void {
    this.timer ??= setInterval(() => this.check(), serverPatience / 6).unref()
  }

  private check(): void {
    const waiting = [...this.connections].filter(({ silence }) => silence > 0)
    if (waiting.length === 0) {
      clearInterval(this.timer)
      this.timer = undefined
    } else if (!this.isLooking && waiting.some(({ silence }) => silence >= serverPatience)) {
      void this.look(waiting)
    }
  }

  /** Finds the server to which the address leads now, and closes the connections to another one. */
  private async look(waiting: readonly WatchedConnection[]): Promise<void> {
    this.isLooking = true
    const server = await this.find().catch(() => undefined)
    this.isLooking = false
    if (server !== undefined) this.found(server)
    for (const connection of waiting) {
      if (server !== undefined && this.isSame(connection.server, server)) connection.wait()
      else if (connection.silence > 0) this.leave(connection)
    }
  }

  private leave(connection: WatchedConnection): void {
    this.retire()
    connection.close()
  }

  /** Whether two servers are the same, or are behind a balancer that leads to both by turns. */
  private isSame(old = '', server: string): boolean {
    const [before, after] = [this.servers.get(old), this.servers.get(server)]
    return old === server || (before !== undefined && after !== undefined && before.last > after.first)
  }

  /** The server that a new connection leads to; rejects without an answer in time. */
  private async find(): Promise<string> {
    const limits = { poolSize: 1, connectTimeoutMS: serverPatience, connectTimeout: serverPatience }
    const plain = { entities: [], migrations: [], subscribers: [], logging: false, ...limits }
    // The options come from an existing DataSource; only what is not needed differs.
    const source = new DataSource({ ...this.dataSource.options, ...plain } as DataSourceOptions)
    const asking = (async () => {
      await source.initialize()
      try {
        const [row]: { server: string }[] = await source.query(this.engine.sql)
        return String(row?.server)
      } finally {
        await source.destroy()
      }
    })()
    asking.catch(() => undefined)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(reject, serverPatience, new Error('The server does not answer.'))
    })
    return Promise.race([asking, late]).finally(() => clearTimeout(timer))
  }
}
