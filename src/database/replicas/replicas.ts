import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { QueryRunner } from 'typeorm'
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js'
import { connectionProblem } from '../engines/connection-errors.js'
import {
  positionOf,
  unknownPosition,
  type Server,
  type Reading,
  type Replication,
  type Servers,
  type ServersDescription,
} from './servers.js'
import { POSITION } from '../engines/postgres/connection.js'
import { Probe } from './probe.js'
import type { PostgresRunner } from '../engines/postgres/query-runner.js'
import { Replica } from './replica.js'

/** Milliseconds between two checks of all servers. */
const checkInterval = 1000

/** The number of successive checks that a replica must pass to be used again. */
const requiredChecks = 3

/**
 * Reads the position up to which the primary's log is on its disk. Replicas receive nothing beyond it, and
 * reach it even if no record follows, unlike the insert position.
 */
const FLUSHED = 'SELECT pg_current_wal_flush_lsn()::text AS position'

/** A position of the primary, and when it was read. */
interface Sample {
  position: bigint
  time: number
}

/** A change of the replicas that are used. */
interface Change {
  /** The replicas that were used until then. */
  before: readonly Replica[]
  /** A position that no replica had passed before the change; undefined until it is known. */
  position: bigint | undefined
}

const primaryServer: Server = { name: 'primary', isAhead: false }
const aheadServer: Server = { ...primaryServer, isAhead: true }

/** The replicas of a PostgreSQL database. Every process checks them for itself. */
export class Replicas implements Servers {
  private readonly primary: Probe
  private readonly all: readonly Replica[]
  private used: readonly Replica[] = []
  /** The number of successive checks that each replica has passed. */
  private readonly checksPassed = new Map<Replica, number>()
  /** The positions of the primary within the last `maxLag` milliseconds in which it has responded. */
  private samples: Sample[] = []
  /** The changes that matter because a replica has not reached their positions. */
  private changes: Change[] = []
  private readonly stopped = new AbortController()

  constructor(
    driver: PostgresDriver,
    private readonly replication: Replication,
    private readonly log: (change: string) => void,
  ) {
    const { urls, limits } = replication
    // `options` of the engine sets it.
    this.primary = new Probe(driver, driver.options.url ?? '')
    this.all = urls.map((url) => new Replica(driver, url, limits))
    this.watch().catch((error: unknown) => log(`The replicas are no longer checked: ${String(error)}`))
  }

  get hasReplica(): boolean {
    return this.used.length > 0
  }

  async choose(_primary: QueryRunner, { visitor, position = 0n, allowsReplica }: Reading): Promise<Server> {
    if (!allowsReplica || this.used.length === 0) return primaryServer
    const visitorId = visitor()
    const replica = replicaOf(visitorId, this.used)
    const required = this.requiredPosition(visitorId, replica, position)
    // The replica may have reached the position since its last check.
    if (replica && replica.replayed < required && required !== unknownPosition) await this.check(replica)
    return (replica && replica.replayed >= required && replica.asServer) || aheadServer
  }

  async commit(runner: QueryRunner): Promise<bigint | undefined> {
    let position = unknownPosition
    const isSent = await (runner as PostgresRunner).commitWithPosition(
      (text) => (position = positionOf(text)),
    )
    return isSent ? position : undefined
  }

  async position(runner: QueryRunner): Promise<bigint> {
    const rows: { position: string }[] = await runner.query(POSITION)
    return rows[0] ? positionOf(rows[0].position) : unknownPosition
  }

  async describe(): Promise<ServersDescription> {
    await delay(requiredChecks * checkInterval)
    const sql = "SELECT current_setting('synchronous_standby_names') = '' AS \"isAsynchronous\""
    const primary = await this.primary.read<{ isAsynchronous: boolean }>(sql).then(
      ({ isAsynchronous }) => ({ canLoseCommits: isAsynchronous }),
      (error: unknown) => ({ primaryProblem: connectionProblem(error) }),
    )
    const replicas = this.all.map((replica) => {
      // Without a position of the primary, each replica would be late.
      const problem = this.samples.length > 0 ? this.problemOf(replica) : replica.problem
      return { name: replica.name, problem, lag: this.lagOf(replica) }
    })
    return { replicas, ...primary }
  }

