import { QueryFailedError, type QueryRunner } from 'typeorm'
import type { Context } from '../../context.js'
import { SAFE_METHODS } from '../../common/methods.js'
import { ClientClosedRequest, ServiceUnavailable } from '../../errors.js'
import type { Problem } from '../engines/engine.js'
import { problemOf } from '../engines/problems.js'
import type { BeginOptions, OpenServer } from '../transactions/opening.js'
import { Positions } from './positions.js'
import { unknownPosition, type Server, type Servers } from './servers.js'

/** The problems of a statement on a replica that it may not have on the primary. */
const problemsOfReplicas: readonly Problem[] = ['lost', 'down', 'conflict', 'busy', 'readonly', 'missing']

/** The routes that have written in a request that should only read. */
const writingRoutes = new WeakSet<object>()

/** The functions by which the servers learn of the requests of an application. */
export interface Visitors {
  /** Returns a text that is the same for all requests of a visitor. */
  visitorOf(ctx: Context): string
  /** The secrets that encrypt positions. */
  secretsOf(ctx: Context): readonly string[]
  /** Adds fields to the line of a request in the log. */
  addLogFields(ctx: Context, fields: object): void
}

/** Returns the function that creates the choice of servers for a request. */
export function serverChoices(
  servers: Servers,
  maxLag: number,
  visitors: Visitors,
): (ctx: Context) => ServerChoice {
  // A replica that is more than `maxLag` behind is not read.
  const positions = new Positions(Math.max(60_000, 4 * maxLag), (ctx) => visitors.secretsOf(ctx))
  return (ctx) => new ServerChoice(servers, positions, visitors, ctx)
}

/** A request to a database with several servers: where its runs read, and its client's position. */
export class ServerChoice {
  /** Whether a statement of this run has failed because it ran on a replica. */
  private hasFailed = false
  /** Whether the request reads from the primary, because its replica has failed in an earlier run. */
  private hasLeftReplica = false
  /** The route; a context of plain Koa has none. */
  private readonly route: object | undefined

  constructor(
    private readonly servers: Servers,
    private readonly positions: Positions,
    private readonly visitors: Visitors,
    private readonly ctx: Context,
  ) {
    this.route = (ctx as Partial<Context>).route
  }

  /**
   * Runs the request. If its replica fails, runs it again on the primary, if it may be repeated.
   *
   * @param work opens servers by `open`. Before it commits, it calls `rejectFailure`
   * @param reset prepares the request for another run; returns false if it may not be repeated
   * @throws ReplicaFailed (503) when it may not, so that its client can send it again
   */
  async run(work: () => Promise<void>, reset: () => boolean): Promise<void> {
    try {
      return await work()
    } catch (error) {
      if (!this.hasFailed) throw error
      if (!reset()) throw new ReplicaFailed(error)
    }
    this.hasFailed = false
    this.hasLeftReplica = true
    await work()
  }

  /** @throws ReplicaFailed when a statement failed because of its replica, even if its error was caught */
  rejectFailure(): void {
    if (this.hasFailed) throw new ReplicaFailed()
  }

  /** Opens the server of a run, before its transaction takes a connection. */
  async open(primary: QueryRunner, { isolation, readOnly, replica }: BeginOptions): Promise<OpenServer> {
    const { servers, visitors, ctx, route } = this
    const { position, hasPosition } = this.positions.read(ctx)
    const isReading = SAFE_METHODS.includes(ctx.method) || readOnly === true
    const avoidsReplicas = this.hasLeftReplica || (route !== undefined && writingRoutes.has(route))
    // A client that sends no position may have written just now.
    const mayHaveWritten =
      ctx.req.headers.authorization !== undefined && position === undefined && replica !== true
    const isExcluded = replica === false || isolation === 'SERIALIZABLE' || avoidsReplicas
    const allowsReplica = isReading && !mayHaveWritten && !isExcluded
    const server = await servers.choose(primary, {
      visitor: () => visitors.visitorOf(ctx),
      position,
      allowsReplica,
    })
    visitors.addLogFields(ctx, { database: server.name })
    const isAhead = !server.createRunner && !server.waits && (hasPosition || server.isAhead || avoidsReplicas)
    return new ChosenServer(this, servers, server, primary, { isReading, isAhead })
  }

  /** Notes that the replica of this run has failed. */
  leaveReplica(problem: Problem): void {
    this.hasFailed = true
    if (problem === 'readonly' && this.route) writingRoutes.add(this.route)
  }

  sendPosition(position: bigint): void {
    if (!this.ctx.headerSent) this.positions.write(this.ctx, position)
  }
}

/** The server of one run of a request. */
class ChosenServer implements OpenServer {
  readonly runner: QueryRunner
  readonly isReplica: boolean

  constructor(
    private readonly choice: ServerChoice,
    private readonly servers: Servers,
    { createRunner }: Server,
    primary: QueryRunner,
    /**
     * Whether the transaction only reads, and whether the client needs the position of what it reads on the
     * primary, so that its next read is not older.
     */
    private readonly reading: { isReading: boolean; isAhead: boolean },
  ) {
    this.isReplica = createRunner !== undefined
    this.runner = createRunner?.() ?? primary
  }

  note(error: unknown): void {
    if (!this.isReplica || error instanceof ClientClosedRequest) return
    // Any other error comes from the connection.
    const problem = error instanceof QueryFailedError ? problemOf(error) : 'lost'
    if (problem && problemsOfReplicas.includes(problem)) this.choice.leaveReplica(problem)
  }

  async commit(hasWritten: boolean): Promise<void> {
    const { isReading, isAhead } = this.reading
    if (this.isReplica || (isReading && !hasWritten && !isAhead)) return this.runner.commitTransaction()
    const position = await this.servers.commit(this.runner)
    if (position !== undefined) this.choice.sendPosition(position)
  }

  async end(): Promise<void> {
    if (this.reading.isAhead) this.choice.sendPosition(await this.servers.position(this.runner))
  }

  /** Sends a position without a commit, too, because the response may show what the primary has. */
  fail(): void {
    if (this.reading.isAhead) this.choice.sendPosition(unknownPosition)
  }
}

/** The request has to run again on the primary. If it may not, its client can send it again. */
export class ReplicaFailed extends ServiceUnavailable {
  constructor(cause?: unknown) {
    super('The replica of the database has failed.', 1, { cause })
  }
}
