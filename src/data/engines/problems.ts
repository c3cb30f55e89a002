import { QueryFailedError } from 'typeorm'
import type { Problem } from './engine.js'
import { ENGINES } from './engines.js'

/** The error codes of the system, which every driver passes on. */
const SYSTEM: Partial<Record<Problem, readonly string[]>> = {
  lost: ['ECONNRESET', 'EPIPE'],
  down: ['ECONNREFUSED', 'ETIMEDOUT', 'ENOTFOUND'],
}

const PROBLEMS = new Map(
  [SYSTEM, ...ENGINES.map(({ errors }) => errors.codes)].flatMap((codes) =>
    // The keys of these tables are of the type Problem.
    (Object.entries(codes) as [Problem, readonly string[]][]).flatMap(([problem, list]) =>
      list.map((code) => [code, problem] as const),
    ),
  ),
)

const MESSAGES = ENGINES.flatMap(({ errors }) => errors.messages ?? [])
const COLUMNS = ENGINES.flatMap(({ errors }) => errors.columns)
const INDEXES = ENGINES.flatMap(({ errors }) => errors.indexes ?? [])
const COLUMN_CHECKS = ENGINES.flatMap(({ errors }) => errors.columnCheck ?? [])
const UNSENT = ENGINES.flatMap(({ errors }) => errors.unsent ?? [])

/** The parts of an engine's error: SQLite and MariaDB put everything into the message, PostgreSQL has members. */
export interface ProblemTexts {
  code: string
  /** The number of a MariaDB error. */
  number: string
  message: string
  detail: string
  column: string
}

/** The problem that a driver has reported; undefined if clients cannot do anything about the error. */
export function problemOf({ driverError, query }: QueryFailedError): Problem | undefined {
  const { code, number, message, detail } = textsOf(driverError)
  const problem = PROBLEMS.get(number) ?? problemOfCode(code)
  const isStillReferred = /^\s*DELETE/i.test(query) || detail.includes('still referenced')
  if (problem === 'reference' && isStillReferred) return 'referenced'
  return problem ?? MESSAGES.find(([text]) => text.test(message))?.[1]
}

/** The problem of a code. SQLite's codes are extended: `SQLITE_READONLY_DIRECTORY`. */
export function problemOfCode(code: string): Problem | undefined {
  return PROBLEMS.get(code) ?? PROBLEMS.get(shortCode(code))
}

/** The code without SQLite's extension: `SQLITE_READONLY`. */
export function shortCode(code: string): string {
  return code.split('_').slice(0, 2).join('_')
}

/** The parts of a driver's error. */
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

/** The columns that an error message contains, as the engine writes them. */
export function namedColumns({ detail, message }: ProblemTexts): string[] | undefined {
  return (firstGroup(COLUMNS, detail) ?? firstGroup(COLUMNS, message))?.split(/,\s*/)
}

/** The index that an error message contains. */
export function namedIndex({ message }: ProblemTexts): string | undefined {
  return firstGroup(INDEXES, message)
}

/** The column whose own check failed. */
export function checkedColumn({ message }: ProblemTexts): string | undefined {
  return firstGroup(COLUMN_CHECKS, message)
}

/** Whether the connection was gone before a statement was sent, so that it was not executed. */
export function wasNotSent({ driverError: { message } }: QueryFailedError): boolean {
  return UNSENT.some((text) => text.test(message))
}

function firstGroup(patterns: readonly RegExp[], text: string): string | undefined {
  for (const pattern of patterns) {
    const [group] = Object.values(pattern.exec(text)?.groups ?? {})
    if (group !== undefined) return group
  }
  return undefined
}
