/**
 * A history of records: who has changed what.
 *
 * @module resource-kit/history
 */

export { History, type HistoryOptions } from './declaration.js'
export { HistoryEntry, historyTable, type AttributeChange, type HistoryAction } from './entry.js'
export { withoutHistory } from './guard.js'
export { forgetHistory, historyOf, type ForgottenEntries } from './reading.js'
export { EntryIsReadOnly, UnrecordedWrite } from './errors.js'
export type { Duration } from '../extension.js'
