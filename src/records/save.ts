import { PreconditionFailed, RecordNotFound, ValidationErrors, VersionConflict } from '../errors.js'
import { placeAdded, translateAdded } from '../models/validation/added-errors.js'
import { engineOf } from '../database/engines/engines.js'
import { permit } from '../database/queries/statement-guards.js'
import { newId } from '../models/ids.js'
import { Model } from '../models/model.js'
import { inSavepoint, withRunner } from '../database/transactions/transaction-manager.js'
import { validate } from '../models/validation/validation.js'
import {
  assignmentsOf,
  leaveTrashedIds,
  changesJoins,
  syncIdLists,
  writeJoins,
  type Assignment,
} from './join-writes.js'
import { rejectAssigned, requireOneRow } from './one-row.js'
import { rowsOf, type Rows, type RowWork, type StoredRow } from './row.js'
import { assignKeys, isLocked, markSaved } from '../models/record-state.js'
import { References, type WriteOptions } from './references.js'
import { requirePlace, requireTrash } from './trash.js'
import { workIn, type RecordWork } from './work.js'
import {
  callParticipants,
  canWait,
  changesBeside,
  checkParticipants,
  joinErrors,
  needsRow,
  noteUndone,
  writesBeside,
  type RecordWrite,
} from './participants.js'
import { waitingInsertsOf } from './waiting-inserts.js'
import { explainRejection } from './violations.js'

/**
 * Validates a record. If it is valid, calls the hook of its model, and inserts or updates it.
 *
 * @param unread the errors of fields that could not be read
 * @returns the errors, including those that the database reports, or undefined if the record was saved
 * @throws VersionNotLoaded when the record was loaded without its version
 * @throws VersionConflict, or PreconditionFailed because of `If-Match`, when a row with a version has
 *   changed, or is missing
 * @throws NotOneRow when more than one row would be written
 */
export async function saveRecord(
  work: RecordWork,
  record: Model,
  unread?: ValidationErrors,
  options: WriteOptions = {},
): Promise<ValidationErrors | undefined> {
  const isNew = !isSaved(record)
  const write = writeOf(work, record, isNew ? 'create' : 'update', options.reason)
  const { metadata } = write
  requireOneRow(write)
  // The rules and the hook read the keys of relations that were assigned.
  assignKeys(metadata, record)
  if (!isNew) await leaveTrashedIds(write)
  const references = new References(work, metadata, record, isNew, options)
  const wrong = await references.check(false)
  const others = await checkParticipants(write)
  const invalid = await validate(record, work.translate, mergeErrors(wrong, unread))
  const errors = joinErrors(invalid, others) ?? (await runHook(write))
  if (errors) return errors

  rejectAssigned(write, assignKeys(metadata, record))
  const lists = assignmentsOf(metadata, record)
  const rejected = (await references.check(true)) ?? (await storeRecord(write, lists))
  if (rejected) return rejected
  syncIdLists(write, lists)
  markSaved(metadata, record)
  return undefined
}

/** The write of a record. */
export function writeOf(
  work: RecordWork,
  record: Model,
  action: RecordWrite['action'],
  reason: string | undefined,
): RecordWrite {
  return { work, metadata: work.tx.dataSource.getMetadata(record.constructor), record, action, reason }
}

/** The errors of both. An error of a field that could not be read replaces those of its earlier value. */
function mergeErrors(errors?: ValidationErrors, others?: ValidationErrors): ValidationErrors | undefined {
  if (!errors || !others) return errors ?? others
  for (const [field, violations] of others.fields) errors.fields.set(field, [...violations])
  return errors
}

/** Calls the hook of a model, and returns the errors that it adds. */
export async function runHook({ work, record, action }: RecordWrite): Promise<ValidationErrors | undefined> {
  const name = action === 'create' ? 'validateCreate' : 'validateUpdate'
  // A model may lack the hooks, or set them to undefined. The hooks of Model do nothing.
  if (!record[name] || record[name] === Model.prototype[name]) return undefined
  const errors = new ValidationErrors()
  await record[name](errors, work.tx)
  placeAdded(errors, record)
  translateAdded(errors, record.constructor, work.translate)
  return errors.isEmpty ? undefined : errors
}

/** Writes the row of a record and its new lists of ids. */
function storeRecord(
  write: RecordWrite,
  lists: readonly Assignment[],
): Promise<ValidationErrors | undefined> {
  const { record } = write
  const isNew = write.action === 'create'
  return runWrite(write, lists.length === 0, async (rows, row, inner, current) => {
    if (isNew) await rows.insert(row, record)
    else {
      const more = await changesBeside(write)
      const lock = more || needsLock(write, lists)
      await rows.update(row, record, {
        lock,
        changesMore: more || changesJoins(record, lists),
        current,
      })
    }
    await writeJoins(inner, record, isNew, lists)
  })
}

/**
 * Whether the row is locked before it is compared. Without the lock, two requests that write the ids of a
 * record at the same time could leave those of both, and MariaDB would return a row that was read under a
 * lock as it was before the lock.
 */
function needsLock({ work, record }: RecordWrite, lists: readonly Assignment[]): boolean {
  return lists.length > 0 || (isLocked(record) && engineOf(work.tx.dataSource).readsSnapshots === true)
}

