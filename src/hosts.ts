import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { DeclarationError, ForeignHost, ForwardedInDevelopment, type HttpError } from './errors.js'
import { trustedValues } from './http/forwarded.js'

const hostName = /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$|^\[[\da-f:.]+\]$/i

/** Whether a text is a host name or address, or `*.example.com` for all subdomains. */
export function isHostPattern(text: string): boolean {
  return hostName.test(text)
}

/** Whether a text is a host name or address. */
export function isHost(text: string): boolean {
  return hostName.test(text) && !text.startsWith('*')
}

/** Returns a host without its port, and without a trailing dot, which has the same meaning. */
export function nameOfHost(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Whether a host matches one of the patterns. */
export function matchesHost(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
  )
}

/** The names that browsers resolve to this machine. */
const local = ['localhost', '*.localhost']

/**
 * The hosts that a development server accepts. The name of another site can be made to resolve to this machine (DNS
 * rebinding), and its pages could then read ours, with the source and routes on error pages. An IP address cannot, nor can
 * the names of this machine. A request through a proxy is only accepted for configured hosts, because a public server that
 * runs in development is a mistake.
 */
export class DevelopmentHosts {
  private readonly named: readonly string[]
  private readonly known: readonly string[]

  /**
   * @param named the hosts that the application configures; `DEVELOPMENT_HOSTS` adds others, separated by commas
   * @param listening the host on which it listens, which may be a name
   * @throws DeclarationError when one isn't a host name
   */
  constructor(named: readonly string[], listening = '') {
    const all = [...named, ...listed(process.env['DEVELOPMENT_HOSTS'])]
    const wrong = all.find((one) => !isHostPattern(one) && !isIP(one))
    if (wrong !== undefined)
      throw new DeclarationError(
        `${JSON.stringify(wrong)} isn't a valid development host. Write it like "blog.example" or "*.blog.example".`,
      )
    this.named = all.map((one) => one.toLowerCase())
    this.known = [...local, ...this.named, listening.toLowerCase()]
  }

  /** Returns the reason for rejecting a request with these headers, or undefined if it is accepted. */
  refusal(headers: IncomingHttpHeaders): HttpError | undefined {
    const { host = '' } = headers
    // X-Forwarded-Host is not used here, because a page can set it.
    if (!this.isKnown(host)) return new ForeignHost(host)
    if (!isForwarded(headers)) return undefined
    const [forwardedHost = ''] = trustedValues(String(headers['x-forwarded-host'] ?? ''), 1)
    return [host, forwardedHost].some((one) => this.isNamed(one)) ? undefined : new ForwardedInDevelopment()
  }

  private isKnown(host: string): boolean {
    const name = nameOfHost(host)
    return isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0 || (isHost(name) && matchesHost(name, this.known))
  }

  private isNamed(host: string): boolean {
    const name = nameOfHost(host)
    return isHost(name) && matchesHost(name, this.named)
  }
}

/** Whether a proxy has forwarded a request. */
function isForwarded(headers: IncomingHttpHeaders): boolean {
  return Object.keys(headers).some((name) => name === 'forwarded' || name.startsWith('x-forwarded-'))
}

function listed(text = ''): string[] {
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}
