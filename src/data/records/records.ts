import type { EntityManager, EntityMetadata, EntityTarget, FindOptionsWhere } from 'typeorm'
import { RecordNotFound, ValidationErrors } from '../../errors.js'
import { humanize, recordName } from '../../names.js'
import { readConditions } from './conditions.js'
import { explainDatabaseError, RECORD } from '../database-errors.js'
import { selectRecords } from './fast-path/cached-queries.js'
import { dropStale, withoutLoaded } from './loaded-relations.js'
import { engineOf } from '../engines/engines.js'
import { lockOption, markLocked, seeLocked, type FindRecordOptions } from './locking.js'
import type { Model } from '../model.js'
import { plainModel } from './fast-path/plain-model.js'
import { plainSaving } from './fast-path/plain-writes.js'
import { inSavepoint } from '../transactions/savepoints.js'
import { isTooLong } from '../text-length.js'
import { addedMessage, attributeName, messageOf, validate } from '../validation.js'
import type { Translate } from '../validation.js'

/**
 * Finds the record of a model that has this id.
 *
 * @throws RecordNotFound (404) if there is none, also if the id is not text
 */
export async function findRecord<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  id: unknown,
  options?: FindRecordOptions,
): Promise<T> {
  return findRecordBy(tx, model, typeof id === 'string' ? { id } : {}, options)
}

/**
 * Finds one record of a model by the values of its columns.
 *
 * @example await findRecordBy(tx, Comment, { id: comment_id, post_id })
 * @throws RecordNotFound (404) if there is none, also for conditions that no record can meet, and without conditions
 */
export async function findRecordBy<T extends Model>(
  tx: EntityManager,
  model: EntityTarget<T>,
  conditions: object,
  { lock = false }: FindRecordOptions = {},
): Promise<T> {
  const metadata = tx.dataSource.getMetadata(model)
  const where = namesColumns(conditions) ? readConditions(metadata, conditions) : undefined
  const record = where && (await findOne<T>(tx, metadata, where, lock))
  if (!record) throw notFound(metadata)
  if (lock) markLocked(record)
  return record
}

/** Whether conditions name a column at all: a list, or no condition, would find the first record. */
function namesColumns(conditions: unknown): conditions is object {
  if (typeof conditions !== 'object' || conditions === null || Array.isArray(conditions)) return false
  return Object.keys(conditions).length > 0
}

/** In production nobody is shown where the record was looked for, and the stack is what costs most of that answer. */
function notFound({ targetName, dataSource }: EntityMetadata): RecordNotFound {
  const { stackTraceLimit } = Error
  // A plain DataSource of TypeORM has no environment.
  if (Reflect.get(dataSource, 'environment') === 'production') Error.stackTraceLimit = 0
  const error = new RecordNotFound(targetName)
  Error.stackTraceLimit = stackTraceLimit
  return error
}

async function findOne<T extends Model>(
  tx: EntityManager,
  metadata: EntityMetadata,
  where: object,
  lock: boolean,
): Promise<T | undefined> {
  const plain = plainModel(tx, metadata)
  const found = plain && (await selectRecords(tx, plain, { where, limit: 1, lock }))
  // A plain model's records are of its class. What is no plain model's is up to TypeORM.
  if (found) return found[0] as T | undefined
  const options = { where: where as FindOptionsWhere<T>, ...(lock && lockOption(tx, metadata)) }
  return (await tx.findOne<T>(metadata.target, options)) ?? undefined
}

/**
 * Validates a record and, when nothing is wrong, asks the hook of its model, and inserts or updates it.
 *
 * @param known what is wrong with fields that could not be read
 * @returns what is wrong, be it that the database says so, or undefined when the record has been saved
 */
