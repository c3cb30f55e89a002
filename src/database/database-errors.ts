import { RECORD } from '../common/record-field.js'
import { EntityNotFoundError, QueryFailedError } from 'typeorm'
import type { EntityMetadata } from 'typeorm'
import {
  HttpError,
  RecordNotFound,
  ServiceUnavailable,
  TransactionConflict,
  ValidationErrors,
} from '../errors.js'
import { humanize } from '../naming/words.js'
import { kindOf } from '../models/attributes/attributes.js'
import { transformRules } from '../models/attributes/transform-metadata.js'
import type { Problem } from './engines/engine.js'
import { nameIn, problemOf, textsOf, type ProblemTexts } from './engines/problems.js'

/** The error of the field for each problem. Problems that are not listed do not belong to a field. */
const SENTENCES: Partial<Record<Problem, { status: 422 | 409; rule: string; says: string }>> = {
  unique: { status: 409, rule: 'unique', says: 'has already been taken' },
  reference: { status: 422, rule: 'reference', says: 'does not exist' },
  referenced: { status: 409, rule: 'referenced', says: 'is referred to by another record' },
  null: { status: 422, rule: 'present', says: 'cannot be blank' },
  length: { status: 422, rule: 'too_long', says: 'is too long' },
  range: { status: 422, rule: 'range', says: 'is out of range' },
  type: { status: 422, rule: 'type', says: 'is not valid' },
  check: { status: 422, rule: 'check', says: 'is not allowed' },
  exclusion: { status: 409, rule: 'exclusion', says: 'conflicts with another record' },
}

/**
 * Translates an error of the database for a client: ValidationErrors if the record is wrong,
 * ServiceUnavailable if a later request may succeed, RecordNotFound if TypeORM has found no record. Any other
 * error is returned unchanged.
 *
 * @param metadata the model whose record was written
 * @param models the models whose records may have been written; they contain the columns of each index
 * @param pathKeys the columns that the request's path sets; undefined if there is no request
 */
export function explainDatabaseError(
  error: unknown,
  metadata?: EntityMetadata,
  models: readonly EntityMetadata[] = metadata ? [metadata] : [],
  pathKeys?: ReadonlySet<string>,
): unknown {
  if (error instanceof HttpError) return error
  if (error instanceof EntityNotFoundError) return new RecordNotFound(nameOf(error.entityClass))
  if (!(error instanceof QueryFailedError)) return error

  const failure: Failure = { ...textsOf(error.driverError), metadata, models, pathKeys }
  const problem = refine(problemOf(error), failure)
  const unavailable = problem && UNAVAILABLE[problem]?.(error)
  if (unavailable) return unavailable

  const sentence = problem && SENTENCES[problem]
  if (!sentence) return error
  const column = problem === 'referenced' ? undefined : fieldOf(failure, problem)
  const field = column === undefined ? RECORD : attributeOf(column, models)
  const attribute = field === RECORD ? humanizeModel(metadata) : humanize(field)
  return new ValidationErrors(sentence.status, { cause: error }).add(
    field,
    sentence.rule,
    `${attribute} ${sentence.says}.`,
    { attribute },
  )
}

/** The texts of an error, and the parameters of `explainDatabaseError`. */
interface Failure extends ProblemTexts {
  metadata: EntityMetadata | undefined
  models: readonly EntityMetadata[]
  pathKeys: ReadonlySet<string> | undefined
}

/** Problems that the record did not cause. A later request may succeed. */
const UNAVAILABLE: Partial<Record<Problem, (cause: Error) => ServiceUnavailable>> = {
  conflict: (cause) => new TransactionConflict({ cause }),
  busy: (cause) =>
    new ServiceUnavailable('Another request is changing the same data. Try again.', 1, { cause }),
  slow: (cause) =>
    new ServiceUnavailable('The database took too long, so the statement was canceled.', 5, { cause }),
  lost: (cause) => new ServiceUnavailable('The connection to the database was lost.', 5, { cause }),
  down: (cause) => new ServiceUnavailable('The database does not respond.', 5, { cause }),
  readonly: (cause) => new ServiceUnavailable('The database only reads at the moment.', 5, { cause }),
}

