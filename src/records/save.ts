import type { EntityManager, EntityMetadata } from 'typeorm'
import { PreconditionFailed, ValidationErrors, VersionConflict } from '../errors.js'
import { translateAdded } from '../models/validation/added-errors.js'
import { explainDatabaseError } from '../database/database-errors.js'
import { engineOf } from '../database/engines/engines.js'
import { newId } from '../models/ids.js'
import { insertChosenId, Model } from '../models/model.js'
import { inSavepoint } from '../database/transactions/transaction-manager.js'
import { validate } from '../models/validation/validation.js'
import { fastPath } from './fast-path/fast-path.js'
import {
  assignmentsOf,
  changesLinks,
  syncLinks,
  checkIds,
  writeLinks,
  type Assignment,
} from './link-writes.js'
import { assignKeys, dropStale, markSaved, writeWithoutLoaded } from './loaded-relations.js'
import { lockVersion, requireVersion, updateLocked } from './locking.js'
import { References, type WriteOptions } from './references.js'
import { workIn, type RecordWork } from './work.js'
import {
  callParticipants,
  checkParticipants,
  joinErrors,
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
  if (!isNew) requireVersion(metadata, record)
  // The rules and the hook read the keys of relations that were assigned.
  assignKeys(metadata, record)
  const references = new References(work, metadata, record, isNew, options)
  const wrong = await references.check(false)
  if (wrong) translate(wrong, record, t)
  const action = isNew ? 'create' : 'update'
  const write: RecordWrite = { work, metadata, record, action, reason: options.reason }
  const others = await checkParticipants(write)
  const errors = joinErrors(await validate(record, t, mergeErrors(wrong, unread)), others)
  if (errors) return errors

  const hookErrors = await runHook(tx, record, isNew)
  if (hookErrors) {
    translateAdded(hookErrors, record.constructor, t)
    return hookErrors
  }

  assignKeys(metadata, record)
  const links = assignmentsOf(metadata, record)
  const linkErrors = (await references.check(true)) ?? (await checkIds(tx, links))
  if (linkErrors) return translate(linkErrors, record, t)

  const violations = await writeWithoutLoaded(metadata, record, () => tryWrite(write, isNew, links))
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

/** Writes a record and its new links, by the fast path or by TypeORM. Returns the errors if the database rejects them. */
async function tryWrite(
  write: RecordWrite,
  isNew: boolean,
  links: readonly Assignment[],
): Promise<ValidationErrors | undefined> {
  const { work, metadata, record } = write
  const { tx } = work
  const { id, created_at, updated_at } = record
  const version: unknown = metadata.versionColumn?.getEntityValue(record)
  try {
    await withParticipants(write, ({ tx: inner }) => writeRecord(inner, write, isNew, links))
    return undefined
  } catch (error) {
    // The record must not look saved (see `isSaved`).
    Object.assign(record, { id, created_at, updated_at })
    metadata.versionColumn?.setEntityValue(record, version)
    rejectConflict(work, record, error)
    return translate(await violationsOf(tx, record, error, work.pathKeys), record, work.translate)
  }
}

/** Writes a record in a savepoint together with what takes part in it; without a savepoint if nothing does. */
function withParticipants(write: RecordWrite, run: (work: RecordWork) => Promise<void>): Promise<void> {
  const { work, metadata, record, action } = write
  if (!writesBeside(metadata)) return run(work)
  return inSavepoint(work.tx, async (manager) => {
    const inner = { ...write, work: workIn(work, manager) }
    // Other records can refer to it, and files can be named after it.
    if (action === 'create') record.id ??= newId()
    await callParticipants('before', inner)
    await run(inner.work)
    await callParticipants('after', inner)
  })
}

async function writeRecord(
  tx: EntityManager,
  { work, metadata, record }: RecordWrite,
  isNew: boolean,
  links: readonly Assignment[],
): Promise<void> {
  if (await fastPath(tx, metadata)?.save(tx, record, isNew)) return undefined
  await protectedWrite(tx, metadata, record, async (manager) => {
    if (!isNew && metadata.versionColumn) {
      await lockVersion(manager, metadata, record)
      // TypeORM only updates the row, which raises its version, if a column changes.
      if (changesLinks(metadata, record, links))
        record.updated_at = new Date(Math.max(Date.now(), Number(record.updated_at) + 1))
    }
    await writeColumns(manager, metadata, record, isNew)
    await writeLinks({ tx: manager, scopeFor: (model) => work.scopeFor(model) }, record, isNew, links)
  })
}

/**
 * Deletes a record. The object keeps its id, so that the response can show it.
 *
 * @throws ValidationErrors (409) when other records refer to it
 * @throws VersionNotLoaded when the record was loaded without its version
 * @throws VersionConflict, or PreconditionFailed because of `If-Match`, when a row with a version has changed, or is missing
 *
 * @param reason why it is deleted, for what takes part in the write
 */
export async function destroyRecord(work: RecordWork, record: Model, reason?: string): Promise<void> {
  const { tx } = work
  const { id } = record
  const metadata = tx.dataSource.getMetadata(record.constructor)
  requireVersion(metadata, record)
  const write: RecordWrite = { work, metadata, record, action: 'destroy', reason }
  const errors = await checkParticipants(write)
  if (errors) throw errors
  const preparations = engineOf(tx.dataSource).beforeDelete?.(metadata) ?? []
  try {
    await withParticipants(write, async ({ tx: inner }) => {
      if (preparations.length === 0) return remove(inner, metadata, record)
      await inSavepoint(inner, async (manager) => {
        for (const statement of preparations) await manager.query(statement, [id])
        await remove(manager, metadata, record)
      })
    })
  } catch (error) {
    rejectConflict(work, record, error)
    const reason = explainDatabaseError(error, metadata)
    if (!(reason instanceof ValidationErrors)) throw reason
    record.id = id
    throw await translateRefusal(tx, reason, record, work.translate)
  } finally {
    record.id = id
  }
}

async function remove(tx: EntityManager, metadata: EntityMetadata, record: Model): Promise<void> {
  if (await fastPath(tx, metadata)?.remove(tx, record)) return
  if (metadata.versionColumn) await lockVersion(tx, metadata, record)
  const { id } = record
  await protectedWrite(tx, metadata, record, (manager) => manager.remove(record))
  record.id = id
}

/** @throws PreconditionFailed (412) after a version conflict, if `If-Match` contained the version that was read */
function rejectConflict(work: RecordWork, record: Model, error: unknown): void {
  if (error instanceof VersionConflict && work.comparison === 'matched')
    throw new PreconditionFailed(`The ${record.constructor.name} has changed since you have read it.`)
}

async function writeColumns(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
  isNew: boolean,
): Promise<void> {
  if (isNew) engineOf(tx.dataSource).prepareInsert?.(metadata, record)
  else await updateLocked(tx, record)
  const reload = mustReload(metadata, record)
  const save = async (): Promise<void> => void (await tx.save(record, { reload }))
  const unread = metadata.columns.filter(
    (column) => !(isNew && column.isSelect) && column.getEntityValue(record) === undefined,
  )
  await (isNew && record.id !== undefined ? insertChosenId(record, save) : save())
  // TypeORM sets the columns that were not read to null, which the next save would write.
  for (const column of unread)
    if (column.getEntityValue(record) === null) column.setEntityValue(record, undefined)
}

/**
 * Runs a write that the database may reject. A savepoint undoes all of a rejected write, unless it is a single statement,
 * which the engine undoes itself. Without the savepoint, PostgreSQL would reject every later query, even those of the page
 * that shows the form again.
 */
function protectedWrite<T>(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  return isOneStatement(metadata, record) ? work(tx) : inSavepoint(tx, work)
}

function isOneStatement(metadata: EntityMetadata, record: Model): boolean {
  const { subscribers } = metadata.dataSource
  const { afterInsertListeners, afterUpdateListeners, afterRemoveListeners } = metadata
  // Work after the statement may fail as well. The first subscriber is the framework's own.
  const laterWork = [afterInsertListeners, afterUpdateListeners, afterRemoveListeners, subscribers.slice(1)]
  if (engineOf(metadata.dataSource).failureAborts || metadata.treeType || laterWork.flat().length > 0)
    return false
  return !metadata.relations.some(
    (relation) =>
      relation.isCascadeInsert ||
      relation.isCascadeUpdate ||
      relation.isCascadeRemove ||
      relation.isManyToMany ||
      (!relation.isManyToOne && relation.getEntityValue(record) !== undefined),
  )
}

/** Whether a record exists in the database. An id does not show it, because the application may have chosen the id. */
export function isSaved(record: Partial<Model>): boolean {
  return record.id !== undefined && record.created_at !== undefined
}

/** Whether an object is a record that does not exist in the database yet. */
export function isNewRecord(record: object): boolean {
  return record instanceof Model && !isSaved(record)
}

/** Whether a written record must be read again: for defaults and versions, and for relations other than many-to-one. */
function mustReload(metadata: EntityMetadata, record: Model): boolean {
  return (
    metadata.getInsertionReturningColumns().some((column) => !column.isCreateDate && !column.isUpdateDate) ||
    metadata.relations.some(
      (relation) => !relation.isManyToOne && relation.getEntityValue(record) !== undefined,
    )
  )
}
