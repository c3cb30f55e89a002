import type { Middleware as KoaMiddleware } from 'koa'
import type { Context, Middleware } from '../../context.js'
import { DeclarationError } from '../../errors.js'
import { checkedOrigin } from './cross-site.js'
import { require } from '../../common/lazy.js'

/** The other sites that may read responses in a browser (cross-origin resource sharing). */
export interface CorsOptions {
  /** The allowed origins: `['https://admin.example.com']`; or `'*'` for every site, without credentials. */
  origins: readonly string[] | '*'
  /** Whether browsers send cookies (no). */
  credentials?: boolean
  /** The request headers that scripts may send in addition to `Database-Position` (all that they request). */
  allowHeaders?: readonly string[]
  /** Response headers that scripts may read beside the framework's: `Link`, `Location`, `Retry-After` .... */
  exposeHeaders?: readonly string[]
  /** The seconds for which a browser caches the result of a preflight (600). */
  maxAge?: number
}

/** The framework's response headers that browsers hide from scripts of other sites unless exposed. */
const ownHeaders = [
  'Database-Position',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Request-Id',
  'X-Total-Count',
]

/** Sets the headers of cross-origin resource sharing, with @koa/cors. */
export class Cors {
  /** The listed origins; empty for `'*'`, which shares public data with every site, but trusts none. */
  readonly origins: readonly string[]
  private readonly settings: object
  private readonly koaCors: (settings: object) => KoaMiddleware
  private readonly respond: KoaMiddleware

  /** @throws DeclarationError when an origin is malformed, or when credentials are allowed for every site */
  constructor(options: CorsOptions) {
    const { origins, credentials = false, allowHeaders, exposeHeaders = [], maxAge = 600 } = options
    if (origins === '*' && credentials) {
      throw new DeclarationError(
        'The option cors cannot allow credentials to every site. List the origins instead of "*".',
      )
    }
    this.origins = origins === '*' ? [] : origins.map((origin) => checkedOrigin(origin, 'The option cors'))
    this.settings = {
      origin: origins === '*' ? '*' : (ctx: Context) => this.lists(ctx) && ctx.get('Origin'),
      credentials,
      allowHeaders: allowHeaders && [...allowHeaders, 'Database-Position'],
      exposeHeaders: [...ownHeaders, ...exposeHeaders],
      maxAge: String(maxAge),
      // Unlike other errors in Koa, ours become responses in an inner middleware, and keep the headers
      // anyway.
      keepHeadersOnError: false,
    }
    this.koaCors = require('@koa/cors')
    this.respond = this.koaCors(this.settings)
  }

  /** Lets listed origins read responses, errors included. */
  readonly middleware: Middleware = async (ctx, next) => {
    await (isPreflight(ctx) ? next() : call(this.respond, ctx, next))
    // A handler may have replaced the `Vary` header.
    if (!ctx.headerSent) ctx.vary('Origin')
  }

  /**
   * Responds to a preflight request if its origin is allowed.
   *
   * @param methods the methods of the path
   * @returns whether it has responded
   */
  async respondToPreflight(ctx: Context, methods: readonly string[]): Promise<boolean> {
    // @koa/cors calls `next` if the origin is not allowed, and responds otherwise.
    let isAllowed = true
    const reject = (): Promise<void> => Promise.resolve(void (isAllowed = false))
    await call(this.koaCors({ ...this.settings, allowMethods: methods }), ctx, reject)
    return isAllowed
  }

  private lists(ctx: Context): boolean {
    return this.origins.includes(ctx.get('Origin'))
  }
}

/** Whether a request is a preflight, which asks for permission to send another request. */
export function isPreflight(ctx: Context): boolean {
  return ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== ''
}

/** Calls a middleware of Koa. The cast is correct, because our context is Koa's with additional members. */
function call(middleware: KoaMiddleware, ctx: Context, next: () => Promise<unknown>): unknown {
  return middleware(ctx as unknown as Parameters<KoaMiddleware>[0], next)
}
