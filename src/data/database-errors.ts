import { EntityNotFoundError, QueryFailedError } from 'typeorm'
import type { EntityMetadata } from 'typeorm'
import { HttpError, RecordNotFound, ServiceUnavailable, ValidationErrors } from '../errors.js'
import { humanize } from './validation.js'

/** What a database says with an error, whichever it is. */
type Problem =
  'unique' | 'reference' | 'referenced' | 'null' | 'length' | 'range' | 'type' | 'check' | 'busy' | 'down'

/**
 * The codes of SQLite, PostgreSQL (SQLSTATE) and MariaDB/MySQL for each problem. SQLite has one code for both sides of
 * a foreign key, as PostgreSQL has: the statement, or the detail, says which.
 */
const CODES: Record<Problem, readonly string[]> = {
  unique: ['SQLITE_CONSTRAINT_UNIQUE', 'SQLITE_CONSTRAINT_PRIMARYKEY', '23505', 'ER_DUP_ENTRY', 'ER_DUP_KEY'],
  reference: [
    'SQLITE_CONSTRAINT_FOREIGNKEY',
    'SQLITE_CONSTRAINT_TRIGGER',
    '23503',
    'ER_NO_REFERENCED_ROW',
    'ER_NO_REFERENCED_ROW_2',
  ],
  referenced: ['23001', 'ER_ROW_IS_REFERENCED', 'ER_ROW_IS_REFERENCED_2'],
  null: ['SQLITE_CONSTRAINT_NOTNULL', '23502', 'ER_BAD_NULL_ERROR', 'ER_NO_DEFAULT_FOR_FIELD'],
  length: ['22001', 'ER_DATA_TOO_LONG', 'SQLITE_TOOBIG'],
  range: ['22003', '22008', 'ER_WARN_DATA_OUT_OF_RANGE'],
  type: [
    '22P02',
    '22007',
    '22021',
    '22P05',
    'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
    'ER_TRUNCATED_WRONG_VALUE',
    'WARN_DATA_TRUNCATED',
    'SQLITE_CONSTRAINT_DATATYPE',
    'SQLITE_MISMATCH',
  ],
  check: ['SQLITE_CONSTRAINT_CHECK', '23514', 'ER_CHECK_CONSTRAINT_VIOLATED', 'ER_CONSTRAINT_FAILED'],
  busy: [
    'SQLITE_BUSY',
    'SQLITE_BUSY_RECOVERY',
    'SQLITE_BUSY_SNAPSHOT',
    'SQLITE_BUSY_TIMEOUT',
    'SQLITE_LOCKED',
    '40001',
    '40P01',
    '55P03',
    '57014',
    'ER_LOCK_DEADLOCK',
    'ER_LOCK_WAIT_TIMEOUT',
    'ER_CHECKREAD',
  ],
  down: [
    'SQLITE_FULL',
    'SQLITE_CANTOPEN',
    'SQLITE_READONLY',
    'SQLITE_IOERR',
    'SQLITE_NOTADB',
    'SQLITE_CORRUPT',
    'SQLITE_NOMEM',
    '08000',
    '08003',
    '08006',
    '53100',
    '53200',
    '53300',
    '57P01',
    '57P02',
    '57P03',
    '25006',
    'ER_CON_COUNT_ERROR',
    'ER_SERVER_SHUTDOWN',
    'ER_DISK_FULL',
    'ER_RECORD_FILE_FULL',
    'ER_OPTION_PREVENTS_STATEMENT',
    'PROTOCOL_CONNECTION_LOST',
    'ECONNREFUSED',
    'ECONNRESET',
    'ETIMEDOUT',
    'EPIPE',
    'ENOTFOUND',
  ],
}

const PROBLEMS = new Map(
  (Object.keys(CODES) as Problem[]).flatMap((problem) =>
    CODES[problem].map((code) => [code, problem] as const),
  ),
)

/** What is said about the field. A problem that is not listed is none of a field. */
const SENTENCES: Partial<Record<Problem, { status: 422 | 409; rule: string; says: string }>> = {
  unique: { status: 409, rule: 'unique', says: 'has already been taken' },
  reference: { status: 422, rule: 'reference', says: 'does not exist' },
  referenced: { status: 409, rule: 'referenced', says: 'is still referred to by other records' },
  null: { status: 422, rule: 'present', says: 'can not be blank' },
  length: { status: 422, rule: 'too_long', says: 'is too long' },
  range: { status: 422, rule: 'range', says: 'is out of range' },
  type: { status: 422, rule: 'type', says: 'can not be read' },
  check: { status: 422, rule: 'check', says: 'is not allowed' },
}

/** The field of errors that are of the record as a whole, or of a column that the database does not name. */
export const RECORD = 'base'

/**
 * Says what an error of the database means for a client: ValidationErrors for what is wrong with a record,
 * ServiceUnavailable for what may go better soon, RecordNotFound. Any other error is returned as it is.
 *
 * @param metadata the model whose record was written; it tells the column of an index
 */
