import type { Context } from '../context.js'
import * as errors from '../errors.js'
import type { Route } from '../routing/route.js'
import { discreetPath } from '../logging/redacted-path.js'
import { isMeantAsAnswer, problemOf, writeProblem, type Problem } from './problem.js'
import { chooseFormat } from './responder.js'
import { sourceExcerpt } from './source-excerpt.js'

/** What error pages are made with. */
export interface ErrorPages {
  /** Whether errors show their insides: in development. */
  showsInternals: boolean
  routes: readonly Route[]
  /** Renders a template of the framework. */
  render(ctx: Context, view: string, locals: Record<string, unknown>): string
}

/** Headers that a handler may have set before it failed, and that would now be wrong. */
const staleHeaders = [
  'Content-Encoding',
  'Content-Language',
  'Content-Disposition',
  'Content-Range',
  'ETag',
  'Last-Modified',
  'Link',
  'Location',
  'X-Total-Count',
]

/** Answers a request that failed: problem details in JSON or XML, or a page. The one place where an error becomes an answer. */
export function answerError(ctx: Context, error: unknown, pages: ErrorPages): void {
  for (const header of staleHeaders) ctx.remove(header)
  const problem = problemOf(error, ctx)
  if (pages.showsInternals && problem.detail === undefined && error instanceof Error)
    problem.detail = error.message
  ctx.set(headersOf(error))
  ctx.set('Cache-Control', 'no-store')
  const chosen = chooseFormat(ctx)
  const format = error instanceof errors.NotAcceptable || !chosen ? ctx.defaultFormat : chosen
  if (format !== 'html') {
    writeProblem(ctx, format, problem)
    return
  }
  ctx.status = problem.status
  ctx.type = 'html'
  ctx.body = errorPage(ctx, error, problem, pages)
}

function headersOf(error: unknown): Record<string, string> {
  const headers: unknown = isMeantAsAnswer(error) ? Reflect.get(error, 'headers') : undefined
  return typeof headers === 'object' && headers !== null ? { ...headers } : {}
}

/** A page of the application's templates; where that fails too, the bare facts. */
function errorPage(ctx: Context, error: unknown, problem: Problem, pages: ErrorPages): string {
  const { status, title, request_id: requestId } = problem
  const view = pages.showsInternals ? 'development_error' : 'error'
  try {
    return pages.render(ctx, view, {
      status,
      title,
      detail: pages.showsInternals ? problem.detail : detailFor(ctx, error, problem),
      requestId,
      ...(pages.showsInternals && !isOfOutsider(error) && insides(ctx, error, pages)),
    })
  } catch (failure) {
    ctx.log.error({ err: failure }, `the template ${view} failed`)
    return `<!doctype html><title>${status} ${title}</title><h1>${title}</h1><p>Request ${requestId}</p>`
  }
}

/** Whether an error is that of a request which a server of development does not serve. */
function isOfOutsider(error: unknown): boolean {
  return error instanceof errors.ForeignHost || error instanceof errors.ForwardedInDevelopment
}

/** The framework's errors: their messages are English, for developers. */
const ownErrors = new Set<unknown>(Object.values(errors).filter((one) => one !== errors.HttpError))

/**
 * What a page says to people beside the title: the translation `error.detail.<name of the error>`, else what is wrong
 * with the record, or the message where the application has written it.
 */
function detailFor(ctx: Context, error: unknown, { detail }: Problem): string | undefined {
  if (detail === undefined || !(error instanceof Error)) return undefined
  const id = `error.detail.${error.name}`
  if (ctx.catalogue.has(ctx.locale, id)) return ctx.t(id)
  if (error instanceof errors.ValidationErrors) return Object.values(error.messages).flat().join(' ')
  return ownErrors.has(error.constructor) ? undefined : detail
}

function insides(ctx: Context, error: unknown, { routes }: ErrorPages): Record<string, unknown> {
  const { name, message, stack = '' } = error instanceof Error ? error : new Error(String(error))
  const { method } = ctx
  const [params, query, body] = [ctx.params, ctx.query, ctx.request.body].map(ctx.filterParameters)
  return {
    error: { name, message: [message, ...violations(error)].join('\n'), stack },
    request: { method, path: discreetPath(ctx), params, query, body },
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

/** What is wrong with a record, a line for each field. */
function violations(error: unknown): string[] {
  if (!(error instanceof errors.ValidationErrors)) return []
  return Object.entries(error.messages).map(([field, said]) => `${field}: ${said.join(' ')}`)
}

/** What the session holds, by name: its values may be secrets. */
function sessionKeys(ctx: Context): string[] {
  return ctx.hasSession ? Object.keys(ctx.session) : []
}
