import type { QueryRunner } from 'typeorm'
import { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js'
import { connectionProblem } from '../engines/connection-errors.js'
import { addressOf } from '../engines/database-url.js'
import type { ConnectionLimits } from '../engines/connections.js'
import { PostgresRunner } from '../engines/postgres/query-runner.js'
import { positionOf, type Server } from './servers.js'
import { SERVER } from '../engines/postgres/connection.js'
import { limitConnections, type Release } from '../engines/postgres/engine.js'
import { Probe, type Client } from './probe.js'

/** The state of a server. */
interface State {
  isReplica: boolean
  position: string | null
  /** Its address, and its start. */
  server: string
}

const STATE = `SELECT pg_is_in_recovery() AS "isReplica", pg_last_wal_replay_lsn()::text AS position, ${SERVER} AS server`

/** A server that requests may read, as this process sees it. */
export class Replica {
  /** Its host and port. */
  readonly name: string
  /** The position up to which it had replayed the log when it was last queried. */
  replayed = 0n
  /** Why it cannot be read; undefined if it can. */
  problem: string | undefined
  /** The connections of requests, while it is used. */
  pool: ReplicaPool | undefined
  private readonly probe: Probe
  private server = ''
  private reading: Promise<void> | undefined
  /** Whether the URL has led a request to another server than the probe. */
  private leadsElsewhere = false

  constructor(
    private readonly driver: PostgresDriver,
    private readonly url: string,
    private readonly limits: ConnectionLimits,
  ) {
    const { host, port } = addressOf(url)
    this.name = `${host}:${port}`
    this.probe = new Probe(driver, url)
  }

  /** The replica for a request that reads it; undefined while it is not used. */
  get asServer(): Server | undefined {
    const { name, pool } = this
    return pool && { name, isAhead: false, createRunner: () => pool.createRunner() }
  }

  /** Queries its state. Concurrent calls share the query. */
  read(): Promise<void> {
    return (this.reading ??= this.readOnce().finally(() => (this.reading = undefined)))
  }

  /** Begins to use the replica for requests. */
  open(): void {
    this.pool = new ReplicaPool(this.driver, this.url, this.limits, (server) => this.isSame(server))
  }

  /** Closes the connections of requests. The requests that use them run again on the primary. */
  close(): void {
    this.pool?.close()
    this.pool = undefined
  }

  async stop(): Promise<void> {
    this.close()
    await this.probe.close()
  }

  private async readOnce(): Promise<void> {
    try {
      const { isReplica, position, server } = await this.probe.read<State>(STATE)
      if (server !== this.server) this.leadsElsewhere = false
      this.server = server
      this.replayed = positionOf(position ?? '0/0')
      if (!isReplica) this.problem = 'it is not in recovery'
      else this.problem = this.leadsElsewhere ? 'its URL leads to several servers' : undefined
    } catch (error) {
      this.problem = connectionProblem(error)
    }
  }

  /** Whether a new connection leads to the server whose position is known. */
  private isSame(server: string): boolean {
    this.leadsElsewhere ||= server !== this.server
    return server === this.server
  }
}

type Obtained = [connection: object, release: Release]

/** The connections of requests to a replica. When the pool closes, they and those waiting fail. */
class ReplicaPool {
  /** A copy of the primary's driver, with connections to the replica. */
  private readonly driver: PostgresDriver
  private readonly clients = new Set<Client>()
  private readonly waiting = new Set<(reason: Error) => void>()

  constructor(
    primary: PostgresDriver,
    url: string,
    limits: ConnectionLimits,
    isSame: (server: string) => boolean,
  ) {
    const { poolSize, connectTimeoutMS, extra } = primary.options
    const options = {
      connectionString: url,
      max: poolSize,
      connectionTimeoutMillis: connectTimeoutMS,
      ...extra,
    }
    const master = new primary.postgres.Pool(options)
    // Without a listener, the error would end the process. The next query of the lost connection fails, too.
    master.on('error', () => {})
    master.on('connect', (client: Client) => this.clients.add(client.on('error', () => {})))
    master.on('remove', (client: Client) => this.clients.delete(client))
    // The primary's own method obtains a connection to the primary.
    const { obtainMasterConnection } = PostgresDriver.prototype
    const overrides = { master, obtainMasterConnection, options: { ...primary.options, url } }
    this.driver = Object.assign(Object.create(primary), overrides)
    limitConnections(this.driver, limits, isSame)
    const obtain = this.driver.obtainMasterConnection.bind(this.driver) as () => Promise<Obtained>
    this.driver.obtainMasterConnection = () => this.unlessClosed(obtain())
  }

  createRunner(): QueryRunner {
    const runner = new PostgresRunner(this.driver, 'slave')
    return Object.assign(runner, { manager: this.driver.dataSource.createEntityManager(runner) })
  }

  close(): void {
    for (const reject of this.waiting) reject(closedError())
    this.waiting.clear()
    this.driver.master.end().catch(() => undefined)
    for (const client of this.clients) client.end().catch(() => undefined)
  }

  /** Returns a connection, unless the pool is closed first. `Promise.race` would leak connections. */
  private unlessClosed(obtaining: Promise<Obtained>): Promise<Obtained> {
    return new Promise((resolve, reject) => {
      this.waiting.add(reject)
      const stopWaiting = (): boolean => this.waiting.delete(reject)
      obtaining.then(
        (obtained) => (stopWaiting() ? resolve(obtained) : obtained[1](closedError())),
        (error: Error) => void (stopWaiting() && reject(error)),
      )
    })
  }
}

function closedError(): Error {
  return new Error('The replica has been left out.')
}
