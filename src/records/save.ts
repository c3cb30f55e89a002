import type { EntityManager } from 'typeorm'
import { PreconditionFailed, RecordNotFound, ValidationErrors, VersionConflict } from '../errors.js'
import { translateAdded } from '../models/validation/added-errors.js'
import { explainDatabaseError } from '../database/database-errors.js'
import { permit } from '../database/queries/guard.js'
import { engineOf } from '../database/engines/engines.js'
import { newId } from '../models/ids.js'
import { Model } from '../models/model.js'
import { inSavepoint } from '../database/transactions/transaction-manager.js'
import { validate } from '../models/validation/validation.js'
import {
  assignmentsOf,
  leaveTrashedLinks,
  changesLinks,
  syncLinks,
  checkIds,
  writeLinks,
  type Assignment,
} from './link-writes.js'
import { assignKeys, dropStale, markSaved } from './loaded-relations.js'
import { requireVersion } from './locking.js'
import { rejectAssigned, rejectMoreRows } from './one-row.js'
import { rowsOf, withRunner, type StoredRow } from './row.js'
import { isLocked } from '../models/record-state.js'
import { References, type WriteOptions } from './references.js'
import { requirePlace, requireTrash } from './trash.js'
import { workIn, type RecordWork } from './work.js'
import {
  callParticipants,
  changesBeside,
  checkParticipants,
  isObserved,
  joinErrors,
  needsRow,
  noteUndone,
  writesBeside,
  type RecordWrite,
} from './participants.js'
import { translate, translateRefusal, violationsOf } from './violations.js'

/**
 * Validates a record. If it is valid, calls the hook of its model, and inserts or updates it.
 *
 * @param unread the errors of fields that could not be read
 * @returns the errors, including those that the database reports, or undefined if the record was saved
 * @throws VersionNotLoaded when the record was loaded without its version
 * @throws VersionConflict, or PreconditionFailed because of `If-Match`, when a row with a version has changed, or is missing
 * @throws NotOneRow when more than one row would be written
 */
export async function saveRecord(
  work: RecordWork,
  record: Model,
  unread?: ValidationErrors,
  options: WriteOptions = {},
): Promise<ValidationErrors | undefined> {
  const { tx, translate: t } = work
  const isNew = !isSaved(record)
  const metadata = tx.dataSource.getMetadata(record.constructor)
  rejectMoreRows(metadata)
  if (!isNew) requireVersion(metadata, record)
  // The rules and the hook read the keys of relations that were assigned.
  assignKeys(metadata, record)
  if (!isNew) await leaveTrashedLinks(work, metadata, record)
  const references = new References(work, metadata, record, isNew, options)
  const wrong = await references.check(false)
  if (wrong) translate(wrong, record, t)
  const action = isNew ? 'create' : 'update'
  const write: RecordWrite = { work, metadata, record, action, reason: options.reason }
  const others = isObserved(metadata) ? await checkParticipants(write) : undefined
  const errors = joinErrors(await validate(record, t, mergeErrors(wrong, unread)), others)
  if (errors) return errors

  const hookErrors = await runHook(tx, record, isNew)
  if (hookErrors) {
    translateAdded(hookErrors, record.constructor, t)
    return hookErrors
  }

  assignKeys(metadata, record)
  rejectAssigned(metadata, record, isNew)
  const links = assignmentsOf(metadata, record)
  const linkErrors = (await references.check(true)) ?? (await checkIds(tx, links))
  if (linkErrors) return translate(linkErrors, record, t)

  const violations = await tryWrite(write, links)
  if (violations) return violations
  dropStale(metadata, record)
  syncLinks(metadata, record, isNew, links)
  markSaved(metadata, record)
  return undefined
}

/** The errors of both. An error of a field that could not be read replaces those of its earlier value. */
function mergeErrors(errors?: ValidationErrors, others?: ValidationErrors): ValidationErrors | undefined {
  if (!errors || !others) return errors ?? others
  for (const [field, violations] of others.fields) errors.fields.set(field, [...violations])
  return errors
}

