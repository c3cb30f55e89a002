import { QueryFailedError } from 'typeorm'
import type { ErrorName, Problem } from './engine.js'
import { ENGINES } from './engines.js'

/** The error codes of the operating system, which every driver passes on. */
const SYSTEM: Partial<Record<Problem, readonly string[]>> = {
  lost: ['ECONNRESET', 'EPIPE'],
  down: ['ECONNREFUSED', 'ETIMEDOUT', 'ENOTFOUND'],
}

/** The problem of each error code of the system and of the engines. */
const PROBLEMS = new Map(
  [SYSTEM, ...ENGINES.map(({ errors }) => errors.codes)].flatMap((codes) =>
    // The keys of these tables are of the type Problem.
    (Object.entries(codes) as [Problem, readonly string[]][]).flatMap(([problem, list]) =>
      list.map((code) => [code, problem] as const),
    ),
  ),
)

/** The problems of errors without a code, by a pattern of their message. */
const MESSAGES = ENGINES.flatMap(({ errors }) => errors.messages ?? [])
/** Patterns of messages about connections that were closed before the statement was sent. */
const UNSENT = ENGINES.flatMap(({ errors }) => errors.unsent ?? [])

/** The texts in an engine's error: PostgreSQL has properties, the others a message. */
export interface ProblemTexts {
  message: string
  detail: string
  column: string
}

/** The problem that a driver has reported; undefined for an error that `EngineErrors` does not list. */
export function problemOf({ driverError, query }: QueryFailedError): Problem | undefined {
  const { message, detail } = textsOf(driverError)
  // MariaDB's errors have a number, too. Some of them have no code, or a wrong one.
  const problem = PROBLEMS.get(textOf(driverError, 'errno')) ?? problemOfCode(textOf(driverError, 'code'))
  // SQLite and PostgreSQL have the same code for a missing target and for a target that is still referred to.
  const isStillReferred = /^\s*DELETE/i.test(query) || detail.includes('still referenced')
  if (problem === 'reference' && isStillReferred) return 'referenced'
  return problem ?? MESSAGES.find(([pattern]) => pattern.test(message))?.[1]
}

/** The problem of a code. SQLite's codes are extended: `SQLITE_READONLY_DIRECTORY`. */
export function problemOfCode(code: string): Problem | undefined {
  return PROBLEMS.get(code) ?? PROBLEMS.get(shortCode(code))
}

/** The first two words of a code, which are a SQLite code without its extension: `SQLITE_READONLY`. */
export function shortCode(code: string): string {
  return code.split('_').slice(0, 2).join('_')
}

export function textsOf(driverError: Error): ProblemTexts {
  const { message } = driverError
  return { message, detail: textOf(driverError, 'detail'), column: textOf(driverError, 'column') }
}

function textOf(driverError: Error, name: string): string {
  return String(Reflect.get(driverError, name) ?? '')
}

/** Finds the columns, the index or the checked column in the texts of an error, as the engine writes them. */
export function nameIn({ detail, message }: ProblemTexts, name: ErrorName): string | undefined {
  const patterns = ENGINES.flatMap(({ errors }) => errors.names[name] ?? [])
  for (const text of [detail, message])
    for (const pattern of patterns) {
      const match = pattern.exec(text)
      if (match) return match[1]
    }
  return undefined
}

/** Whether the connection was gone before a statement was sent, so that it was not executed. */
export function wasNotSent({ driverError: { message } }: QueryFailedError): boolean {
  return UNSENT.some((pattern) => pattern.test(message))
}