  async stop(): Promise<void> {
    this.stopped.abort()
    await this.primary.close()
    for (const replica of this.all) await replica.stop()
  }

  private async watch(): Promise<void> {
    const { signal } = this.stopped
    while (!signal.aborted) {
      await this.sample()
      await Promise.all(this.all.map((replica) => this.check(replica, true)))
      this.changes = this.changes.filter((change) => !this.isOver(change))
      await delay(checkInterval, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** Reads the position of the primary. While the primary does not respond, its last position counts. */
  private async sample(): Promise<void> {
    const position = await this.flushed().catch(() => undefined)
    if (position === undefined) return
    const time = performance.now()
    this.samples = this.samples.filter((sample) => sample.time >= time - this.replication.maxLag)
    this.samples.push({ position, time })
  }

  private async flushed(): Promise<bigint> {
    const { position } = await this.primary.read<{ position: string }>(FLUSHED)
    return positionOf(position)
  }

  /**
   * Queries a replica, and decides whether it is used.
   *
   * @param isRegular whether it is one of the checks of `watch`, of which a replica must pass some to be used
   *   again
   */
  private async check(replica: Replica, isRegular = false): Promise<void> {
    await replica.read()
    if (this.stopped.signal.aborted) return
    const problem = this.problemOf(replica)
    const before = this.checksPassed.get(replica)
    // At the start of the process, one check is enough.
    const passed = problem === undefined ? (before ?? requiredChecks - 1) + Number(isRegular) : 0
    this.checksPassed.set(replica, passed)
    const isUsed = passed >= requiredChecks || (problem === undefined && replica.pool !== undefined)
    if (isUsed !== (replica.pool !== undefined)) this.change(replica, isUsed)
    if (problem !== undefined && before !== 0) this.log(`${replica.name} is left out: ${problem}.`)
  }

  /** Why a replica cannot be read. */
  private problemOf(replica: Replica): string | undefined {
    const { maxLag } = this.replication
    const isLate = this.lagOf(replica) > maxLag
    return replica.problem ?? (isLate ? `it is more than ${maxLag} ms behind` : undefined)
  }

  /** The milliseconds by which a replica is behind: the age of the last sample that it has reached. */
  private lagOf({ replayed }: Replica): number {
    const reached = this.samples.findLast(({ position }) => position <= replayed)
    return reached ? (this.samples.at(-1)?.time ?? 0) - reached.time : Infinity
  }

  private change(replica: Replica, isUsed: boolean): void {
    const change: Change = { before: this.used, position: undefined }
    this.changes.push(change)
    if (isUsed) replica.open()
    else replica.close()
    this.used = this.all.filter(({ pool }) => pool)
    if (isUsed) this.log(`${replica.name} is used.`)
    void this.flushed()
      .catch(() => this.highest)
      .then((position) => (change.position = position))
  }

  /** The highest position that is known, for a change while the primary does not respond. */
  private get highest(): bigint {
    return this.all.reduce(
      (highest, { replayed }) => max(highest, replayed),
      this.samples.at(-1)?.position ?? 0n,
    )
  }

  /** Whether a change no longer matters, because all used replicas have reached its position. */
  private isOver({ position }: Change): boolean {
    return position !== undefined && this.used.every(({ replayed }) => replayed >= position)
  }

  /** The position that a replica must have reached for a visitor: an earlier one may have been ahead. */
  private requiredPosition(visitor: string, replica: Replica | undefined, position: bigint): bigint {
    if (this.changes.length === 0) return position
    return this.changes
      .filter(({ before }) => replicaOf(visitor, before) !== replica)
      .reduce((required, change) => max(required, change.position ?? unknownPosition), position)
  }
}

/** Chooses a replica for a visitor. When others change, most visitors keep theirs (rendezvous hashing). */
function replicaOf(visitor: string, replicas: readonly Replica[]): Replica | undefined {
  if (replicas.length < 2) return replicas[0]
  let chosen: Replica | undefined
  let highest = ''
  for (const replica of replicas) {
    const weight = hash('sha1', `${replica.name} ${visitor}`)
    if (weight > highest) [chosen, highest] = [replica, weight]
  }
  return chosen
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other
}
