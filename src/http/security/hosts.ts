import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import {
  BadRequest,
  BlockedHost,
  DeclarationError,
  ForwardedInDevelopment,
  type HttpError,
} from '../../errors.js'
import type { Middleware } from '../../context.js'
import { trustedValues, valuesOf } from './forwarded.js'

const hostPattern = /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$|^\[[\da-f:.]+\]$/i

/** Whether a string is a host, or a pattern for all subdomains of a host: `*.example.com`. */
export function isHostPattern(text: string): boolean {
  return hostPattern.test(text)
}

/** Whether a string is a host name, an IPv4 address, or an IPv6 address in brackets. `1.2.3.999` is none. */
export function isHost(text: string): boolean {
  return hostPattern.test(text) && !text.startsWith('*') && URL.canParse(`https://${text}`)
}

/** Returns a host in lower case, without port and trailing dot: `blog.example` for `Blog.example.:3000`. */
export function nameOfHost(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Whether a host matches one of the patterns. `*.example.com` does not match `example.com` itself. */
export function matchesHost(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
  )
}

/**
 * Rejects a request with several `Host` headers (RFC 9112, section 3.2), because a proxy may read another one
 * than Node.
 *
 * @param rawHeaders each name, followed by its value
 * @throws BadRequest (400)
 */
export function rejectSeveralHosts(rawHeaders: readonly string[]): void {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) throw new BadRequest('The request has several Host headers.')
}

/**
 * Rejects requests for hosts other than the development hosts, and requests that a proxy forwarded for other
 * hosts.
 *
 * @param named the hosts in the application's options
 * @param listening the address on which the application listens
 * @throws DeclarationError when a configured host is malformed. The middleware throws BlockedHost and
 *   ForwardedInDevelopment (403)
 */
export function developmentHosts(named: readonly string[], listening?: string): Middleware {
  const hosts = new DevelopmentHosts(named, listening)

  return function developmentHosts(ctx, next) {
    const error = hosts.check(ctx.headers)
    if (error) throw error
    return next()
  }
}

/** The names that browsers resolve to this machine. */
const localNames = ['localhost', '*.localhost']

/**
 * The hosts that a development server accepts: localhost, IP addresses and configured hosts.
 *
 * Another site can let its own name resolve to this machine (DNS rebinding). Without this check, its pages
 * could read the source code and routes on our error pages. A request that a proxy forwarded is accepted for
 * configured hosts only, because a public server that runs in development is most likely a mistake.
 */
export class DevelopmentHosts {
  private readonly configured: readonly string[]
  private readonly accepted: readonly string[]

  /**
   * @param configured the hosts in the application's options; `DEVELOPMENT_HOSTS` adds others, separated by
   *   commas
   * @param listening the name or address on which the application listens
   * @throws DeclarationError when a configured host is malformed
   */
  constructor(configured: readonly string[], listening = '') {
    const hosts = [...configured, ...valuesOf(process.env['DEVELOPMENT_HOSTS'])]
    const malformed = hosts.find((host) => !isHostPattern(host) && !isIP(host))
    if (malformed !== undefined)
      throw new DeclarationError(
        `${JSON.stringify(malformed)} isn't a valid development host. Write it like "blog.example" or "*.blog.example".`,
      )
    this.configured = hosts.map((host) => host.toLowerCase())
    this.accepted = [...localNames, ...this.configured, listening.toLowerCase()]
  }

  /** Returns the reason for rejecting a request with these headers, or undefined if it is accepted. */
  check(headers: IncomingHttpHeaders): HttpError | undefined {
    const { host = '' } = headers
    // X-Forwarded-Host cannot replace Host in this check, because a page can set it.
    if (!this.isAccepted(host)) return new BlockedHost(host)
    if (!isForwarded(headers)) return undefined
    const [forwardedHost = ''] = trustedValues(String(headers['x-forwarded-host'] ?? ''), 1)
    return [host, forwardedHost].some((name) => this.isConfigured(name))
      ? undefined
      : new ForwardedInDevelopment()
  }

  private isAccepted(host: string): boolean {
    const name = nameOfHost(host)
    return isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0 || (isHost(name) && matchesHost(name, this.accepted))
  }

  private isConfigured(host: string): boolean {
    const name = nameOfHost(host)
    return isHost(name) && matchesHost(name, this.configured)
  }
}

function isForwarded(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))
}
