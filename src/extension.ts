/**
 * The parts of the core that extensions use in addition to the public API: `resource-kit/auth`,
 * `resource-kit/mail`, and packages of other authors.
 *
 * @module resource-kit/extension
 */

// Requests, their log, and channels
export { channels, measure } from './common/channels.js'
export { bearerToken, keyOwner } from './common/request-owner.js'
export { PerRequest } from './common/per-request.js'
export { formatOfType } from './http/formats/formats.js'
export { isWildcard, namesTag } from './http/entity-tags.js'
export { fileReader, uploadPlans, type FileReader } from './http/body/uploads.js'
export {
  explainFullDisk,
  makeUploadFolder,
  removeStaleUploads,
  removeUploadFolder,
} from './http/body/upload-folders.js'
export { sizeText } from './http/body/rejected-files.js'
export { chooseFormat } from './http/responder.js'
export { pathKeysOf } from './http/writable-attributes.js'
export { clientNetwork } from './http/security/client-network.js'
export { causesOf, errorHead } from './logging/error-fields.js'
export { parameterFilter } from './logging/filter.js'
export { loggedError } from './logging/logger.js'
export { redactedPath } from './logging/redacted-path.js'
export { currentCommand } from './common/command.js'
export { addedLogFields, addLogFields, logFields } from './logging/request-logger.js'
export { configuredBaseUrl } from './routing/base-url.js'
export { localAddress } from './server/port.js'
export { readSession, storedSessionId } from './sessions/session-store.js'

// Transactions
export { inTransaction } from './records/members.js'
export { saveRecord } from './records/save.js'
export { unscopedWork } from './records/work.js'
export { inSavepoint } from './database/transactions/transaction-manager.js'
export {
  beforeCommit,
  checkBeforeCommit,
  endReading,
  hasTransaction,
  outsideTransaction,
  restoreOnRetry,
} from './database/transactions/request-transaction.js'
export { retryConflicts } from './database/retry-conflicts.js'

// Data
export {
  guardStatements,
  isPermitted,
  permit,
  permitQuery,
  writeInBulk,
} from './database/queries/statement-guards.js'
export { maskedSql } from './database/queries/masked-sql.js'
export { assignedIds } from './models/record-state.js'
export { columnWriter, idListsOf, targetOf, type IdList } from './records/joins.js'
export { isTrashed } from './records/trash.js'
export { rowsOf, type StoredRow } from './records/row.js'
export { scopeOf } from './records/scope.js'
export { workIn } from './records/work.js'
export { takePart, type Participant, type RecordWrite } from './records/participants.js'
export type { Conditions, RecordWork } from './records/work.js'
export { conditionOn, selectLocked } from './records/references.js'
export { lockClause, lockOption } from './records/locking.js'
export { chainsOf, declareMembers } from './records/within.js'
export { engineOf } from './database/engines/engines.js'
export { explainMissingTable, pendingMigrations } from './database/migrations/pending.js'
export { ExpiringTable, type ExpiringTableOptions } from './database/expiring-table.js'
export { isId, newId } from './models/ids.js'
export { attributeName, messageOf } from './models/validation/validation.js'
export { problemOf } from './database/engines/problems.js'
export { inParts } from './records/parts.js'
export { Redis } from './common/redis.js'

// Descriptions of routes and models
export {
  ancestorsOf,
  attributesOf,
  nestedListsOf,
  columnsOf,
  filesOf,
  filesOfLines,
  isEntity,
  kindOf,
  toAttribute,
  versionOf,
  type Attribute,
} from './models/attributes/attributes.js'
export {
  declareFiles,
  setToken,
  tokenOf,
  type FileAttribute,
  type FileProblem,
} from './models/attributes/file-attributes.js'
export {
  instanceOf,
  isListProperty,
  plainAttributeOf,
  plainAttributesOf,
  rulesOf,
  validatedProperties,
} from './models/attributes/plain-attributes.js'
export {
  exposedProperties,
  isHiddenProperty,
  transformRules,
} from './models/attributes/transform-metadata.js'
export { descriptionOf } from './resources/describe.js'
export { CustomFilter, RenamedFilter } from './records/lists/declaration.js'
export { pathNames, type PathNames } from './naming/names.js'
export { collectionName, humanize, itemName, recordName } from './naming/words.js'
export type { Declarations } from './routing/scope.js'

// Secrets, durations and processes
export { isSecretAttribute } from './naming/secret-names.js'
export { BoundedMap, memoizeByObject } from './common/memoize.js'
export { assets } from './common/assets.js'
export { sessionSecrets } from './sessions/secrets.js'
export { secretOf } from './sessions/csrf-token.js'
export { Signer } from './sessions/signer.js'
export { milliseconds, type Duration } from './common/duration.js'
export { currentEnvironment } from './common/environment.js'
export { isPlainObject } from './common/plain-object.js'
export { backoffDelay, retry } from './common/retry.js'
export { checkNumbers, longestDelay, type NumberRange } from './common/numbers.js'
export { mediaTypeName } from './common/media-type-name.js'
export { Semaphore } from './common/semaphore.js'
export { checkTimeZone } from './common/time-zones.js'
export { reportToPrimary } from './server/workers/messages.js'
export { onWake, workerNumber } from './server/workers/worker.js'

// Errors
export { explainDatabaseError } from './database/database-errors.js'
export { wordOf, type StatementMessage } from './database/queries/publish.js'
export { statusOf } from './http/errors/problem.js'
export { OutcomeUnknown, PasswordTooLong, TooManyRequests, Unauthorized, WaitsForItself } from './errors.js'
export type { NestedList } from './models/attributes/nested-lists.js'
