import { QueryFailedError } from 'typeorm'

/** What a database says with an error, whichever it is. */
export type Problem =
  | 'unique'
  | 'reference'
  | 'referenced'
  | 'null'
  | 'length'
  | 'range'
  | 'type'
  | 'check'
  | 'conflict'
  | 'busy'
  | 'slow'
  | 'lost'
  | 'down'

/**
 * The codes of SQLite, PostgreSQL (SQLSTATE) and MariaDB/MySQL for each problem. SQLite has one code for both sides of
 * a foreign key, as PostgreSQL has: the statement, or the detail, says which. Numbers are those of MariaDB that mysql2
 * has no name for, or that of another error of MySQL.
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
  length: [
    '22001',
    'ER_DATA_TOO_LONG',
    'SQLITE_TOOBIG',
    'ER_NET_PACKET_TOO_LARGE',
    'ER_TOO_BIG_ROWSIZE',
    '54000',
  ],
  range: ['22003', 'ER_WARN_DATA_OUT_OF_RANGE', 'ER_DATA_OUT_OF_RANGE'],
  type: [
    '22P02',
    '22007',
    '22008',
    '22021',
    '22P05',
    '22P03',
    'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD',
    'ER_TRUNCATED_WRONG_VALUE',
    'WARN_DATA_TRUNCATED',
    'ER_INVALID_JSON_TEXT',
    'SQLITE_CONSTRAINT_DATATYPE',
    'SQLITE_MISMATCH',
  ],
  check: ['SQLITE_CONSTRAINT_CHECK', '23514', 'ER_CHECK_CONSTRAINT_VIOLATED', 'ER_CONSTRAINT_FAILED', '4025'],
  // The transaction has been rolled back, and would succeed on its own.
  conflict: ['SQLITE_BUSY_SNAPSHOT', '40001', '40P01', 'ER_LOCK_DEADLOCK', 'ER_CHECKREAD'],
  busy: [
    'SQLITE_BUSY',
    'SQLITE_BUSY_RECOVERY',
    'SQLITE_BUSY_TIMEOUT',
    'SQLITE_LOCKED',
    '55P03',
    'ER_LOCK_WAIT_TIMEOUT',
    'ER_LOCK_TABLE_FULL',
    'ER_LOCK_NOWAIT',
  ],
  slow: ['SQLITE_INTERRUPT', '57014', 'ER_QUERY_INTERRUPTED', 'ER_QUERY_TIMEOUT', '1969'],
  lost: [
    '08000',
    '08003',
    '08006',
    '57P01',
    '57P02',
    '57P05',
    '25P03',
    'ER_SERVER_SHUTDOWN',
    'ER_CLIENT_INTERACTION_TIMEOUT',
    '1927',
    'PROTOCOL_CONNECTION_LOST',
    'PROTOCOL_SEQUENCE_TIMEOUT',
    'ECONNRESET',
    'EPIPE',
  ],
  down: [
    'SQLITE_FULL',
    'SQLITE_CANTOPEN',
    'SQLITE_READONLY',
    'SQLITE_IOERR',
    'SQLITE_NOTADB',
    'SQLITE_CORRUPT',
    'SQLITE_NOMEM',
    '08001',
    '08004',
    '53100',
    '53200',
    '53300',
    '57P03',
    '25006',
    'ER_CON_COUNT_ERROR',
    'ER_TOO_MANY_USER_CONNECTIONS',
    'ER_DISK_FULL',
    'ER_RECORD_FILE_FULL',
    'ER_OPTION_PREVENTS_STATEMENT',
    'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
    'ECONNREFUSED',
    'ETIMEDOUT',
    'ENOTFOUND',
  ],
}

const PROBLEMS = new Map(
  (Object.keys(CODES) as Problem[]).flatMap((problem) =>
    CODES[problem].map((code) => [code, problem] as const),
  ),
)

/** How the drivers tell that a connection has ended, where they have no code for it. */
const LOST =
  /^Connection terminated|not queryable|connection is in closed state|^Client was closed|^Query read timeout/

/** What is wrong, by what the driver has thrown; undefined for what no client can do anything about. */
export function problemOf({ driverError, query }: QueryFailedError): Problem | undefined {
  const { code, number, message, detail } = textsOf(driverError)
  const problem =
    PROBLEMS.get(number) ?? PROBLEMS.get(code) ?? PROBLEMS.get(code.split('_').slice(0, 2).join('_'))
  const isStillReferred = /^\s*DELETE/i.test(query) || detail.includes('still referenced')
  if (problem === 'reference' && isStillReferred) return 'referenced'
  return problem ?? (LOST.test(message) ? 'lost' : undefined)
}

/** What an engine's error says in words: SQLite and MariaDB tell all in the message, PostgreSQL has members for it. */
export interface ProblemTexts {
  code: string
  /** The number of a MariaDB error. */
  number: string
  message: string
  detail: string
  column: string
}

/** The parts of what a driver has thrown. */
export function textsOf(driverError: Error): ProblemTexts {
  const members = new Map<string, unknown>(Object.entries(driverError))
  const text = (name: string): string => {
    const value = members.get(name)
    return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  }
  return {
    code: text('code'),
    number: text('errno'),
    message: driverError.message,
    detail: text('detail'),
    column: text('column'),
  }
}

/** Whether the connection was gone before a statement was sent, so that it has not been carried out. */
export function wasNotSent({ driverError }: QueryFailedError): boolean {
  return /not queryable|connection is in closed state/.test(driverError.message)
}