export async function saveRecord(
  tx: EntityManager,
  record: Model,
  t?: Translate,
  known?: ValidationErrors,
): Promise<ValidationErrors | undefined> {
  const isNew = !isSaved(record)
  const errors = await validate(record, t, known)
  if (errors) return errors

  // A model may have left its hooks away, or assigned undefined to them.
  const hook = isNew ? record.validateCreate : record.validateUpdate
  const further = new ValidationErrors()
  await hook?.call(record, further, tx)
  if (!further.isEmpty) return translateAdded(further, record, t)

  const metadata = tx.dataSource.getMetadata(record.constructor)
  const refused = await withoutLoaded(metadata, record, () => writeOrRefuse(tx, record, isNew, t))
  if (!refused) dropStale(metadata, record)
  return refused
}

/** Writes a record, unless the database refuses it. */
async function writeOrRefuse(
  tx: EntityManager,
  record: Model,
  isNew: boolean,
  t: Translate | undefined,
): Promise<ValidationErrors | undefined> {
  const { id, created_at, updated_at } = record
  try {
    await undoable(tx, record, (manager) => write(manager, record, isNew))
    return undefined
  } catch (error) {
    Object.assign(record, { id, created_at, updated_at })
    return translate(await refusal(tx, record, error), record, t)
  }
}

/**
 * Deletes a record. It keeps its id, so that it can be shown once more.
 *
 * @throws ValidationErrors (409) when other records refer to it
 */
export async function destroyRecord(tx: EntityManager, record: Model, t?: Translate): Promise<void> {
  const { id } = record
  try {
    await undoable(tx, record, (manager) => remove(manager, record))
  } catch (error) {
    const explained = explainDatabaseError(error, tx.dataSource.getMetadata(record.constructor))
    throw explained instanceof ValidationErrors ? translate(explained, record, t) : explained
  } finally {
    record.id = id
  }
}

/** Inserts or updates a record: a plain one by a statement that is built once, any other as TypeORM does. */
async function write(tx: EntityManager, record: Model, isNew: boolean): Promise<void> {
  const saving = plainSaving(tx, record, ['beforeInsert', 'afterInsert', 'beforeUpdate', 'afterUpdate'])
  // An id that was chosen may be that of a record which is there already.
  if (saving && isNew && record.id === undefined) return saving.insert(tx, record)
  if (saving && !isNew && (await saving.update(tx, record))) return
  if (isNew) engineOf(tx.dataSource).prepareInsert?.(tx.dataSource.getMetadata(record.constructor), record)
  else await seeLocked(tx, record)
  await tx.save(record, { reload: mustReload(tx, record) })
}

async function remove(tx: EntityManager, record: Model): Promise<void> {
  const saving = plainSaving(tx, record, ['beforeRemove', 'afterRemove'])
  await (saving && record.id !== undefined ? saving.remove(tx, record) : tx.remove(record))
}

/**
 * Does what the database may refuse, so that a refusal leaves nothing of it behind: in a savepoint, unless it is one
 * statement that the engine undoes itself. PostgreSQL would refuse every query after it, and the form is shown again
 * with some.
 */
async function undoable<T>(
  tx: EntityManager,
  record: Model,
  work: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  return isOneStatement(tx, record) ? work(tx) : inSavepoint(tx, work)
}

function isOneStatement(tx: EntityManager, record: Model): boolean {
  const { subscribers } = tx.dataSource
  const metadata = tx.dataSource.getMetadata(record.constructor)
  const { afterInsertListeners, afterUpdateListeners, afterRemoveListeners } = metadata
  // What comes after the statement may fail as well. The first subscriber is the framework's own.
  const after = [afterInsertListeners, afterUpdateListeners, afterRemoveListeners, subscribers.slice(1)]
  if (engineOf(tx.dataSource).failureAborts || metadata.treeType || after.flat().length > 0) return false
  return !metadata.relations.some(
    (relation) =>
      relation.isCascadeInsert ||
      relation.isCascadeUpdate ||
      relation.isCascadeRemove ||
      relation.isManyToMany ||
      (!relation.isManyToOne && relation.getEntityValue(record) !== undefined),
  )
}

