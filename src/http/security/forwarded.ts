import { isIP } from 'node:net'
import type Koa from 'koa'
import { DeclarationError } from '../../errors.js'

/**
 * The number of trusted proxies that the option `proxy` means: `true` is 1, and the default is 1 in production, else 0.
 *
 * @throws DeclarationError when the option is neither a boolean nor a whole number
 */
export function trustedProxies(option: boolean | number | undefined, isProduction: boolean): number {
  const proxies = Number(option ?? isProduction)
  if (Number.isInteger(proxies) && proxies >= 0) return proxies
  throw new DeclarationError(
    `The option proxy is the number of trusted proxies, not ${String(option)}. Write 1 for one proxy, or 0 for none.`,
  )
}

/**
 * Lets requests have the client's address, scheme and host from the `X-Forwarded-*` headers. Each proxy appends a value,
 * so of n trusted proxies the outermost one wrote the n-th value from the right, and the values left of it are the
 * client's. Without trusted proxies, the headers are ignored.
 */
export function readForwarded(request: Koa['request'], proxies: number): void {
  const koa: object = Object.getPrototypeOf(request)
  const members: Partial<Koa.Request> & ThisType<Koa.Request> = {
    get ip(): string {
      return plainAddress(String(Reflect.get(koa, 'ip', this)))
    },
    set ip(address) {
      Reflect.set(koa, 'ip', address, this)
    },
  }
  const forwarded: Partial<Koa.Request> & ThisType<Koa.Request> = {
    get ips() {
      return trustedValues(this.get('X-Forwarded-For'), proxies)
        .map(plainAddress)
        .filter((address) => isIP(address) > 0)
    },
    get protocol() {
      const [scheme] = trustedValues(this.get('X-Forwarded-Proto'), proxies)
      if (scheme === undefined) return String(Reflect.get(koa, 'protocol', this))
      return scheme.toLowerCase() === 'https' ? 'https' : 'http'
    },
    get host() {
      const [host] = trustedValues(this.get('X-Forwarded-Host'), proxies)
      return host?.replace(/^.*@/, '') ?? String(Reflect.get(koa, 'host', this))
    },
  }
  for (const one of proxies > 0 ? [members, forwarded] : [members])
    Object.defineProperties(request, Object.getOwnPropertyDescriptors(one))
}

/** The values that trusted proxies wrote, that of the outermost one first. A header with fewer values is trusted as a whole. */
export function trustedValues(header: string, proxies: number): string[] {
  const text = header.trim()
  if (!text.includes(',')) return text === '' ? [] : [text]
  return text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '')
    .slice(-proxies)
}

/** An address without the port that some proxies append, and an IPv4 address as such, not mapped to IPv6. */
function plainAddress(text: string): string {
  return text
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/^::ffff:(?=[\d.]+$)/i, '')
}
