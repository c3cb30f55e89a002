import type { HelmetOptions } from 'helmet'
import type { Middleware as KoaMiddleware } from 'koa'
import koaHelmet from 'koa-helmet'
import type { Middleware } from '../context.js'
import { currentEnvironment } from '../environment.js'

/** The sources that a content security policy allows, by directive: `{ imgSrc: ["'self'", 'https://images.example.com'] }`. */
export type ContentSecurityPolicy = Record<string, Iterable<string> | null>

/** The headers of helmet that an application may want otherwise; each takes helmet's own options, or false. */
type HelmetHeaders =
  | 'crossOriginEmbedderPolicy'
  | 'crossOriginOpenerPolicy'
  | 'crossOriginResourcePolicy'
  | 'originAgentCluster'
  | 'referrerPolicy'
  | 'xDnsPrefetchControl'
  | 'xFrameOptions'

/** What browsers are told. */
export interface SecurityHeadersOptions extends Pick<HelmetOptions, HelmetHeaders> {
  /** Only in `production` are requests upgraded to https. `GO_ENV`, else `NODE_ENV`, unless given. */
  env?: string
  /** Directives that differ from ours (null takes one out), or false for no policy at all. */
  contentSecurityPolicy?: ContentSecurityPolicy | false
}

/** Where we are stricter than helmet: our pages have no inline styles, and no fonts from elsewhere. */
const stricter: ContentSecurityPolicy = { 'font-src': ["'self'"], 'style-src': ["'self'"] }

/**
 * Sets the headers by which browsers protect a page, with koa-helmet: a content security policy under which scripts,
 * styles and forms are the application's own, no frames on other sites, no guessing of content types, and more.
 *
 * The application does this for every answer, error pages and static files included: see `AppOptions.securityHeaders`.
 * Use it yourself where a part of the application needs others: they take the place of those of the same name.
 *
 * @example
 * new App({ securityHeaders: { contentSecurityPolicy: { imgSrc: ["'self'", 'https://images.example.com'] } } })
 * app.group('/embed').use(securityHeaders({ contentSecurityPolicy: { frameAncestors: ['https://partner.example'] } }))
 * @throws when a directive is malformed
 */
export function securityHeaders(options: SecurityHeadersOptions = {}): Middleware {
  const { env = currentEnvironment(), contentSecurityPolicy = {}, ...others } = options
  const headers = headersOf({
    // Under helmet's own `no-referrer`, browsers send `Origin: null` with our forms, which csrf() has to refuse.
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    // forceSSL() speaks of https.
    strictTransportSecurity: false,
    ...others,
    contentSecurityPolicy: contentSecurityPolicy && {
      directives: {
        ...stricter,
        // In development there is no https to upgrade to.
        'upgrade-insecure-requests': env === 'production' ? [] : null,
        ...dashed(contentSecurityPolicy),
      },
    },
  })

  return function securityHeaders(ctx, next) {
    for (const [name, value] of headers) ctx.res.setHeader(name, value)
    return next()
  }
}

/** What koa-helmet sets for these options. It is the same for every request, so it is asked once. */
function headersOf(options: HelmetOptions): Array<[name: string, value: string]> {
  const headers: Array<[string, string]> = []
  const res = {
    setHeader: (name: string, value: string) => headers.push([name, value]),
    removeHeader: () => undefined,
  }
  // It sets its headers before it returns, and asks nothing else of the context.
  void koaHelmet(options)({ req: {}, res } as unknown as Parameters<KoaMiddleware>[0], async () => {})
  return headers
}

/** `imgSrc` is `img-src`: helmet refuses a directive that is given in both ways. */
function dashed(directives: ContentSecurityPolicy): ContentSecurityPolicy {
  return Object.fromEntries(
    Object.entries(directives).map(([name, sources]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      sources,
    ]),
  )
}
