import type { EntityManager, EntityMetadata } from 'typeorm'
import { ValidationErrors } from '../errors.js'
import { humanize } from '../naming/words.js'
import { markTranslated, translateAdded } from '../models/validation/added-errors.js'
import { RECORD } from '../common/record-field.js'
import { attributeOf, explainDatabaseError } from '../database/database-errors.js'
import type { Model } from '../models/model.js'
import { isTooLong } from '../models/attributes/kinds.js'
import type { RecordWrite } from './participants.js'
import { valueOf } from './row.js'
import { attributeName, messageOf, type Translate } from '../models/validation/validation.js'

/** Converts an error of the database to errors of the record. Any other error is thrown again. */
export async function violationsOf(
  tx: EntityManager,
  record: Model,
  error: unknown,
  pathKeys?: ReadonlySet<string>,
): Promise<ValidationErrors> {
  const metadata = tx.dataSource.getMetadata(record.constructor)
  const errors = explainDatabaseError(error, metadata, [metadata], pathKeys)
  if (!(errors instanceof ValidationErrors)) throw errors

  const [violation] = errors.fields.get(RECORD) ?? []
  const column = violation && (await fieldOf(tx, metadata, record, violation.rule))
  if (!violation || !column) return errors
  const field = attributeOf(column, [metadata])
  const attribute = humanize(field)
  return new ValidationErrors(errors.status === 409 ? 409 : 422, { cause: error }).add(
    field,
    violation.rule,
    violation.rule === 'reference' ? `${attribute} does not exist.` : `${attribute} is too long.`,
    { attribute },
  )
}

/** Finds the column of an error that does not name it: a reference (SQLite), or long text (PostgreSQL). */
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

/** The column of a record's foreign key that refers to a missing record. */
async function missingReference(
  tx: EntityManager,
  metadata: EntityMetadata,
  record: Model,
): Promise<string | undefined> {
  for (const { columns, referencedColumns, referencedEntityMetadata } of metadata.foreignKeys) {
    const [column] = columns
    const [referenced] = referencedColumns
    if (!column || !referenced) continue
    const value = valueOf(record, column)
    if (value === undefined || value === null) continue
    const where = { [referenced.propertyName]: value }
    if (!(await tx.exists(referencedEntityMetadata.target, { where, withDeleted: true })))
      return column.databaseName
  }
  return undefined
}

/**
 * Explains in the language of the request why the database has rejected a write. The error of a record that
 * cannot be deleted names the models whose records refer to the record, if they are known: `Comments`.
 */
export async function explainRejection(
  { work, metadata, record }: RecordWrite,
  error: unknown,
): Promise<ValidationErrors> {
  const { tx, translate: t, pathKeys } = work
  const { constructor } = record
  const errors = await violationsOf(tx, record, error, pathKeys)
  const violation = t && errors.fields.get(RECORD)?.find(({ rule }) => rule === 'referenced')
  const names = violation ? await referrersOf(tx, metadata, record) : []
  if (!violation || names.length === 0) return translate(errors, record, t)
  const records = names.map((name) => t(name, {}) ?? humanize(name)).join(', ')
  const values = { attribute: attributeName(constructor, RECORD, t), records }
  const given = t('validation.referenced', values, 'application') ?? t('validation.referenced_by', values)
  const texts = { given, own: violation.message }
  violation.message = messageOf(constructor, RECORD, 'referenced', values, texts, t)
  violation.values = values
  markTranslated(errors)
  return errors
}

/** The tables of the models that have records which refer to a record, and prevent that it is deleted. */
async function referrersOf(tx: EntityManager, metadata: EntityMetadata, record: Model): Promise<string[]> {
  const { entityMetadatas, driver } = tx.dataSource
  const found = new Set<string>()
  for (const other of entityMetadatas) {
    for (const { columns, referencedColumns, referencedEntityMetadata, onDelete } of other.foreignKeys) {
      const [[column], [referenced]] = [columns, referencedColumns]
      const isFreed = onDelete === 'CASCADE' || onDelete === 'SET NULL'
      if (referencedEntityMetadata !== metadata || isFreed || !column || !referenced) continue
      const query = tx.createQueryBuilder(other.target, 'other').withDeleted()
      const name = `${driver.escape('other')}.${driver.escape(column.databaseName)}`
      if (await query.where(`${name} = :value`, { value: referenced.getEntityValue(record) }).getExists())
        found.add(other.tableName)
    }
  }
  return [...found]
}

/** Translates the errors that the database has found in a record. */
export function translate(errors: ValidationErrors, record: Model, t?: Translate): ValidationErrors {
  for (const violation of [...errors.fields.values()].flat()) violation.isDefault = true
  translateAdded(errors, record.constructor, t)
  return errors
}
