import type { Context } from '../context.js'
import type { ForMany } from '../routing/declared-route.js'
import { runBulk } from './bulk.js'
import { runImport, showImport } from './import.js'

/** The handlers of the routes for many records. */
export const handlers: Record<ForMany, (ctx: Context) => unknown> = {
  page: showImport,
  import: runImport,
  bulk: runBulk,
}
