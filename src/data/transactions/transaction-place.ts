import { QueryFailedError, type QueryRunner } from 'typeorm'
import { ClientClosedRequest } from '../../errors.js'
import type { Problem } from '../engines/engine.js'
import { problemOf } from '../engines/problems.js'
import { unknownPosition, type Place, type Servers } from '../engines/servers.js'
import type { BeginOptions } from './lazy-transaction.js'

/** A request in a transaction that may read from a replica. */
export interface PlacedRequest {
  /** Is called before the first statement. */
  read(): Reader
  /** Receives the server. */
  chosen(place: Place): void
  /** Receives the problem of a replica. */
  failed(problem: Problem): void
  /** Receives the position that the client needs for its next request. */
  ended(position: bigint): void
}

/** A request before its first statement. */
export interface Reader {
  visitor(): string
  /** Whether its method only reads. */
  isSafe: boolean
  /** Whether its client may have written just now although it sends no position: it sends `Authorization`. */
  mayHaveWritten: boolean
  /** The position of its client's last write. */
  position: bigint | undefined
  /** Whether its client returns positions, be they expired. */
  hasPosition: boolean
  /** Whether it must run on the primary: its route writes, or its replica has failed. */
  needsPrimary: boolean
}

/** The problems of a statement on a replica that it may not have on the primary. */
const problemsOfReplicas: readonly Problem[] = ['lost', 'down', 'conflict', 'busy', 'readonly', 'missing']

/** Decides where a request's transaction reads, on a database with several servers. */
export class TransactionPlace {
  private hasFailed = false
  private choosing: Promise<void> | undefined
  private place: Place | undefined
  /** Whether the transaction only reads. */
  private isReading = false
  /** Whether the client needs the position of what it reads on the primary, so that its next read is not older. */
  private isAhead = false

  constructor(
    private readonly servers: Servers,
    private readonly request: PlacedRequest,
  ) {}

  get isReplica(): boolean {
    return this.place?.isReplica ?? false
  }

  /** Chooses the server of a runner that has no connection yet. Most choices need not wait. */
  choose(runner: QueryRunner, options: BeginOptions): Promise<void> | undefined {
    return this.place ? undefined : (this.choosing ??= this.chooseOnce(runner, options))
  }

  /** Commits a transaction that has begun. */
  async commit(runner: QueryRunner, hasWritten: boolean): Promise<void> {
    if (this.isReplica || (this.isReading && !hasWritten && !this.isAhead)) return runner.commitTransaction()
    const position = await this.servers.commit(runner)
    if (position !== undefined) this.request.ended(position)
  }

  /** Ends a request that has read without a transaction. */
  async end(runner: QueryRunner): Promise<void> {
    if (this.isAhead) this.request.ended(await this.servers.position(runner))
  }

  /** Ends a request that is rolled back. Its response may show what it has read. */
  fail(): void {
    if (this.isAhead) this.request.ended(unknownPosition)
  }

  /** Notes that a statement has failed. */
  note(error: unknown): void {
    if (!this.isReplica || error instanceof ClientClosedRequest) return
    const problem = error instanceof QueryFailedError ? problemOf(error) : 'lost'
    if (!problem || !problemsOfReplicas.includes(problem)) return
    this.hasFailed = true
    this.request.failed(problem)
  }

  /** @throws ReplicaFailed when a statement has failed because it ran on a replica, even if the handler has caught the error */
  rejectFailure(cause?: unknown): void {
    if (this.hasFailed) throw new ReplicaFailed('The replica has failed.', { cause })
  }

  private chooseOnce(runner: QueryRunner, options: BeginOptions): Promise<void> | undefined {
    const { isolation, readOnly, replica } = options
    const { visitor, isSafe, mayHaveWritten, position, hasPosition, needsPrimary } = this.request.read()
    this.isReading = isSafe || readOnly === true
    const isRecent = mayHaveWritten && position === undefined && replica !== true
    const isExcluded = replica === false || isolation === 'SERIALIZABLE' || needsPrimary
    const allowsReplica = this.isReading && !isRecent && !isExcluded
    const use = (place: Place): void => {
      this.place = place
      this.isAhead = !place.isReplica && !place.waits && (hasPosition || place.isAhead || needsPrimary)
      this.request.chosen(place)
    }
    const place = this.servers.choose(runner, { visitor, position, allowsReplica })
    return place instanceof Promise ? place.then(use) : (use(place), undefined)
  }
}

/** The request has to run again on the primary. */
export class ReplicaFailed extends Error {}
