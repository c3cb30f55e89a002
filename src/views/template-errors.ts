import { relative } from 'node:path'

/** The line of a template in which an error occurred. */
interface Place {
  file: string
  line: number
}

/**
 * Adds `file` and `line` to an error of a template, and replaces the excerpt that pug adds to its message by the place. The
 * messages of errors with a status are for visitors, so they get no place.
 *
 * @param explain returns a better error for the one that was thrown
 */
export function locatedError(error: unknown, explain: (error: Error) => Error): unknown {
  if (!(error instanceof Error)) return error
  const place = placeOf(error)
  const explained = explain(error)
  if (!place || 'file' in explained) return explained
  if (!('status' in explained)) {
    explained.message = `${relative(process.cwd(), place.file)}, line ${place.line}: ${explained.message}`
  }
  return Object.assign(explained, place, { stack: stackOf(error, explained) })
}

/** The frames of the original error below the message of the explained one. */
function stackOf({ stack = '' }: Error, { name, message }: Error): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  return [`${name}: ${message}`, ...frames].join('\n')
}

/** Returns the place of an error, and removes it from the message. */
function placeOf(error: Error): Place | undefined {
  return placeOfSyntaxError(error) ?? placeOfRunningTemplate(error)
}

/** pug's own errors have the properties `filename`, `line` and `msg`. */
function placeOfSyntaxError(error: Error): Place | undefined {
  const { code, filename, line, msg } = error as Partial<Record<string, unknown>> & Error
  if (!String(code).startsWith('PUG:') || typeof filename !== 'string') return undefined
  error.message = String(msg)
  return { file: filename, line: Number(line) }
}

/** In development, pug sets `path` and begins the message with `<path>:<line>` and an excerpt. */
function placeOfRunningTemplate(error: Error): Place | undefined {
  const file: unknown = Reflect.get(error, 'path')
  if (typeof file !== 'string' || !error.message.startsWith(`${file}:`)) return undefined
  const [, line, message = ''] = /^:(\d+)\n[^]*?\n\n([^]*)$/.exec(error.message.slice(file.length)) ?? []
  if (line === undefined) return undefined
  error.message = message
  return { file, line: Number(line) }
}
