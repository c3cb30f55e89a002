import { join } from 'node:path'
import { beforeBody } from '../common/before-body.js'
import type { Context, Middleware } from '../context.js'
import { MethodNotAllowed, RouteNotFound } from '../errors.js'
import { hasForm, type BodyReader } from '../http/body/body.js'
import { isPreflight, type Cors } from '../http/security/cors.js'
import { lastValue } from '../http/body/form-fields.js'
import { redactedPath } from '../logging/redacted-path.js'
import { preventSharedCaching } from '../http/private-responses.js'
import { hasUploads, removeUploads } from '../http/body/uploads.js'
import { checkQuery } from '../http/query.js'
import { sendFile } from '../http/static/static-files.js'
import { chain } from '../routing/chain.js'
import { matchedLayer } from '../routing/members.js'
import { canonicalPath } from '../routing/path.js'
import type { DeclaredRoute } from '../routing/declared-route.js'
import type { Match, RouteTable } from '../routing/route-table.js'
import { containsPath, type StaticMount } from '../routing/static-mount.js'

/** The methods that a form can send by its field `_method`. */
const overrides = ['PUT', 'PATCH', 'DELETE']

/** The folder with the style sheet of the framework's own pages. It is searched last. */
const frameworkFiles: StaticMount = {
  prefix: '/',
  folder: join(import.meta.dirname, '../../../public'),
  order: Number.POSITIVE_INFINITY,
}

/** The fields of a context that the dispatcher sets. */
type Routed = { -readonly [Name in 'route' | 'params']: Context[Name] }

/** The dispatcher's steps besides routing. */
export interface DispatcherSteps {
  readBody: BodyReader
  /** Adds the session to a request, if the application has sessions. */
  withSession?: Middleware
  /** Responds to preflight requests of other sites. */
  cors?: Cors
  /** Whether the field `_method` of a form can override the method. */
  overridesMethod: boolean
  /** Rejects a request whose body has been read. */
  guard?: (ctx: Context) => void
}

/**
 * Finds the route of a request and runs it. Errors are checked in this order: 404 for an unknown path, 405 for the method,
 * those of middleware with `beforeBody`, then 415, 413 and 400 for the body. The other middleware runs after that.
 */
export class Dispatcher {
  constructor(
    private readonly table: RouteTable,
    private readonly mounts: readonly StaticMount[],
    private readonly steps: DispatcherSteps,
  ) {}

  async dispatch(ctx: Context): Promise<void> {
    try {
      await this.handle(ctx)
      preventSharedCaching(ctx)
    } finally {
      if (hasUploads(ctx)) await removeUploads(ctx)
    }
  }

  private async handle(ctx: Context): Promise<void> {
    const path = canonicalPath(ctx.path)
    const matches = this.table.match(this.table.hasHosts ? ctx.hostname : '', path)
    const match = find(matches, ctx.method)
    const folders = this.foldersOf(ctx, path, match?.route)
    // Static files and unknown paths have no session, so that the session store is only queried for routes.
    if (folders.length > 0 && (await servesFile(ctx, folders, match?.route))) return
    if (matches.length === 0) throw new RouteNotFound(ctx.method, ctx.path)
    // The log needs the parameters in the path, even if the request is rejected later.
    ctx.params = matches[0]?.params ?? {}
    checkQuery(ctx)
    const { cors, withSession } = this.steps
    if (cors && isPreflight(ctx) && (await cors.respondToPreflight(ctx, methodsOf(matches)))) return
    const run = () => this.runMatch(ctx, matches, match)
    await (withSession ? withSession(ctx, run) : run())
  }

  /** Runs the middleware that comes before the body, and then the rest. */
  private async runMatch(ctx: Context, matches: Match[], match: Match | undefined): Promise<void> {
    const routes = this.steps.overridesMethod ? routesOfForm(ctx, matches) : []
    if (routes.length === 0) {
      if (!match) return reject(ctx, matches)
      setRoute(ctx, match)
    }
    const early = routes.length > 0 ? commonMiddleware(routes) : match?.route.beforeBody
    const run = () => this.readAndRun(ctx, matches, match, early ?? [])
    if (!early?.length) return run()
    await beforeBody(ctx, (next) => chain([...early, next])(ctx), run)
  }

