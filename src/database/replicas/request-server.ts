import { QueryFailedError, type QueryRunner } from 'typeorm'
import type { Context } from '../../context.js'
import { SAFE_METHODS } from '../../common/methods.js'
import type { Problem } from '../engines/engine.js'
import { problemOf } from '../engines/problems.js'
import { unknownPosition, type Server, type Servers } from './servers.js'
import type { BeginOptions } from '../transactions/lazy-transaction.js'
import type { TransactionServer } from '../transactions/transaction-server.js'
import { ClientClosedRequest, ServiceUnavailable } from '../../errors.js'
import { addLogFields } from '../../logging/request-logger.js'
import { visitorOf } from '../../sessions/visitor.js'
import type { Positions } from './positions.js'

/** The problems of a statement on a replica that it may not have on the primary. */
const problemsOfReplicas: readonly Problem[] = ['lost', 'down', 'conflict', 'busy', 'readonly', 'missing']

/** The routes that have written in a request that should only read. */
const writingRoutes = new WeakSet<object>()

/** Decides where a request reads, on a database with several servers. */
export class RequestServer implements TransactionServer {
  /** Whether a statement has failed because it ran on a replica. */
  private hasFailed = false
  private choosing: Promise<void> | undefined
  private server: Server | undefined
  /** Whether the transaction only reads. */
  private isReading = false
  /** Whether the client needs the position of what it reads on the primary, so that its next read is not older. */
  private isAhead = false
  /** The route; a context of plain Koa has none. */
  private readonly route: object | undefined

  /** @param hasReplicaFailed whether the request runs again because its replica has failed */
  constructor(
    private readonly servers: Servers,
    private readonly positions: Positions,
    private readonly ctx: Context,
    private readonly hasReplicaFailed: boolean,
  ) {
    this.route = (ctx as Partial<Context>).route
  }

  get isReplica(): boolean {
    return this.server?.isReplica ?? false
  }

  choose(runner: QueryRunner, options: BeginOptions): Promise<void> | undefined {
    return this.server ? undefined : (this.choosing ??= this.chooseOnce(runner, options))
  }

  async commit(runner: QueryRunner, hasWritten: boolean): Promise<void> {
    if (this.isReplica || (this.isReading && !hasWritten && !this.isAhead)) return runner.commitTransaction()
    const position = await this.servers.commit(runner)
    if (position !== undefined) this.sendPosition(position)
  }

  async end(runner: QueryRunner): Promise<void> {
    if (this.isAhead) this.sendPosition(await this.servers.position(runner))
  }

  /** Sends a position even without a commit, because the response may show what the request has read on the primary. */
  fail(): void {
    if (this.isAhead) this.sendPosition(unknownPosition)
  }

  note(error: unknown): void {
    if (!this.isReplica || error instanceof ClientClosedRequest) return
    // Any other error comes from the connection.
    const problem = error instanceof QueryFailedError ? problemOf(error) : 'lost'
    if (!problem || !problemsOfReplicas.includes(problem)) return
    this.hasFailed = true
    if (problem === 'readonly' && this.route) writingRoutes.add(this.route)
  }

  /** @throws ReplicaFailed when a statement has failed because it ran on a replica, even if the handler has caught the error */
  rejectFailure(cause?: unknown): void {
    if (this.hasFailed) throw new ReplicaFailed(cause)
  }

  private chooseOnce(runner: QueryRunner, options: BeginOptions): Promise<void> | undefined {
    const { servers, ctx, route } = this
    const { isolation, readOnly, replica } = options
    const { position, hasPosition } = this.positions.read(ctx)
    this.isReading = SAFE_METHODS.includes(ctx.method) || readOnly === true
    const needsPrimary = this.hasReplicaFailed || (route !== undefined && writingRoutes.has(route))
    // A client that sends no position may have written just now.
    const mayHaveWritten =
      ctx.req.headers.authorization !== undefined && position === undefined && replica !== true
    const isExcluded = replica === false || isolation === 'SERIALIZABLE' || needsPrimary
    const allowsReplica = this.isReading && !mayHaveWritten && !isExcluded
    const use = (server: Server): void => {
      this.server = server
      this.isAhead = !server.isReplica && !server.waits && (hasPosition || server.isAhead || needsPrimary)
      addLogFields(ctx, { database: server.name })
    }
    const server = servers.choose(runner, { visitor: () => visitorOf(ctx), position, allowsReplica })
    return server instanceof Promise ? server.then(use) : (use(server), undefined)
  }

  private sendPosition(position: bigint): void {
    if (!this.ctx.headerSent) this.positions.write(this.ctx, position)
  }
}

/** The request has to run again on the primary. If it may not, its client can send it again. */
export class ReplicaFailed extends ServiceUnavailable {
  constructor(cause?: unknown) {
    super('The replica of the database has failed.', 1, { cause })
  }
}
