import type { Context, Middleware } from '../context.js'
import { parameterFilter, type ParameterFilterOptions } from '../http/filter.js'

/** What `parameterLogger()` takes: more words to filter by, and how much is logged. */
export interface ParameterLoggerOptions extends ParameterFilterOptions {}

/**
 * Logs the parameters of each request as structured fields: `params` of the path, `query`, `body` (of a form, JSON or
 * XML), and `files` by their name and size. Values whose name speaks of a password, secret, token, authorization, credit
 * card or cvc are shown as `[FILTERED]`, there and on the error page of development.
 *
 * @example
 * app.use(parameterLogger())
 * app.use(parameterLogger({ words: ['iban', 'date of birth'] }))
 * @throws DeclarationError when a word has neither letters nor digits
 */
export function parameterLogger(options: ParameterLoggerOptions = {}): Middleware {
  const filter = parameterFilter(options)

  return async function parameterLogger(ctx, next) {
    ctx.filterParameters = filter
    const groups = Object.entries(parametersOf(ctx)).filter(
      ([, values]) => Object.keys(Object(values)).length > 0,
    )
    // Each group on its own: its name is ours, and no word of the application is looked for in it.
    if (groups.length > 0)
      ctx.log.info(Object.fromEntries(groups.map(([name, values]) => [name, filter(values)])), 'parameters')
    await next()
  }
}

function parametersOf(ctx: Context): Record<string, unknown> {
  return { params: ctx.params, query: ctx.query, body: ctx.request.body, files: filesOf(ctx) }
}

/** The uploaded files, by field: their names and sizes. */
function filesOf(ctx: Context): Record<string, unknown> {
  const files: object = Reflect.get(ctx.request, 'files') ?? {}
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
