import { relative } from 'node:path'

/**
 * Adds `file` and `line` to an error of a template, and replaces the excerpt that pug adds to its message by
 * the line. The messages of errors with a status are for visitors, so they get no line.
 *
 * @param explain returns a better error for the one that was thrown
 */
export function locateError(error: unknown, explain: (error: Error) => Error): unknown {
  if (!(error instanceof Error)) return error
  const source = lineOfSyntaxError(error) ?? lineOfRunningTemplate(error)
  const explained = explain(error)
  if (!source || 'file' in explained) return explained
  if (!('status' in explained)) {
    explained.message = `${relative(process.cwd(), source.file)}, line ${source.line}: ${explained.message}`
  }
  return Object.assign(explained, source, { stack: stackOf(error, explained) })
}

/** The frames of the original error below the message of the explained one. */
function stackOf({ stack = '' }: Error, { name, message }: Error): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  return [`${name}: ${message}`, ...frames].join('\n')
}

/** pug's own errors have `filename`, `line`, and `msg`, which has no excerpt and replaces the message. */
function lineOfSyntaxError(error: Error) {
  const { code, filename, line, msg } = error as Partial<Record<string, unknown>> & Error
  if (!String(code).startsWith('PUG:') || typeof filename !== 'string') return undefined
  error.message = String(msg)
  return { file: filename, line: Number(line) }
}

/** In development, pug sets `path`, and begins the message with `<path>:<line>` and an excerpt: they go. */
function lineOfRunningTemplate(error: Error) {
  const file: unknown = Reflect.get(error, 'path')
  if (typeof file !== 'string' || !error.message.startsWith(`${file}:`)) return undefined
  const [, line, message = ''] = /^:(\d+)\n[^]*?\n\n([^]*)$/.exec(error.message.slice(file.length)) ?? []
  if (line === undefined) return undefined
  error.message = message
  return { file, line: Number(line) }
}
