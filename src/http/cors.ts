import { createRequire } from 'node:module'
import type { Middleware as KoaMiddleware } from 'koa'
import type { Context, Middleware } from '../context.js'
import { DeclarationError } from '../errors.js'
import { checkedOrigin } from './cross-site.js'

/** Which other sites may read responses in a browser (cross-origin resource sharing). */
export interface CorsOptions {
  /** Their origins: `['https://admin.example.com']`; or `'*'` for every site, without credentials. */
  origins: readonly string[] | '*'
  /** Whether browsers send cookies along (no). */
  credentials?: boolean
  /** The request headers that scripts may send: all that they name, unless given. */
  allowHeaders?: readonly string[]
  /** Response headers that scripts may read beside `Link`, `Location`, `Retry-After`, `X-Request-Id` and `X-Total-Count`. */
  exposeHeaders?: readonly string[]
  /** Seconds for which a browser remembers what a path allows (600). */
  maxAge?: number
}

/** What the framework's responses tell by headers that scripts cannot read by default. */
const ownHeaders = ['Link', 'Location', 'Retry-After', 'X-Request-Id', 'X-Total-Count']

/** @koa/cors is loaded when an application has the option. */
const require = createRequire(import.meta.url)

/** Sets the headers of cross-origin resource sharing, with @koa/cors. */
export class Cors {
  /** The origins that the application lists. `'*'` lists none: it shares what everybody may read, and trusts nobody. */
  readonly origins: readonly string[]
  private readonly settings: object
  private readonly koaCors: (settings: object) => KoaMiddleware
  private readonly respond: KoaMiddleware

  /** @throws DeclarationError when an origin is none, or when credentials are allowed to every site */
  constructor(options: CorsOptions) {
    const { origins, credentials = false, allowHeaders, exposeHeaders = [], maxAge = 600 } = options
    if (origins === '*' && credentials) {
      throw new DeclarationError(
        'The option cors cannot allow credentials to every site. List the origins instead of "*".',
      )
    }
    this.origins = origins === '*' ? [] : origins.map((one) => checkedOrigin(one, 'The option cors'))
    this.settings = {
      origin: origins === '*' ? '*' : (ctx: Context) => this.lists(ctx) && ctx.get('Origin'),
      credentials,
      allowHeaders,
      exposeHeaders: [...ownHeaders, ...exposeHeaders],
      maxAge: String(maxAge),
      // Every error becomes a response further in, and keeps the headers.
      keepHeadersOnError: false,
    }
    this.koaCors = require('@koa/cors')
    this.respond = this.koaCors(this.settings)
  }

  /** Lets listed origins read responses, errors included. */
  readonly middleware: Middleware = async (ctx, next) => {
    await (isPreflight(ctx) ? next() : call(this.respond, ctx, next))
    // A handler may have set another Vary.
    if (!ctx.headerSent) ctx.vary('Origin')
  }

  /**
   * Answers a preflight, if its origin is allowed.
   *
   * @param methods those of the path
   * @returns whether it has done so
   */
  async answers(ctx: Context, methods: readonly string[]): Promise<boolean> {
    let isAllowed = true
    const refuse = (): Promise<void> => Promise.resolve(void (isAllowed = false))
    await call(this.koaCors({ ...this.settings, allowMethods: methods }), ctx, refuse)
    return isAllowed
  }

  private lists(ctx: Context): boolean {
    return this.origins.includes(ctx.get('Origin'))
  }
}

/** Whether a browser asks for permission to send another request. */
export function isPreflight(ctx: Context): boolean {
  return ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== ''
}

/** Our context is Koa's, with more members than its type knows. */
function call(middleware: KoaMiddleware, ctx: Context, next: () => Promise<unknown>): unknown {
  return middleware(ctx as unknown as Parameters<KoaMiddleware>[0], next)
}