/** Calls the hook of a model, and returns the errors that it adds. */
async function runHook(
  tx: EntityManager,
  record: Model,
  isNew: boolean,
): Promise<ValidationErrors | undefined> {
  const name = isNew ? 'validateCreate' : 'validateUpdate'
  // A model may lack the hooks, or set them to undefined. The hooks of Model do nothing.
  if (!record[name] || record[name] === Model.prototype[name]) return undefined
  const errors = new ValidationErrors()
  await record[name](errors, tx)
  return errors.isEmpty ? undefined : errors
}

/** Writes the row of a record and its new links. Returns the errors if the database rejects them. */
async function tryWrite(
  write: RecordWrite,
  links: readonly Assignment[],
): Promise<ValidationErrors | undefined> {
  const { work, metadata, record } = write
  const { id, created_at, updated_at } = record
  const version: unknown = metadata.versionColumn?.getEntityValue(record)
  try {
    await runWrite(write, links.length === 0, async (inner, isAlone, current) => {
      const [rows, row, isNew] = [rowsOf(metadata), { tx: inner.tx, isAlone }, write.action === 'create']
      const more = !isNew && (await changesBeside(write))
      const [lock, changesMore] = [
        more || needsLock(work, record, links),
        more || changesLinks(record, links),
      ]
      await (isNew ? rows.insert(row, record) : rows.update(row, record, { lock, changesMore, current }))
      await writeLinks(inner, record, isNew, links)
    })
    return undefined
  } catch (error) {
    // The record must not look saved (see `isSaved`).
    Object.assign(record, { id, created_at, updated_at })
    metadata.versionColumn?.setEntityValue(record, version)
    await noteUndone(write)
    rejectConflict(work, record, error)
    return translate(await violationsOf(work.tx, record, error, work.pathKeys), record, work.translate)
  }
}

/**
 * Whether the row is locked before it is compared. Without the lock, two requests that write the links of a record at the same time
 * could leave the links of both, and MariaDB would return a row that was read under a lock as it was before the lock.
 */
function needsLock({ tx }: RecordWork, record: Model, links: readonly Assignment[]): boolean {
  return links.length > 0 || (isLocked(record) && engineOf(tx.dataSource).readsSnapshots === true)
}

/**
 * Runs a write together with what takes part in it. A savepoint undoes all of a rejected write, unless it is a single statement,
 * which the engine undoes itself.
 *
 * @param isOne whether the write is one statement, apart from listeners and what takes part in it
 * @param run receives the work in the savepoint, whether its statement is alone, and the row if it has been read
 */
function runWrite(
  write: RecordWrite,
  isOne: boolean,
  run: (work: RecordWork, isAlone: boolean, row?: StoredRow) => Promise<void>,
): Promise<void> {
  const { work, metadata, record, action } = write
  const hasOthers = writesBeside(metadata)
  if (isOne && !hasOthers && !rowsOf(metadata).isHeard)
    return withRunner(work.tx, (tx) => run(workIn(work, tx), true))
  return inSavepoint(work.tx, async (tx) => {
    // Other records can refer to it, and files can be named after it.
    if (hasOthers && action === 'create') record.id ??= newId()
    const row = await readBefore(write, tx)
    const inner = { ...write, work: workIn(work, tx), row }
    await callParticipants('before', inner)
    await run(inner.work, false, row)
    await callParticipants('after', inner)
  })
}

/** Reads the row that is updated or deleted, if something needs it. */
async function readBefore(
  { metadata, record, action }: RecordWrite,
  tx: EntityManager,
): Promise<StoredRow | undefined> {
  const isChange = action === 'update' || action === 'destroy'
  return isChange && needsRow(metadata) ? rowsOf(metadata).readStored(tx, record.id, true) : undefined
}

/** How a record is destroyed. */
export interface DestroyOptions {
  /** Whether a record of a model with `@DeleteDateColumn` is moved to the trash (yes), or its row is deleted. */
  trash?: boolean | undefined
  /** Why it is deleted, for what takes part in the write. */
  reason?: string | undefined
}