/**
 * Runs a write together with what takes part in it. A savepoint undoes all of a rejected write, unless it is
 * a single statement, which the engine undoes itself.
 *
 * @param isOne whether the write is one statement, apart from listeners and what takes part in it
 * @param run receives the rows of the model, how a row is written, the work in the savepoint,
 *   and the stored row if it has been read
 * @returns the errors if the database rejects the write
 */
async function runWrite(
  write: RecordWrite,
  isOne: boolean,
  run: (rows: Rows, row: RowWork, work: RecordWork, stored?: StoredRow) => Promise<void>,
): Promise<ValidationErrors | undefined> {
  const { work, metadata, record, action } = write
  const { id, created_at, updated_at } = record
  const version: unknown = metadata.versionColumn?.getEntityValue(record)
  const rows = rowsOf(metadata)
  const hasOthers = writesBeside(metadata)
  const isPlain = isOne && !rows.isHeard
  // If one of the rows that wait is rejected, nothing is stored, so there is nothing to undo.
  const isWaiting =
    isPlain && action === 'create' && canWait(metadata) && waitingInsertsOf(work.tx) !== undefined
  try {
    if (isPlain && (!hasOthers || isWaiting))
      await withRunner(work.tx, async (tx) => {
        const inner = { ...write, work: workIn(work, tx), isWaiting }
        if (hasOthers) await callParticipants('before', inner)
        await run(rows, { tx, isAlone: true }, inner.work)
        if (hasOthers) await callParticipants('after', inner)
      })
    else
      await inSavepoint(work.tx, async (tx) => {
        // Other records can refer to it, and files can be named after it.
        if (hasOthers && action === 'create') record.id ??= newId()
        const isRead = (action === 'update' || action === 'destroy') && needsRow(metadata)
        const stored = isRead ? await rows.readStored(tx, record.id, true) : undefined
        const inner = { ...write, work: workIn(work, tx), row: stored }
        await callParticipants('before', inner)
        await run(rows, { tx, isAlone: false }, inner.work, stored)
        await callParticipants('after', inner)
      })
    return undefined
  } catch (error) {
    // The record must not look saved (see `isSaved`).
    Object.assign(record, { id, created_at, updated_at })
    metadata.versionColumn?.setEntityValue(record, version)
    await noteUndone(write)
    if (error instanceof VersionConflict && work.comparison === 'matched')
      throw new PreconditionFailed(`The ${record.constructor.name} has changed since you have read it.`)
    return explainRejection(write, error)
  }
}

/** How a record is destroyed. */
export interface DestroyOptions {
  /** Whether a record of a model with `@DeleteDateColumn` is moved to the trash (yes), or deleted. */
  trash?: boolean | undefined
  /** Why it is deleted, for what takes part in the write. */
  reason?: string | undefined
}

/**
 * Deletes a record, or moves it to the trash of its model. The object keeps its id, so that the response can
 * show it.
 *
 * @throws RecordNotFound (404) when its model has a trash, and another request was faster
 * @throws DeclarationError when it is in the trash already, and `trash` is not false
 * @throws RecordNotFound when it has no id
 * @throws ValidationErrors (409) when other records refer to it
 * @throws VersionNotLoaded when the record was loaded without its version
 * @throws VersionConflict, or PreconditionFailed because of `If-Match`, when a row with a version has
 *   changed, or is missing
 * @throws NotOneRow when its model is a tree, or has a relation with `cascade`
 */
export async function destroyRecord(
  work: RecordWork,
  record: Model,
  { trash, reason }: DestroyOptions = {},
): Promise<void> {
  const { dataSource } = work.tx
  const { id } = record
  const metadata = dataSource.getMetadata(record.constructor)
  if (id === undefined) throw new RecordNotFound(metadata.targetName, ' The record has no id.')
  const moves = metadata.deleteDateColumn !== undefined && trash !== false
  const write = writeOf(work, record, moves ? 'trash' : 'destroy', reason)
  requireOneRow(write)
  if (moves) requirePlace(metadata, record, false)
  const preparations = moves ? [] : (engineOf(dataSource).beforeDelete?.(metadata) ?? [])
  const errors =
    (await checkParticipants(write)) ??
    (await runWrite(write, preparations.length === 0, async (rows, row) => {
      for (const statement of preparations) await row.tx.query(statement, permit([id]))
      await (moves ? rows.move(row, record, new Date()) : rows.remove(row, record))
    }))
  if (errors) throw errors
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
  const write = writeOf(work, record, 'restore', reason)
  requireTrash(write.metadata, 'ctx.restore')
  requireOneRow(write)
  requirePlace(write.metadata, record, true)
  const restore = () => runWrite(write, true, (rows, row) => rows.move(row, record, null))
  return (await checkParticipants(write)) ?? (await restore())
}

/** Whether a record exists in the database. The application may have chosen its id. */
export function isSaved(record: Partial<Model>): boolean {
  return record.id !== undefined && record.created_at !== undefined
}

/** Whether an object is a record that does not exist in the database yet. */
export function isNewRecord(record: object): boolean {
  return record instanceof Model && !isSaved(record)
}
