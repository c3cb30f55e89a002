import type { Next } from 'koa'
import type { Context, Middleware } from '../context.js'
import type { ForMany } from '../routing/declared-route.js'

declare module '../context.js' {
  interface ContextMembers extends ImportMembers, ManyMembers {}
}

/** The member of a context that an import sets. */
export interface ImportMembers {
  /**
   * The number of the line for which an import calls the handler, as a spreadsheet counts them: the heading is 1. Undefined in
   * every other request.
   *
   * @example if (!ctx.importLine) await sendMail(ctx, welcome, { user })
   */
  readonly importLine?: number
}

/** The members of a context with which the routes for many records respond. Only a request to such a route loads their modules. */
interface ManyMembers {
  /**
   * Responds to an import or a bulk action.
   *
   * @internal
   */
  respondForMany(kind: ForMany): Promise<unknown>
  /**
   * Responds with a CSV file if the client wants one, or else by the handler of a list.
   *
   * @internal
   */
  listOrExport(list: Middleware, next: Next): Promise<unknown>
}

export const manyMembers: ManyMembers & ThisType<Context> = {
  async respondForMany(kind) {
    if (kind === 'bulk') return (await import('./bulk.js')).runBulk(this)
    const { runImport, showImport } = await import('./import.js')
    return kind === 'page' ? showImport(this) : runImport(this)
  },

  async listOrExport(list, next) {
    const { exportList, wantsCsv } = await import('./export.js')
    return wantsCsv(this) ? exportList(this, list) : list(this, next)
  },
}
