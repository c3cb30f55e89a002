import type { ManyHandlers } from '../routing/many-routes.js'
import { runBulk } from './bulk.js'
import { exportList, wantsCsv } from './export.js'
import { runImport, showImport } from './import.js'

/** The handlers of the routes for many records. */
export const handlers: ManyHandlers = {
  page: showImport,
  import: runImport,
  bulk: runBulk,
  list: (ctx, list) => (wantsCsv(ctx) ? exportList(ctx, list) : list(ctx, () => Promise.resolve())),
}
