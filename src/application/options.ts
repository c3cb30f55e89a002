import type { Logger } from 'pino'
import type { DependencyContainer } from 'tsyringe'
import type { BodyOptions } from '../http/body/body.js'
import type { CorsOptions } from '../http/security/cors.js'
import type { TrustedProxies } from '../http/security/forwarded.js'
import type { SecurityHeadersOptions } from '../middleware/security-headers.js'
import type { LifecycleOptions } from '../server/lifecycle.js'
import type { SessionStore } from '../sessions/session-store.js'
import type { Helper } from '../views/pages.js'
import { checkNumbers, longestDelay } from '../common/numbers.js'
import { checkTimeZone } from '../common/time-zones.js'
import { DeclarationError } from '../errors.js'

/** The options of an application. Each one has a default. */
export interface AppOptions extends LifecycleOptions, BodyOptions {
  /**
   * The environment of the application (`GO_ENV`, else `NODE_ENV`, else `development`). Middleware, pages,
   * sessions and the log use it. The database has its own `env`: see `Database`.
   */
  env?: string
  /** Whether this is an API application: it responds in JSON by default and has no sessions (false). */
  api?: boolean
  /** The name of the session cookie (`_kit_session`). */
  sessionName?: string
  /**
   * The secret that signs the session cookie (`SESSION_SECRET`). Of several secrets, in the variable
   * separated by commas, the first one signs, and all of them verify. Required in production, but in an API
   * application only with `authenticate()`.
   */
  secret?: string | readonly string[]
  /** The session store, such as `databaseSessions(database)`. By default, sessions are in the cookie. */
  sessionStore?: SessionStore
  /** A session's lifetime in milliseconds (14 days). A request in the second half renews it (sliding). */
  sessionMaxAge?: number
  /** The port to listen on: `PORT`, else 3000. */
  port?: number
  /** The address to listen on: `HOST`, else 127.0.0.1. In production the default is every address. */
  host?: string
  /**
   * The proxies whose headers `X-Forwarded-For`, `-Proto` and `-Host` determine the client's address, the
   * scheme and the host. By default these are all loopback, link-local and private addresses (`'private'`),
   * so that clients with a public address cannot forge the headers. Other values are the number of proxies in
   * front of the application (0 for none; `true` is 1), or a list of their networks:
   * `['10.1.0.0/16', '192.0.2.7']`.
   */
  proxy?: TrustedProxies
  /**
   * The hosts to serve in development, in addition to localhost, IP addresses and `DEVELOPMENT_HOSTS`:
   * `['blog.example', '*.tunnel.example']`. Requests for other hosts return 403. Requests that a proxy has
   * forwarded (`X-Forwarded-*`) return 403 unless their host is listed.
   */
  developmentHosts?: readonly string[]
  /**
   * The tsyringe container with the dependencies of resources and middleware classes (the global one). Two
   * applications in one process can have a container each: `container.createChildContainer()`.
   */
  container?: DependencyContainer
  /** The logger. A child of it redacts secrets in errors. */
  logger?: Logger
  /**
   * Other sites whose pages may send any request and read the responses, including errors (none). An API
   * application also accepts forms from these sites.
   */
  cors?: CorsOptions
  /** The options of `securityHeaders()` (its defaults) for every response; false for none. */
  securityHeaders?: SecurityHeadersOptions | false
  /**
   * The time zone of visitors without the `time_zone` cookie: `Europe/Berlin` (UTC). Pages show datetimes in
   * this time zone, and the datetimes in forms are read in it.
   */
  timeZone?: string
  /** The folder of the templates, relative to the working directory (`templates`). */
  templates?: string
  /**
   * Functions that every template can call: `{ money: (ctx, amount) => ... }` is `money(post.price)` in a
   * template. They override the framework's helpers of the same name.
   */
  helpers?: Record<string, Helper>
}

const delay = { max: longestDelay }
/** A day, because timers wait for the sum of both times. */
const drain = { max: 24 * 60 * 60 * 1000 }

/** @throws DeclarationError when a number is out of range, or no cookie or time zone can have the name */
export function checkValues(options: AppOptions): void {
  checkNumbers('new App()', options, {
    bodyLimit: {},
    xmlLimit: {},
    filesLimit: {},
    uploadsLimit: {},
    membersLimit: {},
    port: { max: 65_535, isWhole: true },
    // Browsers keep no cookie for more than 400 days.
    sessionMaxAge: { min: 1, max: 400 * 24 * 60 * 60 * 1000 },
    headersTimeout: delay,
    requestTimeout: delay,
    keepAliveTimeout: delay,
    sendTimeout: delay,
    drainDelay: drain,
    drainTimeout: drain,
  })
  const { sessionName = '_kit_session' } = options
  // The name of a cookie is a token (RFC 6265, section 4.1.1).
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(sessionName))
    throw new DeclarationError(
      `The sessionName of new App() is "${sessionName}". Use letters, digits, _ and -, for example _blog_session.`,
    )
  if (options.timeZone !== undefined) checkTimeZone('new App()', options.timeZone)
}