  /** Reads the body, and runs the route without the middleware that has already run. */
  private async readAndRun(
    ctx: Context,
    matches: Match[],
    match: Match | undefined,
    done: readonly Middleware[],
  ): Promise<void> {
    // The route of a form is known when its method is.
    if (!ctx.route && (await this.override(ctx))) match = find(matches, ctx.method)
    if (!match) return reject(ctx, matches)
    const { route, layer } = match
    setRoute(ctx, match)
    if (ctx.request.body === undefined) {
      if (route.readsBody) await this.steps.readBody(ctx)
      else ctx.request.body = {}
    }
    this.steps.guard?.(ctx)
    const left = done === route.beforeBody ? [] : route.beforeBody.filter((one) => !done.includes(one))
    const run = async (): Promise<unknown> => layer.stack[0]?.(ctx)
    await (left.length > 0 ? chain([...left, run])(ctx) : run())
  }

  /** Applies the field `_method` of a form. Returns whether it overrides the method. */
  private async override(ctx: Context): Promise<boolean> {
    await this.steps.readBody(ctx)
    const method = lastValue(Reflect.get(Object(ctx.request.body), '_method'))
    const wanted = typeof method === 'string' ? method.toUpperCase() : ''
    if (!overrides.includes(wanted)) return false
    ctx.method = wanted
    return true
  }

  /** The static folders to search: those declared before the route, or all folders if there is no route. */
  private foldersOf(ctx: Context, path: string, route: DeclaredRoute | undefined): StaticMount[] {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return []
    const folders = this.mounts.filter(
      (mount) =>
        (!route || mount.order <= route.order) &&
        containsPath(mount, path) &&
        (!mount.host || mount.host.match(ctx.hostname)),
    )
    return route ? folders : [...folders, frameworkFiles]
  }
}

/** Sends a static file, and returns whether there is one. A folder that is declared before a route hides the route. */
async function servesFile(
  ctx: Context,
  folders: readonly StaticMount[],
  route: DeclaredRoute | undefined,
): Promise<boolean> {
  for (const folder of folders) {
    if (await serve(ctx, folder)) return true
    if (route) throw new RouteNotFound(ctx.method, ctx.path)
  }
  return false
}

/** Sends a file of a folder, unless the folder's middleware responds first. Returns whether there is a response. */
async function serve(ctx: Context, mount: StaticMount): Promise<boolean> {
  let isAbsent = false
  const send: Middleware = async () => {
    isAbsent = !(await sendFile(ctx, mount))
  }
  await chain([...(mount.middleware ?? []), send])(ctx)
  return !isAbsent
}

/**
 * The routes that a form can select by its `_method`, if the request is a form. Otherwise the route is known before the body is
 * read.
 */
function routesOfForm(ctx: Context, matches: Match[]): DeclaredRoute[] {
  if (ctx.method !== 'POST' || !hasForm(ctx)) return []
  return ['POST', ...overrides].flatMap((method) => find(matches, method)?.route ?? [])
}

/** The middleware before the body that several routes have in common. */
function commonMiddleware([first, ...others]: DeclaredRoute[]): readonly Middleware[] {
  const common = first?.beforeBody ?? []
  return common.filter((one) => others.every((route) => route.beforeBody.includes(one)))
}

function setRoute(ctx: Context, { route, params, layer }: Match): void {
  const routed: Routed = ctx
  routed.route = route
  routed.params = params
  matchedLayer.set(ctx, layer)
}

function find(matches: Match[], method: string): Match | undefined {
  return matches.find(({ route }) => route.handles(method))
}

/** Responds if a path has no route for the method: OPTIONS returns the path's methods, others are rejected with 405. */
function reject(ctx: Context, matches: Match[]): void {
  const allowed = methodsOf(matches)
  if (ctx.method !== 'OPTIONS') throw new MethodNotAllowed(ctx.method, redactedPath(ctx), allowed)
  ctx.status = 204
  ctx.set('Allow', allowed.join(', '))
}

/** The methods of a path, for the header `Allow`. */
function methodsOf(matches: Match[]): string[] {
  return [...new Set([...matches.flatMap(({ route }) => route.methods), 'OPTIONS'])]
}