/** MariaDB adds a check to each JSON column. If it fails, the value is not JSON. */
function refine(problem: Problem | undefined, failure: Failure): Problem | undefined {
  const name = problem === 'check' ? nameIn(failure, 'checkedColumn') : undefined
  if (!name) return problem
  const column = failure.metadata?.columns.find(({ databaseName }) => databaseName === name)
  return !column || kindOf(column.type) === 'json' ? 'type' : problem
}

function fieldOf(failure: Failure, problem: Problem): string | undefined {
  if (failure.column) return failure.column
  const columns = nameIn(failure, 'columns')?.split(/,\s*/).map(bareName) ?? columnsOfIndex(failure)
  // A user cannot correct a key that the path sets, or one that no body sets, so the error belongs to another
  // column. Without a request, each `_id` counts.
  const isFixed = (column: string) =>
    failure.pathKeys
      ? failure.pathKeys.has(attributeOf(column, failure.models)) || isUnbound(failure, column)
      : column.endsWith('_id')
  const [field, ...others] = columns.filter((column) => !isFixed(column))
  // Such a constraint concerns several columns, and expressions like `tstzrange(starts_at, ends_at)`.
  if (problem === 'exclusion' && (others.length > 0 || !isColumn(failure, field))) return undefined
  return field ?? columns[0]
}

function isColumn({ metadata }: Failure, name: string | undefined): boolean {
  return metadata?.columns.some(({ databaseName }) => databaseName === name) ?? false
}

/** The attribute of a column. A foreign key without an attribute has the name of its column. */
export function attributeOf(name: string, models: readonly EntityMetadata[]): string {
  const columns = models.flatMap((model) => model.columns)
  const column = columns.find(({ databaseName, isVirtual }) => databaseName === name && !isVirtual)
  return column?.propertyName ?? name
}

/** Whether the model excludes a column from bodies, like the key of an owner. */
function isUnbound({ metadata }: Failure, name: string): boolean {
  const column = metadata?.columns.find(({ databaseName }) => databaseName === name)
  return (
    typeof metadata?.target === 'function' &&
    column !== undefined &&
    transformRules(metadata.target, column.propertyName, 'toClass').isExcluded
  )
}

/** MariaDB and MySQL report only the name of an index. Its columns are in the model, or in the name. */
function columnsOfIndex(failure: Failure): string[] {
  const { metadata, models } = failure
  const name = nameIn(failure, 'index')
  if (!name) return []
  if (name === 'PRIMARY') return metadata?.primaryColumns.map((column) => column.databaseName) ?? []
  const index = models
    .flatMap(({ indices, uniques }) => [...indices, ...uniques])
    .find((index) => digest(index.name) === digest(name))
  const columns =
    index?.columns ?? metadata?.columns.filter((column) => endsWithWord(name, column.databaseName)) ?? []
  return columns.map((column) => column.databaseName)
}

/** The 26 digits in TypeORM's names: `UQ_2d82eb...` in a migration, and `IDX_2d82eb...` in a model. */
function digest(name: string): string {
  return name.replace(/^(?:UQ|IDX|REL)_(.{1,26}).*$/, '$1')
}

function endsWithWord(name: string, word: string): boolean {
  return name === word || name.endsWith(`_${word}`) || name.includes(`_${word}_`)
}

/** `posts.title` and `"title"` are the `title` column. */
function bareName(column: string): string {
  return column.replaceAll(/["`]/g, '').split('.').at(-1) ?? column
}

function humanizeModel(metadata: EntityMetadata | undefined): string {
  return metadata ? humanize(metadata.targetName.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')) : 'The record'
}

function nameOf(target: unknown): string {
  return typeof target === 'function' ? target.name : String(target)
}
