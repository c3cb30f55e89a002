import type { QueryRunner } from 'typeorm'
import type { ConnectionLimits } from '../engines/connections.js'

/** The replicas of a database. */
export interface Replication {
  /** The URL of each server, the primary included. */
  urls: readonly string[]
  /** Milliseconds that data read from a replica may be old. */
  maxLag: number
  /** The limits of the connections to each of them. */
  limits: ConnectionLimits
}

/** A request that is about to read. */
export interface Reading {
  /** Returns who reads: the same visitor reads from the same server. */
  visitor(): string
  /** The position of the client's last write, which the read must see; undefined if none is valid. */
  position: bigint | undefined
  /** Whether the request may read from a replica. */
  allowsReplica: boolean
}

/** The server of a request's transaction. */
export interface Server {
  /** Creates a runner that takes a connection of the replica; missing if the server is the primary. */
  createRunner?(): QueryRunner
  /** Its name in the log: `primary`, or its host and port. */
  name: string
  /** Whether the request reads from the primary because the visitor's replica is behind. */
  isAhead: boolean
  /** Whether servers wait for positions. Then a response that only reads needs no position. */
  waits?: true
}

/** Converts a position in the log, as PostgreSQL writes it: `16/B374D848`. */
export function positionOf(text: string): bigint {
  const slash = text.indexOf('/')
  const [high, low] = [text.slice(0, slash), text.slice(slash + 1)]
  return (BigInt(Number.parseInt(high, 16)) << 32n) + BigInt(Number.parseInt(low, 16))
}

/** Replaces a position that could not be read. It is greater than all others, so no server has reached it. */
export const unknownPosition = 2n ** 64n - 1n

/**
 * The servers of a database that has several. A commit on one of them is visible on the others a moment
 * later. Its position in the order of all commits tells when.
 */
export interface Servers {
  /** Whether requests can read from a replica at the moment. */
  readonly hasReplica: boolean
  /**
   * Chooses a server, or waits until the server of the runner has reached the position.
   *
   * @param primary a runner without a connection
   */
  choose(primary: QueryRunner, reading: Reading): Promise<Server>
  /** Commits. Returns the position after the commit; undefined if nothing was sent to the server. */
  commit(runner: QueryRunner): Promise<bigint | undefined>
  /** The position of everything that a runner may have read. */
  position(runner: QueryRunner): Promise<bigint>
  /** Describes the servers, after checking them for a few seconds. */
  describe?(): Promise<ServersDescription>
  stop(): Promise<void>
}

/** The state of the servers, for people. */
export interface ServersDescription {
  replicas: {
    name: string
    /** Why requests do not read it. */
    problem: string | undefined
    /** The milliseconds by which it is behind the primary, or infinity if that is unknown. */
    lag: number
  }[]
  /** Why the primary does not respond; undefined if it does. */
  primaryProblem?: string
  /** Whether a commit is confirmed before it is on another server. Unknown without the primary. */
  canLoseCommits?: boolean
}
