import type { RequestListener, ServerResponse } from 'node:http'
import type Koa from 'koa'
import { resolve } from 'node:path'
import type { Logger } from 'pino'
import type { Extension, Middleware } from '../context.js'
import { createKoa } from './koa.js'
import { BackgroundWork } from './background-context.js'
import { checkValues, type AppOptions } from './options.js'
import { requestSteps } from './request-steps.js'
import { addMembers, extendContext } from './context-members.js'
import { Extensions, rejectMisplacedHooks } from './extensions.js'
import { DeclarationError } from '../errors.js'
import { currentEnvironment } from '../common/environment.js'
import { Assets } from '../http/static/assets.js'
import { bodyReader, defaultFilesLimit } from '../http/body/body.js'
import { Cors } from '../http/security/cors.js'
import { rejectCrossSiteForm } from '../http/security/cross-site.js'
import { developmentHosts } from '../http/security/hosts.js'
import { readForwarded } from '../http/security/forwarded.js'
import { readQuery } from '../http/query.js'
import { rejectLinePolicy } from '../models/attributes/nested-lists.js'
import { implyWithin } from '../records/within.js'
import { checkOptions } from '../http/writable-attributes.js'
import { removeStaleUploads } from '../http/body/upload-folders.js'
import { Injector } from '../injection/injector.js'
import { createLogger, withRedactedErrors } from '../logging/logger.js'
import { errorHandler } from './error-handler.js'
import { health } from './health.js'
import { requestLog } from './request-log.js'
import { knownTimeZone } from '../common/time-zones.js'
import { Pages } from '../views/pages.js'
import { securityHeaders } from '../middleware/security-headers.js'
import { sessions } from '../sessions/session.js'
import { canonicalPath, PathPattern } from '../routing/path.js'
import type { PathArguments, PathName } from '../routing/path-types.js'
import type { Match } from '../routing/route-table.js'
import type { DeclaredRoute } from '../routing/declared-route.js'
import { Declarations, Scope } from '../routing/scope.js'
import { findMisspelledHandlers, findShadowedRoutes } from '../routing/warnings.js'
import { currentPort, httpAddress, setOwnAddress } from '../server/port.js'
import { Lifecycle, type Primary } from '../server/lifecycle.js'
import { sessionSecrets } from '../sessions/secrets.js'
import { TransferredConnections } from '../server/workers/transferred-connections.js'
import { reportToPrimary } from '../server/workers/messages.js'
import { workerNumber } from '../server/workers/worker.js'

/** The connection of a worker to its primary process. */
const primary: Primary = {
  source: (server) => new TransferredConnections(server),
  reportShutdownTimeout: (milliseconds) => reportToPrimary({ kit: 'shutdownTimeout', milliseconds }),
}