/**
 * Deletes a record, or moves it to the trash of its model. The object keeps its id, so that the response can show it.
 *
 * @throws RecordNotFound (404) when its model has a trash, and another request was faster
 * @throws DeclarationError when it is in the trash already, and `trash` is not false
 * @throws RecordNotFound when it has no id
 * @throws ValidationErrors (409) when other records refer to it
 * @throws VersionNotLoaded when the record was loaded without its version
 * @throws VersionConflict, or PreconditionFailed because of `If-Match`, when a row with a version has changed, or is missing
 * @throws NotOneRow when its model is a tree, or has a relation with `cascade`
 */
export async function destroyRecord(
  work: RecordWork,
  record: Model,
  { trash, reason }: DestroyOptions = {},
): Promise<void> {
  const { tx } = work
  const { id } = record
  const metadata = tx.dataSource.getMetadata(record.constructor)
  rejectMoreRows(metadata)
  if (id === undefined) throw new RecordNotFound(metadata.targetName, ' The record has no id.')
  requireVersion(metadata, record)
  const moves = metadata.deleteDateColumn !== undefined && trash !== false
  if (moves) requirePlace(metadata, record, false)
  const write: RecordWrite = { work, metadata, record, action: moves ? 'trash' : 'destroy', reason }
  const errors = await checkParticipants(write)
  if (errors) throw errors
  const preparations = moves ? [] : (engineOf(tx.dataSource).beforeDelete?.(metadata) ?? [])
  try {
    await runWrite(write, preparations.length === 0, async (inner, isAlone) => {
      for (const statement of preparations) await inner.tx.query(statement, permit([id]))
      const [rows, row] = [rowsOf(metadata), { tx: inner.tx, isAlone }]
      await (moves ? rows.move(row, record, new Date()) : rows.remove(row, record))
    })
  } catch (error) {
    rejectConflict(work, record, error)
    const refusal = explainDatabaseError(error, metadata)
    if (!(refusal instanceof ValidationErrors)) throw refusal
    throw await translateRefusal(tx, refusal, record, work.translate)
  }
}

/**
 * Moves a record from the trash back. It checks what the database checks, and neither rules nor hooks.
 *
 * @param reason why it is restored, for what takes part in the write
 * @returns the errors (409) if one of its unique values is taken meanwhile
 * @throws DeclarationError when it was not found in the trash
 * @throws RecordNotFound (404) when another request was faster
 * @throws VersionNotLoaded, VersionConflict, PreconditionFailed, NotOneRow as `destroyRecord` does
 */
export async function restoreRecord(
  work: RecordWork,
  record: Model,
  reason?: string,
): Promise<ValidationErrors | undefined> {
  const metadata = work.tx.dataSource.getMetadata(record.constructor)
  requireTrash(metadata, 'ctx.restore')
  rejectMoreRows(metadata)
  requireVersion(metadata, record)
  requirePlace(metadata, record, true)
  const write: RecordWrite = { work, metadata, record, action: 'restore', reason }
  const refused = await checkParticipants(write)
  if (refused) return refused
  try {
    await runWrite(write, true, ({ tx }, isAlone) => rowsOf(metadata).move({ tx, isAlone }, record, null))
    return undefined
  } catch (error) {
    rejectConflict(work, record, error)
    return translate(await violationsOf(work.tx, record, error, work.pathKeys), record, work.translate)
  }
}

/** @throws PreconditionFailed (412) after a version conflict, if `If-Match` contained the version that was read */
function rejectConflict(work: RecordWork, record: Model, error: unknown): void {
  if (error instanceof VersionConflict && work.comparison === 'matched')
    throw new PreconditionFailed(`The ${record.constructor.name} has changed since you have read it.`)
}

/** Whether a record exists in the database. An id does not show it, because the application may have chosen the id. */
export function isSaved(record: Partial<Model>): boolean {
  return record.id !== undefined && record.created_at !== undefined
}

/** Whether an object is a record that does not exist in the database yet. */
export function isNewRecord(record: object): boolean {
  return record instanceof Model && !isSaved(record)
}
