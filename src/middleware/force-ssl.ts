import type { Next } from 'koa'
import type { Context, Middleware } from '../context.js'
import { environmentOf } from '../common/environment.js'
import { checkNumbers } from '../common/numbers.js'
import { DeclarationError, UnknownHost } from '../errors.js'
import { isHost, isHostPattern, matchesHost, nameOfHost } from '../http/security/hosts.js'

/** The options of `forceSSL()`. */
export interface ForceSSLOptions {
  /** The environment, by default that of the application. The middleware only acts in `production`. */
  env?: string
  /**
   * The hosts that the application serves: `['example.com', '*.example.com']`. A request for another host,
   * whose `Host` may be forged, is rejected with 400.
   */
  hosts?: readonly string[]
  /** The host of the redirect, with its port if that is not 443. By default the host of the request. */
  host?: string
  /** The `Strict-Transport-Security` header (HSTS), or false if it is set elsewhere. */
  hsts?: StrictTransportSecurity | false
}

/** The `Strict-Transport-Security` header (RFC 6797). */
export interface StrictTransportSecurity {
  /** Seconds for which browsers send no HTTP requests (a year). */
  maxAge?: number
  /** Whether it applies to subdomains, too (yes). */
  includeSubDomains?: boolean
  /** Whether browsers may include this host in their preload list (no). */
  preload?: boolean
}

/**
 * Redirects HTTP requests to HTTPS in production: GET and HEAD with 301, others with 308, which keeps the
 * method and the body. Responses over HTTPS tell browsers to use only HTTPS from then on (HSTS). Static files
 * that are declared below it are redirected, too; `GET /up` is not.
 *
 * Behind a trusted proxy, `X-Forwarded-Proto: https` marks a request as HTTPS (`AppOptions.proxy`).
 *
 * @example
 * app.use(forceSSL())
 * app.use(forceSSL({ hosts: ['example.com', 'www.example.com'], host: 'example.com' }))
 * @throws DeclarationError when a host or `maxAge` is malformed
 * @throws UnknownHost (400) when a request is for a host that is not among `hosts`, or has no host
 */
export function forceSSL(options: ForceSSLOptions = {}): Middleware {
  const isKnown = hostCheck(options)
  if (options.hsts) checkNumbers('hsts', options.hsts, { maxAge: { isWhole: true } })
  const policy = options.hsts === false ? undefined : policyOf(options.hsts)

  function forceSSL(ctx: Context, next: Next): unknown {
    if (environmentOf(ctx, options.env) === 'production') {
      const host = nameOfHost(ctx.host)
      if (!isKnown(host)) throw new UnknownHost(ctx.host)
      if (!ctx.secure) return redirect(ctx, options.host ?? host)
      if (policy) ctx.set('Strict-Transport-Security', policy)
    }
    return next()
  }

  return Object.assign(forceSSL, { guardsFiles: true, beforeBody: true })
}

function redirect(ctx: Context, host: string): void {
  ctx.status = ctx.method === 'GET' || ctx.method === 'HEAD' ? 301 : 308
  // The host may come from a header that is not part of a cache's key (cache poisoning).
  ctx.set('Cache-Control', 'no-store')
  // Path and query, not the URL as it was sent, which may contain another host (RFC 9112, section 3.2.2).
  ctx.redirect(`https://${host}${ctx.path}${ctx.search}`)
}

function hostCheck({ hosts, host }: ForceSSLOptions): (name: string) => boolean {
  const own = host === undefined ? [] : [nameOfHost(host)]
  const named = [...(hosts ?? []), ...own]
  const wrong = named.find((name) => !isHostPattern(name)) ?? own.find((name) => !isHost(name))
  if (wrong !== undefined) {
    throw new DeclarationError(
      `forceSSL() expects host names like "example.com", not ${JSON.stringify(wrong)}.`,
    )
  }
  // Without `hosts`, the host of the request only matters if the redirect contains it.
  if (!hosts) return (name) => host !== undefined || isHost(name)
  const patterns = named.map((name) => name.toLowerCase())
  return (name) => isHost(name) && matchesHost(name, patterns)
}

function policyOf({
  maxAge = 365 * 24 * 60 * 60,
  includeSubDomains = true,
  preload = false,
}: StrictTransportSecurity = {}): string {
  return [`max-age=${maxAge}`, includeSubDomains && 'includeSubDomains', preload && 'preload']
    .filter(Boolean)
    .join('; ')
}
