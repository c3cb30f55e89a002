import type { RequestListener } from 'node:http'
import { resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import Koa from 'koa'
import type { Logger } from 'pino'
import type { DependencyContainer } from 'tsyringe'
import type { Context, Hooks, Middleware } from '../context.js'
import { addMembers, extendContext } from './context-members.js'
import { defaultMembersLimit } from '../data/attributes/json-limits.js'
import { Dispatcher } from './dispatcher.js'
import { DeclarationError } from '../errors.js'
import { currentEnvironment } from '../common/environment.js'
import { Assets } from '../http/static/assets.js'
import { bodyFormats, type BodyFormat } from '../http/body/body-kind.js'
import { bodyReader, type BodyLimits } from '../http/body/body.js'
import { guardBody } from '../http/body/request-body.js'
import { isCausedByClient } from '../http/errors/client-errors.js'
import { Cors, type CorsOptions } from '../http/security/cors.js'
import { rejectCrossSiteForm } from '../http/security/cross-site.js'
import { developmentHosts, rejectSeveralHosts } from '../http/security/hosts.js'
import { readForwarded, type TrustedProxies } from '../http/security/forwarded.js'
import { readQuery } from '../http/query.js'
import { removeStaleUploads } from '../http/body/upload-folders.js'
import { Injector } from '../injection/injector.js'
import { createLogger, withRedactedErrors } from '../logging/logger.js'
import { sendText, setSingleHeaders } from './send-text.js'
import { checkStatusMessages } from '../http/status-message.js'
import { tolerateBodyErrors, errorHandler } from './error-handler.js'
import { health } from './health.js'
import { requestLog } from './request-log.js'
import { knownTimeZone } from '../common/time-zones.js'
import { Pages, type Helper } from '../views/pages.js'
import { securityHeaders, type SecurityHeadersOptions } from '../middleware/security-headers.js'
import { sessions } from '../sessions/session.js'
import { canonicalPath, type PathArgument } from '../routing/path.js'
import type { Match } from '../routing/route-table.js'
import type { DeclaredRoute } from '../routing/declared-route.js'
import { Declarations, rootPlace, Scope } from '../routing/scope.js'
import { misspelledHandlers } from '../routing/misspelled-handlers.js'
import { shadowedRoutes } from '../routing/shadowed.js'
import { currentPort, httpAddress } from '../server/port.js'
import { Lifecycle, type LifecycleOptions, type Primary } from '../server/lifecycle.js'
import { sessionSecrets } from '../sessions/secrets.js'
import type { SessionStore } from '../sessions/session-store.js'
import { TransferredConnections } from '../server/workers/transferred-connections.js'
import { reportToPrimary } from '../server/workers/messages.js'
import { workerNumber } from '../server/workers/worker.js'

/** The primary process, if this one is a worker. */
const primary: Primary = {
  source: (server) => new TransferredConnections(server),
  reportShutdownTimeout: (milliseconds) => reportToPrimary({ kit: 'shutdownTimeout', milliseconds }),
}

/** The options of an application. Each one has a default. */
export interface AppOptions extends LifecycleOptions {
  /**
   * The environment of the application (`GO_ENV`, else `NODE_ENV`, else `development`). Middleware, pages, sessions and the
   * log use it. The database has its own: see `Database`.
   */
  env?: string
  /** Whether this is an API application: it responds in JSON by default and has no sessions (false). */
  api?: boolean
  /** The name of the session cookie (`_kit_session`). */
  sessionName?: string
  /**
   * The secret that signs the session cookie (`SESSION_SECRET`, which can be several secrets separated by commas).
   * Required in production, in an API application only with `authenticate()`. The first secret signs, and all of them verify.
   */
  secret?: string | readonly string[]
  /** The session store, for example `databaseSessions(database)`. By default, sessions are in the cookie itself. */
  sessionStore?: SessionStore
  /** The lifetime of a session in milliseconds (14 days). A request in the second half renews it (sliding expiration). */
  sessionMaxAge?: number
  /** The port to listen on: `PORT`, else 3000. */
  port?: number
  /** The address to listen on: `HOST`, else 127.0.0.1. In production the default is every address. */
  host?: string
  /**
   * The proxies whose headers `X-Forwarded-For`, `-Proto` and `-Host` determine the client's address, the scheme and the host.
   * By default these are all loopback, link-local and private addresses (`'private'`), so that clients with a public address
   * cannot forge the headers. Otherwise the number of trusted proxies, whatever their addresses are (0 for none; `true` is 1),
   * or a list of their networks: `['10.1.0.0/16', '192.0.2.7']`.
   */
  proxy?: TrustedProxies
  /**
   * The hosts to serve in development, in addition to localhost, IP addresses and `DEVELOPMENT_HOSTS`:
   * `['blog.example', '*.tunnel.example']`. Requests for other hosts return 403. Requests that a proxy has forwarded
   * (`X-Forwarded-*`) return 403 unless their host is listed.
   */
  developmentHosts?: readonly string[]
  /**
   * The tsyringe container with the dependencies of resources and middleware classes (the global one). Two applications in
   * one process can have a container each: `container.createChildContainer()`.
   */
  container?: DependencyContainer
  /** The logger. A child of it redacts secrets in errors. */
  logger?: Logger
  /**
   * Other sites whose pages may send requests that need permission, and read all responses, including errors (none). An API
   * application also accepts forms from these sites.
   */
  cors?: CorsOptions
  /** The options of `securityHeaders()`, which sets headers of every response; false for no headers (its defaults). */
  securityHeaders?: SecurityHeadersOptions | false
  /**
   * The time zone of visitors without the cookie `time_zone`: `Europe/Berlin` (UTC). Pages show datetimes in it, and forms are
   * read in it.
   */
  timeZone?: string
  /** The folder of the templates, relative to the working directory (`templates`). */
  templates?: string
  /**
   * Functions that every template can call: `{ money: (ctx, amount) => ... }` is `money(post.price)` in a template. They
   * override the framework's helpers of the same name.
   */
  helpers?: Record<string, Helper>
  /** The maximum size of a request's body in bytes, without uploaded files (1 MiB). */
  bodyLimit?: number
  /** The maximum total size of the files of a request in bytes (10 MiB). */
  filesLimit?: number
  /** The maximum number of multipart forms that are read at a time (50). Further ones are rejected with 503 and `Retry-After`. */
  uploadsLimit?: number
  /** The maximum number of values in a JSON body, and of elements, attributes and entities in an XML body (10,000). */
  membersLimit?: number
  /** The formats of bodies that the application reads (`['form', 'multipart', 'json', 'xml']`). Others are rejected with 415. */
  bodyFormats?: readonly BodyFormat[]
}

/**
 * A web application. Middleware, routes and resources are declared in order: a route runs the middleware registered
 * above it, and the first route that matches a request handles it.
 *
 * @example
 * const app = new App({ sessionName: '_blog_session' })
 * app.use(transaction(database))
 * app.resource(PostsResource)
 * app.static('/', 'public')
 * await app.listen()
 */
export class App extends Scope {
  readonly env: string
  readonly logger: Logger
  private readonly koa = new Koa()
  private readonly settings: AppOptions
  private readonly cors: Cors | undefined
  private listener: RequestListener | undefined
  private readonly lifecycle: Lifecycle

  constructor(options: AppOptions = {}) {
    super(new Declarations(new Injector(options.container)), rootPlace, [])
    this.settings = options
    this.env = options.env ?? currentEnvironment()
    const worker = workerNumber()
    this.logger = withRedactedErrors(options.logger ?? createLogger(this.env), worker ? { worker } : {})
    const { logger } = this
    const served = {
      logger,
      callback: () => this.callback(),
      start: () => this.start(),
      listening: () => this.listening(),
      drain: (deadline: Date) => this.drain(deadline),
      stop: () => this.stop(),
    }
    this.lifecycle = new Lifecycle(served, options, worker === undefined ? undefined : primary)
    this.cors = options.cors && new Cors(options.cors)
    readForwarded(this.koa.request, options.proxy)
    readQuery(this.koa.request)
    guardBody(this.koa.request)
  }

  /** The routing table, in the order of declaration. */
  get routes(): readonly DeclaredRoute[] {
    return this.declarations.table.routes
  }

  /**
   * Creates resources and middleware classes. A spec replaces their dependencies here.
   *
   * @internal
   */
  get injector(): Injector {
    return this.declarations.injector
  }

  /** The format of responses to clients that accept any: html, or json in an API application. */
  get defaultFormat(): 'html' | 'json' {
    return this.settings.api ? 'json' : 'html'
  }

  /**
   * Finds the route of a request and the parameters in its path. Returns undefined if no route matches. Static files are
   * not considered.
   *
   * @throws BadRequest when the percent-encoding of the path is malformed
   */
  match(method: string, path: string, host = ''): Match | undefined {
    const matches = this.declarations.table.match(host, canonicalPath(path))
    return matches.find(({ route }) => route.handles(method))
  }

  /**
   * Returns the path of a named route: `app.pathFor('postPath', { post_id })`.
   *
   * @throws UnknownRoute when there is no route with this name, MissingParameter when a parameter is missing
   */
  pathFor(name: string, ...args: PathArgument[]): string {
    return this.declarations.table.pathFor(name, ...args)
  }

  /**
   * Returns the function that handles requests, for your own server. Call `start` and `close` yourself.
   *
   * @throws DeclarationError in production if sessions or signed tokens have no secret, in development if a host is malformed, and in an
   * API application if a middleware needs sessions
   */
  callback(): RequestListener {
    return (this.listener ??= this.compose())
  }

  /**
   * Starts the middleware, for example `transaction()`, which opens the database, and listens. SIGTERM and SIGINT close the application and end the
   * process; a second signal ends it at once.
   *
   * @returns the address: `http://127.0.0.1:3000`
   * @throws PortInUse when another process listens on the port, AddressUnavailable when the system rejects the address, and
   * errors of the middleware, for example when the database cannot be opened
   */
  async listen(port = this.configuredPort, host = this.configuredHost): Promise<string> {
    return this.lifecycle.listen(port, host)
  }

  /** The configured address: `http://127.0.0.1:3000`. */
  get address(): string {
    return httpAddress(this.configuredHost, this.configuredPort)
  }

  /** Starts the middleware without listening. Warns about unreachable routes and misspelled handlers. */
  async start(): Promise<void> {
    const { table, mounts, items } = this.declarations
    // Only the first worker logs the warnings, which are the same for all workers.
    const logger = (workerNumber() ?? 1) > 1 ? this.logger.child({}, { level: 'error' }) : this.logger
    const warnings = [...shadowedRoutes(table, mounts), ...misspelledHandlers(items.keys())]
    for (const warning of warnings) logger.warn(warning)
    // Not awaited: it may have many files to delete, and it never fails.
    void removeStaleUploads()
    for (const middleware of this.lifecycles) await middleware.start?.(logger, this.env)
    for (const middleware of this.declarations.middleware) {
      const routes = table.routes.filter((route) => route.middleware.includes(middleware))
      await middleware.checkRoutes?.(routes, logger, this.env)
    }
  }

  /**
   * Stops accepting connections, waits for pending requests, and stops the middleware. Connections that are still open
   * after `drainTimeout` are closed.
   */
  close(): Promise<void> {
    return this.lifecycle.close()
  }

  private listening(): void {
    if (this.env !== 'test') for (const middleware of this.lifecycles) middleware.listening?.(this.logger)
  }

  /** Lets the middleware finish its work. It never rejects, because the shutdown goes on. */
  private async drain(deadline: Date): Promise<void> {
    const timeout = setTimeout(Math.max(0, deadline.getTime() - Date.now()), undefined, { ref: false })
    const work = this.lifecycles.map(async (middleware) => middleware.drain?.(deadline))
    for (const one of work) one.catch((error: unknown) => this.logger.error(error, 'work was not finished'))
    await Promise.race([Promise.allSettled(work), timeout])
  }

  /** Stops all middleware, in the reverse of the declared order, even if some of it fails. */
  private async stop(): Promise<void> {
    const errors: unknown[] = []
    for (const middleware of this.lifecycles.toReversed()) {
      try {
        await middleware.stop?.()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 1) throw new AggregateError(errors, 'Several middleware functions failed to stop.')
    if (errors.length === 1) throw errors[0]
  }

  /** Composes the function that handles requests. */
  private compose(): RequestListener {
    const { api = false, templates = 'templates', helpers = {} } = this.settings
    const timeZone = knownTimeZone(this.settings.timeZone) ?? 'UTC'
    if (api) this.checkMiddlewareOfApi()
    const { table, mounts, policies } = this.declarations
    const pages = new Pages(table, new Assets(mounts, this.isProduction), helpers, {
      folders: [resolve(templates)],
      cache: this.isProduction,
      checksAttributes: this.env === 'development',
    })
    const { env, defaultFormat } = this
    extendContext(this.koa.context, {
      table,
      pages,
      env,
      defaultFormat,
      hasSession: !api,
      policies,
      timeZone,
    })
    for (const { name, contextMembers } of this.declarations.middleware)
      if (contextMembers) addMembers(this.koa.context, contextMembers, name)
    tolerateBodyErrors(this.koa.response)
    setSingleHeaders(this.koa.response)
    checkStatusMessages(this.koa.response)
    // `extendContext` has added the framework's members to Koa's context, whose type does not include them.
    for (const step of this.steps(pages)) this.koa.use(step as unknown as Koa.Middleware)
    this.koa.on('error', (error: unknown, ctx?: Koa.Context) =>
      this.logger[isCausedByClient(error, ctx?.res) ? 'debug' : 'error'](
        { err: error },
        'the response could not be written',
      ),
    )
    sendText(this.koa)
    const handle = this.koa.callback()
    return (req, res) => {
      req.url = originForm(req.url)
      void handle(req, res)
    }
  }

  /** The middleware of every request, from the outermost one to the route. */
  private steps(pages: Pages): Middleware[] {
    const { table } = this.declarations
    const { securityHeaders: headers = {}, developmentHosts: hosts = [] } = this.settings
    const isDevelopment = this.env === 'development'
    const beginning = this.lifecycles.filter((middleware) => middleware.begin)
    const dispatcher = this.dispatcher()
    return [
      ...(headers ? [securityHeaders({ env: this.env, ...headers })] : []),
      ...(this.cors ? [this.cors.middleware] : []),
      requestLog(this.logger),
      health(() => this.check(), this.logger),
      errorHandler({
        showsInternals: isDevelopment,
        routes: table.routes,
        render: (ctx, view, locals) => pages.render(ctx, view, locals),
      }),
      ...(isDevelopment ? [developmentHosts(hosts, process.env['KIT_DEV'] ?? this.configuredHost)] : []),
      function begin(ctx, next) {
        rejectSeveralHosts(ctx.req.rawHeaders)
        for (const middleware of beginning) middleware.begin?.(ctx)
        return next()
      },
      // Tools for Koa find the routes in the property `router`, as in the middleware of @koa/router.
      Object.assign((ctx: Context) => dispatcher.dispatch(ctx), { router: table.router }),
    ]
  }

  private get bodyLimits(): BodyLimits {
    const {
      bodyLimit: body = 1024 * 1024,
      filesLimit: files = 10 * 1024 * 1024,
      uploadsLimit: uploads = 50,
      membersLimit: members = defaultMembersLimit,
      bodyFormats: formats = bodyFormats,
    } = this.settings
    return { body, files, uploads, members, formats }
  }

  private dispatcher(): Dispatcher {
    const { api = false } = this.settings
    const { table, mounts } = this.declarations
    const readBody = bodyReader(this.bodyLimits)
    const { cors } = this
    // An API application has no forms, and no tokens that distinguish its forms from those of other sites.
    const ofApplication = api
      ? { overridesMethod: false, guard: (ctx: Context) => rejectCrossSiteForm(ctx, cors?.origins) }
      : { overridesMethod: true, withSession: this.sessions() }
    return new Dispatcher(table, mounts, { readBody, ...(cors && { cors }), ...ofApplication })
  }

  private checkMiddlewareOfApi(): void {
    for (const { name, needsSession, needsSecret } of this.declarations.middleware) {
      if (needsSecret) sessionSecrets(this.settings.secret, this.env, 'Signed tokens')
      if (!needsSession) continue
      throw new DeclarationError(
        `${name}() needs sessions, but an API application has none. Remove ${name}().`,
      )
    }
  }

  private sessions(): Middleware {
    const {
      sessionName: name = '_kit_session',
      secret,
      sessionStore: store,
      sessionMaxAge: maxAge,
    } = this.settings
    return sessions(this.koa, { name, secret, env: this.env, store, maxAge })
  }

  private async check(): Promise<void> {
    if (this.lifecycle.isClosing) throw new Error('The application is closing.')
    for (const lifecycle of this.lifecycles) await lifecycle.check?.()
  }

  private get lifecycles(): Hooks[] {
    const { sessionStore } = this.settings
    return [...this.declarations.middleware, ...(sessionStore ? [sessionStore] : [])]
  }

  private get configuredPort(): number {
    return this.settings.port ?? currentPort()
  }

  private get configuredHost(): string | undefined {
    return this.settings.host ?? process.env['HOST'] ?? (this.isProduction ? undefined : '127.0.0.1')
  }

  private get isProduction(): boolean {
    return this.env === 'production'
  }
}

/** Removes the origin from a request's target, which a proxy may send in absolute form (RFC 9112, section 3.2.2). */
function originForm(target = '/'): string {
  if (target.startsWith('/')) return target
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}