export function explainDatabaseError(error: unknown, metadata?: EntityMetadata): unknown {
  if (error instanceof HttpError) return error
  if (error instanceof EntityNotFoundError) return new RecordNotFound(nameOf(error.entityClass))
  if (!(error instanceof QueryFailedError)) return error

  const failure: Failure = { ...textsOf(error.driverError), query: error.query, metadata }
  const problem = problemOf(failure)
  if (problem === 'busy') {
    return new ServiceUnavailable('another request changes the same data; try again', 1, { cause: error })
  }
  if (problem === 'down') return new ServiceUnavailable('the database does not answer', 5, { cause: error })

  const sentence = problem && SENTENCES[problem]
  if (!sentence) return error
  const field = problem === 'referenced' ? RECORD : (fieldOf(failure) ?? RECORD)
  const attribute = field === RECORD ? humanizeModel(metadata) : humanize(field)
  return new ValidationErrors(sentence.status, { cause: error }).add(
    field,
    sentence.rule,
    `${attribute} ${sentence.says}.`,
    { attribute },
  )
}

interface Failure {
  code: string
  message: string
  detail: string
  column: string
  query: string
  metadata: EntityMetadata | undefined
}

/** The parts of an engine's error: SQLite tells all in its message, PostgreSQL has members for it. */
function textsOf(driverError: Error): Pick<Failure, 'code' | 'message' | 'detail' | 'column'> {
  const members = new Map<string, unknown>(Object.entries(driverError))
  const text = (name: string): string => {
    const value = members.get(name)
    return typeof value === 'string' ? value : ''
  }
  return { code: text('code'), message: driverError.message, detail: text('detail'), column: text('column') }
}

function problemOf({ code, query, detail }: Failure): Problem | undefined {
  const problem = PROBLEMS.get(code) ?? PROBLEMS.get(code.split('_').slice(0, 2).join('_'))
  const isStillReferred = /^\s*DELETE/i.test(query) || detail.includes('still referenced')
  return problem === 'reference' && isStillReferred ? 'referenced' : problem
}

/** How the engines name the columns of an error, and the index whose columns they are. */
const COLUMNS = [
  /^(?:UNIQUE|NOT NULL) constraint failed: (?<columns>.+)$/,
  /^Key \((?<columns>[^)]+)\)/,
  /FOREIGN KEY \(`(?<columns>[^`]+)`\)/,
  /(?:[Cc]olumn|Field) [`'"](?<columns>[^`'"]+)[`'"](?: at row| cannot| doesn)/,
  /for column .*[`'](?<columns>[^`']+)[`'] at row/,
]
const INDEX = /for key '(?:[^.']+\.)?(?<index>[^']+)'|index '(?<index2>[^']+)'/

function fieldOf(failure: Failure): string | undefined {
  if (failure.column) return failure.column
  const named = COLUMNS.flatMap(
    (pattern) =>
      pattern.exec(failure.detail)?.groups?.['columns'] ??
      pattern.exec(failure.message)?.groups?.['columns'] ??
      [],
  )
  const columns = named[0]?.split(/,\s*/).map(bareName) ?? columnsOfIndex(failure)
  // Of an index over a reference and an attribute it is the attribute that a user can mend.
  return columns.find((column) => !column.endsWith('_id')) ?? columns[0]
}

/** MariaDB and MySQL name the index only: the model knows its columns, or its name holds one of theirs. */
function columnsOfIndex({ message, metadata }: Failure): string[] {
  const groups = INDEX.exec(message)?.groups
  const name = groups?.['index'] ?? groups?.['index2']
  if (!name || !metadata) return []
  if (name === 'PRIMARY') return metadata.primaryColumns.map((column) => column.databaseName)
  const index = [...metadata.indices, ...metadata.uniques].find(
    (index) => digest(index.name) === digest(name),
  )
  const columns =
    index?.columns ?? metadata.columns.filter((column) => endsWithWord(name, column.databaseName))
  return columns.map((column) => column.databaseName)
}

/** A generated name without what it is of: `UQ_2d82eb...` of a migration is the `IDX_2d82eb...` of a model. */
function digest(name: string): string {
  return name.replace(/^(?:UQ|IDX|REL)_/, '').slice(0, 26)
}

function endsWithWord(name: string, word: string): boolean {
  return name === word || name.endsWith(`_${word}`) || name.includes(`_${word}_`)
}

/** `posts.title` and `"title"` are the column `title`. */
function bareName(column: string): string {
  return column.replaceAll(/["`]/g, '').split('.').at(-1) ?? column
}

function humanizeModel(metadata: EntityMetadata | undefined): string {
  return metadata ? humanize(metadata.targetName.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')) : 'The record'
}

function nameOf(target: unknown): string {
  return typeof target === 'function' ? target.name : String(target)
}
