import type { EntityManager, EntityMetadata } from 'typeorm'
import { ValidationErrors } from '../../errors.js'
import { humanize } from '../../naming/words.js'
import { translateAdded } from './added-errors.js'
import { explainDatabaseError, RECORD } from '../database-errors.js'
import type { Model } from '../model.js'
import { isTooLong } from '../attributes/kinds.js'
import type { Translate } from './validation.js'

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
  const field = violation && (await fieldOf(tx, metadata, record, violation.rule))
  if (!violation || !field) return errors
  const attribute = humanize(field)
  return new ValidationErrors(errors.status === 409 ? 409 : 422, { cause: error }).add(
    field,
    violation.rule,
    violation.rule === 'reference' ? `${attribute} does not exist.` : `${attribute} is too long.`,
    { attribute },
  )
}

/** Finds the column of an error that does not name it: of a reference (SQLite), or of a long text (PostgreSQL). */
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
    const value: unknown = column?.getEntityValue(record)
    if (!column || !referenced || value === undefined || value === null) continue
    const where = { [referenced.propertyName]: value }
    if (!(await tx.existsBy(referencedEntityMetadata.target, where))) return column.databaseName
  }
  return undefined
}

/** Translates the errors that the database has found in a record. */
export function translate(errors: ValidationErrors, record: Model, t?: Translate): ValidationErrors {
  for (const violation of [...errors.fields.values()].flat()) violation.isDefault = true
  translateAdded(errors, record.constructor, t)
  return errors
}
