import helmet, { type HelmetOptions } from 'helmet'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Middleware } from '../context.js'
import { environmentOf } from '../common/environment.js'

/** The sources that the policy allows, by directive: `{ imgSrc: ["'self'", 'https://cdn.example'] }`. */
export type ContentSecurityPolicy = Record<string, Iterable<string> | null>

/** The headers of helmet that an application can configure. Each takes helmet's own options, or false. */
type HelmetHeaders =
  | 'crossOriginEmbedderPolicy'
  | 'crossOriginOpenerPolicy'
  | 'crossOriginResourcePolicy'
  | 'originAgentCluster'
  | 'referrerPolicy'
  | 'xDnsPrefetchControl'
  | 'xFrameOptions'

/** The options of `securityHeaders()`. */
export interface SecurityHeadersOptions extends Pick<HelmetOptions, HelmetHeaders> {
  /** The environment, by default the application's. Requests are only upgraded to HTTPS in `production`. */
  env?: string
  /** Directives that override the default ones (null removes one), or false for no policy. */
  contentSecurityPolicy?: ContentSecurityPolicy | false
}

/** Directives that are stricter than helmet's: our pages have no inline styles and no foreign fonts. */
const stricter: ContentSecurityPolicy = { 'font-src': ["'self'"], 'style-src': ["'self'"] }

/**
 * Sets the security headers of helmet: a content security policy that only allows the application's own
 * scripts, styles and forms, no frames on other sites, no content sniffing, and more.
 *
 * The application does this for every response, including error pages and static files: see
 * `AppOptions.securityHeaders`. If a part of the application needs other headers, use this middleware there.
 * Its headers override those of the same name.
 *
 * @example
 * new App({ securityHeaders: { contentSecurityPolicy: { imgSrc: ["'self'", 'https://cdn.example'] } } })
 * const contentSecurityPolicy = { frameAncestors: ['https://partner.example'] }
 * app.group('/embed').use(securityHeaders({ contentSecurityPolicy }))
 * @throws Error of helmet when a directive is malformed
 */
export function securityHeaders(options: SecurityHeadersOptions = {}): Middleware {
  const headers = { production: headersFor(options, true), other: headersFor(options, false) }

  return function securityHeaders(ctx, next) {
    const isProduction = environmentOf(ctx, options.env) === 'production'
    ctx.res.setHeaders(isProduction ? headers.production : headers.other)
    return next()
  }
}

function headersFor(
  { env: _env, contentSecurityPolicy = {}, ...others }: SecurityHeadersOptions,
  isProduction: boolean,
): Map<string, string> {
  return computeHeaders({
    // Under helmet's own `no-referrer`, browsers send `Origin: null` with forms, which csrf() rejects.
    referrerPolicy: { policy: 'strict-origin-when-cross-origin' },
    // Only forceSSL() sets this header.
    strictTransportSecurity: false,
    ...others,
    contentSecurityPolicy: contentSecurityPolicy && {
      directives: {
        ...stricter,
        // In development there is no HTTPS to upgrade to.
        'upgrade-insecure-requests': isProduction ? [] : null,
        ...withDashes(contentSecurityPolicy),
      },
    },
  })
}

/** Returns the headers that helmet sets. They are the same for every request, so they are computed once. */
function computeHeaders(options: HelmetOptions): Map<string, string> {
  const headers: [name: string, value: string][] = []
  const res = {
    setHeader: (name: string, value: string) => headers.push([name, value]),
    removeHeader: () => undefined,
  }
  // helmet() sets the headers synchronously, and uses no other member of the request and the response.
  helmet(options)({} as IncomingMessage, res as unknown as ServerResponse, () => {})
  return new Map(headers)
}

/** Writes `imgSrc` as `img-src`, because helmet rejects a directive that has both spellings. */
function withDashes(directives: ContentSecurityPolicy): ContentSecurityPolicy {
  return Object.fromEntries(
    Object.entries(directives).map(([name, sources]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
      sources,
    ]),
  )
}