/** Whether a record comes from the database. Its id alone does not tell: it may have been chosen before. */
function isSaved(record: Partial<Model>): boolean {
  return record.id !== undefined && record.created_at !== undefined
}

/** Whether the database knows more of a saved record than the framework has set: a default, a version, a relation. */
function mustReload(tx: EntityManager, record: Model): boolean {
  const metadata = tx.dataSource.getMetadata(record.constructor)
  return (
    metadata.getInsertionReturningColumns().some((column) => !column.isCreateDate && !column.isUpdateDate) ||
    metadata.relations.some(
      (relation) => !relation.isManyToOne && relation.getEntityValue(record) !== undefined,
    )
  )
}

/** What the database has against a record. An error that is none of the record is thrown. */
async function refusal(tx: EntityManager, record: Model, error: unknown): Promise<ValidationErrors> {
  const metadata = tx.dataSource.getMetadata(record.constructor)
  const explained = explainDatabaseError(error, metadata)
  if (!(explained instanceof ValidationErrors)) throw explained

  const [violation] = explained.fields.get(RECORD) ?? []
  const field = violation && (await fieldOf(tx, metadata, record, violation.rule))
  if (!violation || !field) return explained
  const attribute = humanize(field)
  return new ValidationErrors(explained.status === 409 ? 409 : 422, { cause: error }).add(
    field,
    violation.rule,
    violation.rule === 'reference' ? `${attribute} does not exist.` : `${attribute} is too long.`,
    { attribute },
  )
}

/** The column that was refused, where the engine does not say so: a reference (SQLite), a text (PostgreSQL). */
async function fieldOf(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
  rule: string,
): Promise<string | undefined> {
  if (rule === 'reference') return missingReference(tx, metadata, record)
  if (rule !== 'too_long') return undefined
  return metadata.columns.find((column) => {
    const value: unknown = column.getEntityValue(record)
    return typeof value === 'string' && isTooLong(value, column)
  })?.databaseName
}

/** The column of a record that refers to nothing. */
async function missingReference(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
): Promise<string | undefined> {
  for (const { columns, referencedColumns, referencedEntityMetadata } of metadata.foreignKeys) {
    const [column] = columns
    const [referenced] = referencedColumns
    const value: unknown = column?.getEntityValue(record)
    if (!column || !referenced || value === undefined || value === null) continue
    const where = { [referenced.propertyName]: value }
    if (!(await tx.existsBy(referencedEntityMetadata.target, where))) return column.databaseName
  }
  return undefined
}

/** What the database says is translated as what class-validator says. */
function translate(errors: ValidationErrors, record: Model, t: Translate | undefined): ValidationErrors {
  const translated = new ValidationErrors(errors.status === 409 ? 409 : 422, { cause: errors.cause })
  for (const [field, violations] of errors.fields) {
    for (const { rule, message, values: given = {} } of violations) {
      const values = { ...given, attribute: nameOf(record, field, t) ?? given['attribute'] }
      translated.add(
        field,
        rule,
        messageOf(record.constructor, field, rule, values, { own: message }, t),
        values,
      )
    }
  }
  return translated
}

/** What a hook of the model has added. */
function translateAdded(errors: ValidationErrors, record: Model, t: Translate | undefined): ValidationErrors {
  const translated = new ValidationErrors(errors.status === 409 ? 409 : 422, { cause: errors.cause })
  for (const [field, violations] of errors.fields) {
    const attribute = nameOf(record, field, t) ?? humanize(recordName(record.constructor.name))
    for (const violation of violations) {
      const values = { ...violation.values, attribute }
      const message = addedMessage(record.constructor, field, violation, values, t)
      translated.add(field, violation.rule, message, values)
    }
  }
  return translated
}

/** What a field is called, or the record as a whole where it has a name in the locale files. */
function nameOf(record: Model, field: string, t: Translate | undefined): string | undefined {
  if (field !== RECORD) return attributeName(record.constructor, field, t)
  return t?.(recordName(record.constructor.name), {})
}
