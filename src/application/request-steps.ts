import { join } from 'node:path'
import { assets } from '../common/assets.js'
import { beforeBody } from '../common/before-body.js'
import { PerRequest } from '../common/per-request.js'
import type { Context, Hooks, Middleware } from '../context.js'
import { MethodNotAllowed, RouteNotFound } from '../errors.js'
import type { BodyReader } from '../http/body/body.js'
import { hasForm } from '../http/body/body-kind.js'
import { lastValue } from '../http/body/form-fields.js'
import { requireForm } from '../http/body/rejected-files.js'
import { hasUploads, removeUploads } from '../http/body/upload-folders.js'
import { returnToPage } from '../http/errors/refused-delete.js'
import { preventSharedCaching } from '../http/private-responses.js'
import { checkQuery } from '../http/query.js'
import { isPreflight, type Cors } from '../http/security/cors.js'
import { rejectSeveralHosts } from '../http/security/hosts.js'
import { sendFile } from '../http/static/static-files.js'
import { redactedPath } from '../logging/redacted-path.js'
import { chain } from '../routing/chain.js'
import type { DeclaredRoute } from '../routing/declared-route.js'
import { matchedLayer } from '../routing/members.js'
import { canonicalPath } from '../routing/path.js'
import type { Match, RouteTable } from '../routing/route-table.js'
import { StaticFolder } from '../routing/static-folder.js'

/** The steps of a request that depend on the options of the application. Undefined steps are omitted. */
export interface RequestParts {
  table: RouteTable
  securityHeaders: Middleware | undefined
  cors: Cors | undefined
  requestLog: Middleware
  health: Middleware
  errorHandler: Middleware
  developmentHosts: Middleware | undefined
  /** The middleware with a `begin` hook. */
  beginning: readonly Hooks[]
  session: Middleware | undefined
  readBody: BodyReader
  /** Whether the `_method` field of a form can override the method. */
  overridesMethod: boolean
  /** Runs after the body has been read, and throws if the request is forbidden. */
  guard: ((ctx: Context) => void) | undefined
}

/**
 * The steps of every request in running order. Errors are checked in this order: 404 for an unknown path, 405
 * for the method, those of middleware with `beforeBody`, then 415, 413 and 400 for the body. The other
 * middleware runs after that.
 */
export function requestSteps(parts: RequestParts): Middleware[] {
  const steps = [
    parts.securityHeaders,
    parts.cors?.middleware,
    parts.requestLog,
    parts.health,
    parts.errorHandler,
    parts.developmentHosts,
    begin(parts),
    finish,
    findRoutes(parts),
    // Static files and unknown paths have no session, so that the session store is only queried for routes.
    sendStaticFile(parts),
    rejectUnknownPath,
    respondToPreflight(parts),
    parts.session,
    runBeforeBody(parts),
    readBody(parts),
    runRoute(parts),
  ]
  return steps.filter((step) => step !== undefined)
}

/** The routes that have been found for a request. */
interface RequestRoutes {
  /** The path in canonical form. */
  path: string
  /** The routes that match the path, whatever their method is. */
  matches: readonly Match[]
  /** The first of the matches that handles the method, which the body of a form may still change. */
  match: Match | undefined
  /** The middleware that `runBeforeBody` has run. */
  early: readonly Middleware[]
}

const requestRoutes = new PerRequest<RequestRoutes>()

/** The routes that the `findRoutes` step has found, which precedes all callers. */
function routesOf(ctx: Context): RequestRoutes {
  return requestRoutes.get(ctx) as RequestRoutes
}

function begin({ beginning }: RequestParts): Middleware {
  return function begin(ctx, next) {
    rejectSeveralHosts(ctx.req.rawHeaders)
    for (const middleware of beginning) middleware.begin?.(ctx)
    return next()
  }
}

/** Keeps personal responses out of shared caches, and deletes the uploaded files, even after an error. */
const finish: Middleware = async function finish(ctx, next) {
  try {
    await next()
    preventSharedCaching(ctx)
  } finally {
    if (hasUploads(ctx)) await removeUploads(ctx)
  }
}

function findRoutes({ table }: RequestParts): Middleware {
  return function findRoutes(ctx, next) {
    const path = canonicalPath(ctx.path)
    const matches = table.match(table.hasHosts ? ctx.hostname : '', path)
    requestRoutes.set(ctx, { path, matches, match: matchOf(matches, ctx.method), early: [] })
    return next()
  }
}

/** The folder with the style sheet of the framework's own pages. It is searched last. */
const frameworkFiles = new StaticFolder('/', join(assets, 'public'))

/**
 * Sends a file of a static folder. A folder that is declared before the route hides it, even if the folder
 * has no such file. Of several such folders, only the first counts. Without a route, all folders are
 * searched.
 */
function sendStaticFile({ table }: RequestParts): Middleware {
  return function sendStaticFile(ctx, next) {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next()
    const { path, match } = routesOf(ctx)
    const folders = table.foldersOf(path, ctx, match?.route)
    if (match) return folders.length > 0 ? sendFrom(ctx, folders.slice(0, 1), () => rejectPath(ctx)) : next()
    return sendFrom(ctx, [...folders, frameworkFiles], next)
  }
}

/** Sends a file of one of the folders, or calls `next`. */
async function sendFrom(ctx: Context, folders: readonly StaticFolder[], next: () => unknown): Promise<void> {
  for (const folder of folders) if (await respondFrom(ctx, folder)) return
  await next()
}

