import type { Context, Middleware } from '../context.js'
import { parameterFilter, type ParameterFilterOptions } from '../logging/filter.js'
import { addLogFields } from '../logging/request-logger.js'

/** Options of `parameterLogger()`: words in names of secrets, and the maximum size of a log entry. */
export interface ParameterLoggerOptions extends ParameterFilterOptions {}

/**
 * Adds the parameters of each request to its line in the log, as structured fields: `params` of the path,
 * `query`, `body` (of a form, JSON or XML), and `files` with their names and sizes. Values with the name of a
 * secret (such as a password, a token, a key or a card number) are replaced by `[FILTERED]`, including on the
 * error page in development.
 *
 * @example
 * app.use(parameterLogger())
 * app.use(parameterLogger({ words: ['passport', 'date of birth'] }))
 * @throws DeclarationError when a word has neither letters nor digits
 */
export function parameterLogger(options: ParameterLoggerOptions = {}): Middleware {
  const filter = parameterFilter(options)
  const filterGroup = (parameters: unknown) => (isEmpty(parameters) ? undefined : filter(parameters))

  return function parameterLogger(ctx, next) {
    ctx.filterParameters = filter
    // Each group is filtered on its own, so that a word like `query` does not hide a whole group.
    addLogFields(ctx, {
      params: filterGroup(ctx.params),
      query: filterGroup(ctx.query),
      body: filterGroup(ctx.request.body),
      files: filterGroup(filesOf(ctx)),
    })
    return next()
  }
}

function isEmpty(values: unknown): boolean {
  for (const _name in Object(values)) return false
  return true
}

/** The uploaded files, by field: their names and sizes. */
function filesOf(ctx: Context): Record<string, unknown> | undefined {
  const { files } = ctx.request
  if (!files) return undefined
  return Object.fromEntries(
    Object.entries(files).map(([field, file]) => [
      field,
      Array.isArray(file) ? file.map(nameAndSize) : nameAndSize(file),
    ]),
  )
}

function nameAndSize(file: unknown): Record<string, unknown> {
  return { name: Reflect.get(Object(file), 'originalFilename'), size: Reflect.get(Object(file), 'size') }
}
