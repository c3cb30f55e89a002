import type { EntityManager, EntityMetadata } from 'typeorm'
import { ValidationErrors } from '../../errors.js'
import { humanize, recordName } from '../../naming/words.js'
import { markTranslated } from './added-errors.js'
import { explainDatabaseError, RECORD } from '../database-errors.js'
import type { Model } from '../model.js'
import { isTooLong } from '../attributes/text-length.js'
import { attributeName, messageOf, type Translate } from './validation.js'

/** Converts an error of the database to errors of the record. Any other error is thrown again. */
export async function violationsOf(
  tx: EntityManager,
  record: Model,
  error: unknown,
  pathKeys?: ReadonlySet<string>,
): Promise<ValidationErrors> {
  const metadata = tx.dataSource.getMetadata(record.constructor)
  const explained = explainDatabaseError(error, metadata, [metadata], pathKeys)
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

/** Finds the column if the engine does not name it: a reference (SQLite), a text (PostgreSQL). */
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

/** The column of a record whose reference does not exist. */
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

/** Translates the database's errors like those of class-validator. */
export function translate(
  errors: ValidationErrors,
  record: Model,
  t: Translate | undefined,
): ValidationErrors {
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
  markTranslated(translated)
  return translated
}

/** The name of a field, or of the whole record if the locale files have a name for it. */
function nameOf(record: Model, field: string, t: Translate | undefined): string | undefined {
  if (field !== RECORD) return attributeName(record.constructor, field, t)
  return t?.(recordName(record.constructor.name), {})
}