/**
 * A web application. Middleware, routes and resources are declared in order: a route runs the middleware
 * registered above it, and the first route that matches a request handles it.
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
  private readonly koa = createKoa()
  private readonly settings: AppOptions
  private readonly cors: Cors | undefined
  private listener: RequestListener | undefined
  private readonly lifecycle: Lifecycle
  private readonly extensions: Extensions

  /** @throws DeclarationError when an option is wrong */
  constructor(options: AppOptions = {}) {
    super(new Declarations(new Injector(options.container), options))
    checkValues(options)
    this.settings = options
    this.extensions = new Extensions(this.declarations.extensions, options.sessionStore)
    this.env = options.env ?? currentEnvironment()
    const worker = workerNumber()
    this.logger = withRedactedErrors(options.logger ?? createLogger(this.env), worker ? { worker } : {})
    const { logger } = this
    // The lifecycle also calls methods that are private for all others.
    const served = {
      logger,
      callback: () => this.callback(),
      start: () => this.start(),
      listening: (address: string) => this.listening(address),
      finish: (deadline: Date) => this.extensions.finish(deadline, logger),
      stop: () => this.stop(),
    }
    this.lifecycle = new Lifecycle(served, options, worker === undefined ? undefined : primary)
    this.cors = options.cors && new Cors(options.cors)
    readForwarded(this.koa.request, options.proxy)
    readQuery(this.koa.request)
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

  /** The format of responses to clients that accept all formats: html, or json in an API application. */
  get defaultFormat(): 'html' | 'json' {
    return this.settings.api ? 'json' : 'html'
  }

  /**
   * Finds the route of a request and the parameters in its path. Returns undefined if no route matches.
   * Static files are not considered.
   *
   * @param host selects the routes of a virtual host: `acme.example.com`
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
  pathFor<Name extends PathName>(name: Name, ...args: PathArguments<Name>): string {
    return this.declarations.table.pathFor(name, ...args)
  }

  /**
   * Returns the function that handles requests, for your own server. Call `start` and `close` yourself.
   *
   * @throws DeclarationError in production if sessions or signed tokens have no secret, in development if a
   *   host is malformed, in an API application if a middleware needs sessions, and if a middleware adds a
   *   member that the context already has
   */
  callback(): RequestListener {
    return (this.listener ??= this.compose())
  }

  /**
   * Starts the middleware, for example `transaction()`, which opens the database, and listens. SIGTERM and
   * SIGINT close the application and end the process; a second signal ends it at once.
   *
   * @returns the address: `http://127.0.0.1:3000`
   * @throws PortInUse when another process listens on the port, AddressUnavailable when the system rejects
   *   the address, DeclarationError when the application is already listening, and the errors of `callback`
   *   and `start`
   */
  async listen(port = this.configuredPort, host = this.configuredHost): Promise<string> {
    return this.lifecycle.listen(port, host)
  }

  /**
   * Starts the middleware without listening, for work without requests. SIGTERM and SIGINT close the
   * application and end the process.
   *
   * @internal
   */
  run(): Promise<void> {
    // It adds the members to Koa's context, which jobs use, too.
    this.callback()
    return this.lifecycle.run()
  }

  /**
   * Returns the extension that a function has created: `app.extension(jobQueue)`. Undefined if the
   * application has none, or if its name is not that of the function.
   */
  extension<Made extends Extension>(factory: (...args: never[]) => Made): Made | undefined {
    // The cast is correct, because only this function returns extensions of its name.
    return this.extensions.named(factory.name) as Made | undefined
  }

  /**
   * Checks the options of the resources.
   *
   * @throws DeclarationError when they do not fit the model of the resource
   * @internal
   */
  checkOptions(): void {
    checkOptions(this.routes)
  }

  /** The configured address: `http://127.0.0.1:3000`. */
  get address(): string {
    return httpAddress(this.configuredHost, this.configuredPort)
  }

  /**
   * Starts the middleware without listening. Warns about unreachable routes and misspelled handlers.
   *
   * @throws DeclarationError when the options of a resource do not fit its model, and errors of the
   *   middleware, for example when the database cannot be opened
   */
  async start(): Promise<void> {
    const { table, items } = this.declarations
    // Only the first worker logs the warnings, which are the same for all workers.
    const logger = (workerNumber() ?? 1) > 1 ? this.logger.child({}, { level: 'error' }) : this.logger
    const warnings = [...findShadowedRoutes(table), ...findMisspelledHandlers(items.keys())]
    for (const warning of warnings) logger.warn(warning)
    this.checkOptions()
    this.implyWithin()
    for (const model of this.declarations.policies.keys()) rejectLinePolicy(model)
    setOwnAddress(this.address)
    // Not awaited, because it may have many files to delete. It never rejects.
    void removeStaleUploads()
    const background = new BackgroundWork(this.koa.context, this.logger, this.declarations, this.env)
    await this.extensions.start(table.routes, background, logger, this.env)
    for (const route of table.routes)
      for (const { policy, model } of route.resource?.policies ?? []) policy.checkRoute?.(route, model)
  }

  /**
   * Declares that the records of each resource are within those to which its path leads, unless their model
   * has `@Within`.
   *
   * @internal
   */
  implyWithin(): void {
    for (const { resource } of this.routes) {
      const { model, parentKeys = [], parentPath = '' } = resource ?? {}
      if (model) implyWithin(model, [...parentKeys, ...new PathPattern(parentPath).params])
    }
  }

  /**
   * Stops accepting connections, waits for pending requests, and stops the middleware. Connections that are
   * still open after `drainTimeout` are closed.
   */
  close(): Promise<void> {
    return this.lifecycle.close()
  }

  private listening(address: string): void {
    // In specs, the links of mails do not depend on the port that was free.
    if (this.env === 'test') return
    setOwnAddress(address)
    this.extensions.listening(this.logger)
  }

  private stop(): Promise<void> {
    setOwnAddress(undefined)
    return this.extensions.stop()
  }

  /** Composes the function that handles requests. */
  private compose(): RequestListener {
    const { api = false, templates = 'templates', helpers = {} } = this.settings
    const timeZone = knownTimeZone(this.settings.timeZone) ?? 'UTC'
    this.declarations.middleware.forEach(rejectMisplacedHooks)
    if (api) this.prepareApi()
    const { table, policies } = this.declarations
    const pages = new Pages(table, new Assets(table, this.isProduction), helpers, {
      folders: [resolve(templates)],
      cache: this.isProduction,
      checksAttributes: this.env === 'development',
      filesLimit: this.settings.filesLimit ?? defaultFilesLimit,
    })
    const { env, defaultFormat } = this
    extendContext(this.koa.context, {
      table,
      pages,
      env,
      defaultFormat,
      policies,
      timeZone,
    })
    for (const [hooks, middleware] of this.declarations.extensions)
      addMembers(this.koa.context, hooks.members ?? {}, middleware?.name ?? Reflect.get(hooks, 'name'))
    // The type of Koa's context does not include the members that `extendContext` has added.
    for (const step of this.steps(pages)) this.koa.use(step as unknown as Koa.Middleware)
    this.koa.on('error', (error: unknown, ctx?: Koa.Context) =>
      this.logger[isCausedByClient(error, ctx?.res) ? 'debug' : 'error'](
        { err: error },
        'the response could not be written',
      ),
    )
    const handle = this.koa.callback()
    return (req, res) => {
      req.url = originForm(req.url)
      void handle(req, res)
    }
  }

  /** The steps of every request, from the outermost one to the route. */
  private steps(pages: Pages): Middleware[] {
    const { cors, env, logger, settings } = this
    const { table } = this.declarations
    const { api = false, securityHeaders: headers = {}, developmentHosts: hosts = [] } = settings
    const isDevelopment = env === 'development'
    return requestSteps({
      table,
      securityHeaders: headers ? securityHeaders({ env, ...headers }) : undefined,
      cors,
      requestLog: requestLog(logger, isDevelopment),
      health: health(() => this.check(), logger),
      errorHandler: errorHandler({
        showsInternals: isDevelopment,
        routes: table.routes,
        render: (ctx, view, locals) => pages.render(ctx, view, locals),
      }),
      // `KIT_DEV` is the address on which `kit dev` listens for this process.
      developmentHosts: isDevelopment
        ? developmentHosts(hosts, process.env['KIT_DEV'] ?? this.configuredHost)
        : undefined,
      beginning: this.extensions.all.filter(({ begin }) => begin),
      session: api ? undefined : this.sessions(),
      readBody: bodyReader(settings),
      overridesMethod: !api,
      // An API application has no tokens of `csrf()`, which would distinguish its forms from those of other
      // sites.
      guard: api ? (ctx) => rejectCrossSiteForm(ctx, cors?.origins) : undefined,
    })
  }

  /** Rejects middleware that needs sessions. Sets Koa's keys for signing, as `sessions` does otherwise. */
  private prepareApi(): void {
    for (const { name, needsSession, extension } of this.declarations.middleware) {
      const { needsSecret } = extension ?? {}
      if (needsSecret) this.koa.keys = sessionSecrets(this.settings.secret, this.env, needsSecret)
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

  /**
   * Whether the application handles requests: not while it is closing.
   *
   * @throws the error of an extension that cannot work
   */
  private async check(): Promise<boolean> {
    if (this.lifecycle.isClosing) return false
    try {
      await this.extensions.check()
    } catch (error) {
      // The shutdown closes what a check needs.
      if (!this.lifecycle.isClosing) throw error
    }
    return !this.lifecycle.isClosing
  }

  private get configuredPort(): number {
    return this.settings.port ?? currentPort()
  }

  private get configuredHost(): string | undefined {
    return this.settings.host ?? (process.env['HOST'] || (this.isProduction ? undefined : '127.0.0.1'))
  }

  private get isProduction(): boolean {
    return this.env === 'production'
  }
}

/** Removes the origin from a request's target, which a proxy may send in absolute form (RFC 9112). */
function originForm(target = '/'): string {
  if (target.startsWith('/')) return target
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

/**
 * Whether the client caused an error of its connection: it disconnected, did not send HTTP, or was too slow.
 * The log reports it as an aborted request.
 */
function isCausedByClient(error: unknown, response?: ServerResponse): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
  // Either the stream of the body ended early, and Node destroyed the response with this error, or the client
  // disconnected. If the client reset its connection, the response was destroyed, too, but the error of the
  // connection is another one.
  if (code === 'ERR_STREAM_PREMATURE_CLOSE')
    return response?.errored === null || isCausedByClient(response?.req.socket.errored)
  return typeof code === 'string' && /^(HPE_|ERR_HTTP_REQUEST_TIMEOUT|ECONNRESET|EPIPE)/.test(code)
}
