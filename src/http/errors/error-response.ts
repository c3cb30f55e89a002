import type { Context } from '../../context.js'
import * as errors from '../../errors.js'
import type { DeclaredRoute } from '../../routing/declared-route.js'
import { withoutCredentials } from '../../logging/error-fields.js'
import { redactedPath } from '../../logging/redacted-path.js'
import { formatOfData } from '../expected-html.js'
import type { ProblemDetails } from '../formats/format.js'
import { isForClient, problemOf, writeProblem } from './problem.js'
import { chooseFormat } from '../responder.js'
import { sourceExcerpt } from './source-excerpt.js'

/** The dependencies of error pages. */
export interface ErrorPages {
  /** Whether error pages show internals, as in development. */
  showsInternals: boolean
  routes: readonly DeclaredRoute[]
  /** Renders a template of the framework. */
  render(ctx: Context, view: string, locals: Record<string, unknown>): string
}

/** Headers that describe the response of the failed handler, and would be wrong in the error response. */
const staleHeaders = [
  'Content-Encoding',
  'Content-Language',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Idempotent-Replayed',
  'Last-Modified',
  'Link',
  'Location',
  'X-Total-Count',
]

/** Responds to a failed request with a problem in JSON or XML, or a page. Makes all error responses. */
export function respondWithError(ctx: Context, error: unknown, pages: ErrorPages): void {
  for (const header of staleHeaders) ctx.remove(header)
  if (error instanceof errors.ValidationErrors) ctx.translateErrors(error)
  const problem = problemOf(error, ctx)
  if (pages.showsInternals && problem.detail === undefined && error instanceof Error)
    problem.detail = withoutCredentials(error.message)
  ctx.set(headersOf(error))
  ctx.set('Cache-Control', 'no-store')
  const format = formatOfData(ctx) ?? chooseFormat(ctx) ?? (acceptsCsv(ctx) ? 'json' : ctx.defaultFormat)
  if (format !== 'html') {
    writeProblem(ctx, format, problem)
    return
  }
  ctx.status = problem.status
  ctx.type = 'html'
  ctx.body = errorPage(ctx, error, problem, pages)
}

/** Whether a client accepts CSV, which has no problem documents. */
function acceptsCsv({ req }: Context): boolean {
  return /\btext\/csv\b/i.test(req.headers.accept ?? '')
}

/** The headers that an error for the client sets, such as `Retry-After`. */
function headersOf(error: unknown): Record<string, string> {
  const headers: unknown = isForClient(error) ? Reflect.get(error, 'headers') : undefined
  return typeof headers === 'object' && headers !== null ? { ...headers } : {}
}

/** Renders the error page. If its template fails as well, returns a minimal page. */
function errorPage(ctx: Context, error: unknown, problem: ProblemDetails, pages: ErrorPages): string {
  const { status, title, request_id: requestId } = problem
  const view = pages.showsInternals ? 'development_error' : 'error'
  try {
    return pages.render(ctx, view, {
      status,
      title,
      detail: pages.showsInternals ? problem.detail : detailFor(ctx, error, problem),
      requestId,
      ...(pages.showsInternals && !isFromUnknownHost(error) && internals(ctx, error, pages)),
    })
  } catch (failure) {
    ctx.log.error({ err: failure }, `the template ${view} failed`)
    return `<!doctype html><title>${status} ${title}</title><h1>${title}</h1><p>Request ${requestId}</p>`
  }
}

/** Whether a development server rejected the request because of its host. It must not show internals. */
function isFromUnknownHost(error: unknown): boolean {
  return error instanceof errors.BlockedHost || error instanceof errors.ForwardedInDevelopment
}

/** The framework's own errors, whose messages are written for developers, in English. */
const ownErrors = new Set<unknown>(Object.values(errors).filter((error) => error !== errors.HttpError))

/**
 * The detail that a page shows to visitors: the translation `error.detail.<name of the error>`, else the
 * errors of the record, else the message, unless the error is one of the framework.
 */
function detailFor(ctx: Context, error: unknown, { detail }: ProblemDetails): string | undefined {
  if (detail === undefined || !(error instanceof Error)) return undefined
  const id = `error.detail.${error.name}`
  if (ctx.catalog.has(ctx.locale, id)) return ctx.t(id, Object(Reflect.get(error, 'values')))
  if (error instanceof errors.ValidationErrors) return Object.values(error.messages).flat().join(' ')
  return ownErrors.has(error.constructor) ? undefined : detail
}

/** The data of the development error page. */
function internals(ctx: Context, error: unknown, { routes }: ErrorPages): Record<string, unknown> {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  const { method } = ctx
  const [params, query, body] = [ctx.params, ctx.query, ctx.request.body].map(ctx.filterParameters)
  return {
    error: {
      name,
      message: withoutCredentials([message, ...violations(error)].join('\n')),
      stack: withoutCredentials(stack),
    },
    request: { method, path: redactedPath(ctx), params, query, body },
    routes: routes.map((route) => ({
      method: route.method,
      path: route.path,
      name: route.name,
      handler: route.handlerName,
    })),
    folder: process.cwd(),
    source: sourceExcerpt(error),
    sessionKeys: sessionKeys(ctx),
    migrations: error instanceof errors.PendingMigrations ? error.names : [],
  }
}

/** The errors of a record, one line for each field. */
function violations(error: unknown): string[] {
  if (!(error instanceof errors.ValidationErrors)) return []
  return Object.entries(error.messages).map(([field, messages]) => `${field}: ${messages.join(' ')}`)
}

/** The names of the session's values. The values themselves may be secrets. */
function sessionKeys(ctx: Context): string[] {
  return ctx.hasSession ? Object.keys(ctx.session) : []
}
