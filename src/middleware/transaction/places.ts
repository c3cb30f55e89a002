import type { Context } from '../../context.js'
import { SAFE_METHODS } from '../../common/methods.js'
import type { Servers } from '../../data/engines/servers.js'
import { TransactionPlace } from '../../data/transactions/transaction-place.js'
import { addLogFields } from '../../logging/request-logger.js'
import { visitorOf } from '../../sessions/visitor.js'
import { Positions } from './positions.js'

/** Prepares the choice of a server for each request, on a database with several. */
export class Places {
  /** The routes that have written in a request that should only read. */
  private readonly writing = new WeakSet<object>()
  private readonly positions: Positions

  /** @param maxLag the milliseconds by which a replica that is used may be behind */
  constructor(
    private readonly servers: Servers,
    maxLag: number,
  ) {
    this.positions = new Positions(Math.max(60_000, 4 * maxLag))
  }

  /** @param needsPrimary whether the request has failed on a replica */
  of(ctx: Context, needsPrimary: boolean): TransactionPlace {
    const { writing, positions } = this
    // A context of plain Koa has no route.
    const { route } = ctx as Partial<Context>
    return new TransactionPlace(this.servers, {
      read: () => ({
        visitor: () => visitorOf(ctx),
        isSafe: SAFE_METHODS.includes(ctx.method),
        mayHaveWritten: ctx.req.headers.authorization !== undefined,
        needsPrimary: needsPrimary || (route !== undefined && writing.has(route)),
        ...positions.read(ctx),
      }),
      chosen: ({ name }) => addLogFields(ctx, { database: name }),
      failed: (problem) => {
        if (problem === 'readonly' && route) writing.add(route)
      },
      ended: (position) => {
        if (!ctx.headerSent) positions.write(ctx, position)
      },
    })
  }
}
