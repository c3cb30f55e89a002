import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { DeclarationError, ForeignHost, ForwardedInDevelopment, type HttpError } from './errors.js'
import { trustedValues } from './http/forwarded.js'

const hostName = /^(?:\*\.)?[\w-]+(?:\.[\w-]+)*$|^\[[\da-f:.]+\]$/i

/** Whether a text is the name or the address of a host; or `*.example.com`, which is every host beneath one. */
export function isHostPattern(text: string): boolean {
  return hostName.test(text)
}

/** Whether a text is the name or the address of one host. */
export function isHost(text: string): boolean {
  return hostName.test(text) && !text.startsWith('*')
}

/** A host without its port, and without the dot at the end that means the same. */
export function nameOfHost(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Whether a host is one of those that patterns name. */
export function matchesHost(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? name.endsWith(pattern.slice(1)) : name === pattern,
  )
}

/** What browsers look for on this machine alone. */
const local = ['localhost', '*.localhost']

/**
 * The hosts by whose names a server of development is requested. The name of any other site can be made to lead here (DNS
 * rebinding), and its pages would then read ours, with the source and the routes that error pages show. An address
 * cannot, nor can the names of this machine. A proxy that visitors come through is accepted for named hosts alone: a server
 * that the world reaches runs in development by mistake.
 */
export class DevelopmentHosts {
  private readonly named: readonly string[]
  private readonly known: readonly string[]

  /**
   * @param named the hosts that the application names; `DEVELOPMENT_HOSTS` names others, with commas between them
   * @param listening where it listens, which may be a name
   * @throws DeclarationError when one is no name of a host
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

  /** Why a request with these headers is rejected; undefined when it is accepted. */
  refusal(headers: IncomingHttpHeaders): HttpError | undefined {
    const { host = '' } = headers
    // X-Forwarded-Host does not count here: a page can set it.
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