/** Sends a file of a folder, unless the folder's middleware responds first. Returns whether one was sent. */
async function respondFrom(ctx: Context, folder: StaticFolder): Promise<boolean> {
  let isAbsent = false
  const send: Middleware = async () => {
    isAbsent = !(await sendFile(ctx, folder))
  }
  await chain([...folder.middleware, send])(ctx)
  return !isAbsent
}

/** Rejects a path without routes, for any method, and a malformed query. */
const rejectUnknownPath: Middleware = function rejectUnknownPath(ctx, next) {
  const [first] = routesOf(ctx).matches
  if (!first) return rejectPath(ctx)
  // The log needs the parameters in the path, even if the request is rejected later.
  ctx.params = first.params
  checkQuery(ctx)
  return next()
}

function respondToPreflight({ cors }: RequestParts): Middleware | undefined {
  if (!cors) return undefined
  return async function respondToPreflight(ctx, next) {
    if (!isPreflight(ctx) || !(await cors.respondToPreflight(ctx, methodsOf(ctx)))) await next()
  }
}

function rejectPath({ method, path }: Context): never {
  throw new RouteNotFound(method, path)
}

/**
 * Runs the middleware with `beforeBody`. The `_method` in the body of a form selects one of several routes;
 * then only the middleware that all of them have in common runs here, and the rest in `runRoute`.
 */
function runBeforeBody({ overridesMethod }: RequestParts): Middleware {
  return function runBeforeBody(ctx, next) {
    const state = routesOf(ctx)
    const { match, matches } = state
    const selectable = overridesMethod && ctx.method === 'POST' && hasForm(ctx) ? routesOfForm(matches) : []
    if (selectable.length === 0) {
      if (!match) return rejectMethod(ctx)
      setRoute(ctx, match)
    }
    // Without selectable routes, there is only the route of the request.
    const [first = match?.route, ...others] = selectable
    state.early = (first?.beforeBody ?? []).filter((it) =>
      others.every((route) => route.beforeBody.includes(it)),
    )
    if (state.early.length === 0) return next()
    return beforeBody(ctx, (proceed) => chain([...state.early, proceed])(ctx), next)
  }
}

/** Reads the body, and then sets the route of a form, which depends on the `_method` in its body. */
function readBody(parts: RequestParts): Middleware {
  return async function readBody(ctx, next) {
    const state = routesOf(ctx)
    if (!ctx.route) {
      await parts.readBody(ctx, routesOfForm(state.matches))
      overrideMethod(ctx)
      state.match = matchOf(state.matches, ctx.method)
    }
    if (!state.match) return rejectMethod(ctx)
    setRoute(ctx, state.match)
    // The body of a form has been read above, and middleware with `beforeBody` may have set one.
    if (ctx.request.body === undefined) {
      if (ctx.route.readsBody) await parts.readBody(ctx, [ctx.route])
      else ctx.request.body = {}
    }
    parts.guard?.(ctx)
    requireForm(ctx)
    await next()
  }
}

/** Runs the route's other middleware and its handler. Tools for Koa find the routes by `router`. */
function runRoute({ table }: RequestParts): Middleware {
  async function runRoute(ctx: Context): Promise<void> {
    const { early } = routesOf(ctx)
    const left = ctx.route.beforeBody.filter((it) => !early.includes(it))
    // The layer's function calls `route.run`. A tracing tool may have wrapped it.
    const run = async (): Promise<unknown> => matchedLayer.get(ctx)?.stack[0]?.(ctx)
    try {
      await (left.length > 0 ? chain([...left, run])(ctx) : run())
    } catch (error) {
      if (!returnToPage(ctx, error)) throw error
    }
  }

  return Object.assign(runRoute, { router: table.router })
}

/** The methods that a form can send by its `_method` field. */
const overrides = ['PUT', 'PATCH', 'DELETE']

/** Sets the method of a request to the `_method` of its form. */
function overrideMethod(ctx: Context): void {
  const method = lastValue(Reflect.get(Object(ctx.request.body), '_method'))
  const override = typeof method === 'string' ? method.toUpperCase() : ''
  if (overrides.includes(override)) ctx.method = override
}

/** The routes that a form can select by its `_method`. */
function routesOfForm(matches: readonly Match[]): DeclaredRoute[] {
  return ['POST', ...overrides].flatMap((method) => matchOf(matches, method)?.route ?? [])
}

/** The properties of a context that are set here, although `ctx.route` is read-only elsewhere. */
type Routed = { -readonly [Name in 'route' | 'params']: Context[Name] }

function setRoute(ctx: Context, { route, params, layer }: Match): void {
  const routed: Routed = ctx
  routed.route = route
  routed.params = params
  matchedLayer.set(ctx, layer)
}

/** The first match whose route handles the method. */
function matchOf(matches: readonly Match[], method: string): Match | undefined {
  return matches.find(({ route }) => route.handles(method))
}

/**
 * Responds if a path has no route for the method.
 *
 * @throws MethodNotAllowed (405) except for OPTIONS, which returns the methods of the path
 */
function rejectMethod(ctx: Context): void {
  const allowed = methodsOf(ctx)
  if (ctx.method !== 'OPTIONS') throw new MethodNotAllowed(ctx.method, redactedPath(ctx), allowed)
  ctx.status = 204
  ctx.set('Allow', allowed.join(', '))
}

/** The methods of a request's path, for the `Allow` header. */
function methodsOf(ctx: Context): string[] {
  return [...new Set([...routesOf(ctx).matches.flatMap(({ route }) => route.methods), 'OPTIONS'])]
}
