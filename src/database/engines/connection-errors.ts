import { DatabaseNotOpened, ServiceUnavailable } from '../../errors.js'
import { HINTS, SYSTEM_HINTS, type ConnectionProblem } from './connection-hints.js'
import { placeOf } from './database-url.js'
import { ENGINES } from './engines.js'
import { shortCode } from './problems.js'

const PROBLEMS = new Map(ENGINES.flatMap(({ errors }) => Object.entries(errors.opening)))
const TEXTS = ENGINES.flatMap(({ errors }) => errors.openingTexts ?? [])

/** Explains in one line why a database could not be opened. Any other error is returned unchanged. */
export function explainConnectionError(error: unknown, url: string): unknown {
  const hint = hintFor(error)
  return hint ? new DatabaseNotOpened(placeOf(url), hint, error) : error
}

/** Why a database cannot be opened, without the remedy: `its server rejects the password`. */
export function connectionProblem(error: unknown): string {
  const { message = String(error) }: { message?: string } = Object(error)
  return hintFor(error)?.split('. ', 1)[0] ?? message
}

function hintFor(error: unknown): string | undefined {
  const code = codeOf(error)
  const problem = PROBLEMS.get(code) ?? PROBLEMS.get(shortCode(code)) ?? problemOfText(error)
  return problem ? HINTS[problem] : SYSTEM_HINTS[code]
}

/** The error code of the operating system or the engine, at any depth; empty if there is none. */
export function codeOf(error: unknown): string {
  const { code } = Object(causeOf(error)) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

function problemOfText(error: unknown): ConnectionProblem | undefined {
  const { message = '' }: { message?: string } = Object(causeOf(error))
  return TEXTS.find(([text]) => message.includes(text))?.[1]
}

/** The error of the driver. `limiterOf` wraps it, and Node collects the errors of all addresses of a host. */
function causeOf(error: unknown): unknown {
  if (error instanceof ServiceUnavailable) return causeOf(error.cause)
  return error instanceof AggregateError && error.errors.length > 0 ? causeOf(error.errors[0]) : error
}
