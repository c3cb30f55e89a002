import { BlockList, isIP, isIPv6 } from 'node:net'
import type Koa from 'koa'
import { memoize } from '../../common/memoize.js'
import { DeclarationError } from '../../errors.js'

/**
 * The proxies whose `X-Forwarded-*` headers are read: their number, or the networks of their addresses
 * (`'private'` is loopback, link-local and private addresses). 0 or false ignores the headers; true is 1.
 */
export type TrustedProxies = boolean | number | 'private' | readonly string[]

/** Loopback, local and private addresses: 127.0.0.0/8, ::1, 169.254.0.0/16, fe80::/10, RFC 1918, fc00::/7. */
const privateNetworks = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '::1',
  'fc00::/7',
  'fe80::/10',
]

/** Returns the number of trusted proxies that a request has passed. */
type CountProxies = (request: Koa.Request) => number

/**
 * Reads the client's address, the scheme and the host of requests from the `X-Forwarded-*` headers, if a
 * trusted proxy sent them. Each proxy appends a value. With n trusted proxies, the outermost one wrote the
 * n-th value from the right, and all values left of it come from the client.
 *
 * @throws DeclarationError when the `proxy` option is neither a number nor a list of networks
 */
export function readForwarded(request: Koa['request'], option: TrustedProxies = 'private'): void {
  const countProxies = proxyCounter(option)
  const koa: object = Object.getPrototypeOf(request)
  const members: Partial<Koa.Request> & ThisType<Koa.Request> = {
    get ip(): string {
      return plainAddress(String(Reflect.get(koa, 'ip', this)))
    },
    set ip(address) {
      Reflect.set(koa, 'ip', address, this)
    },
    get ips() {
      return forwardedValues(this, 'X-Forwarded-For', countProxies)
        .map(plainAddress)
        .filter((address) => isIP(address) > 0)
    },
    get protocol() {
      const [scheme] = forwardedValues(this, 'X-Forwarded-Proto', countProxies)
      if (scheme === undefined) return String(Reflect.get(koa, 'protocol', this))
      return scheme.toLowerCase() === 'https' ? 'https' : 'http'
    },
    get host() {
      const [host] = forwardedValues(this, 'X-Forwarded-Host', countProxies)
      // In a URL, everything before an `@` would be a user name.
      return host?.replace(/^.*@/, '') ?? String(Reflect.get(koa, 'host', this))
    },
  }
  Object.defineProperties(request, Object.getOwnPropertyDescriptors(members))
}

/** The values of a header that trusted proxies wrote. Without the header, the proxies need not be counted. */
function forwardedValues(request: Koa.Request, name: string, countProxies: CountProxies): string[] {
  const header = request.get(name)
  return header === '' ? [] : trustedValues(header, countProxies(request))
}

/** The values of trusted proxies, the outermost proxy's first. Fewer values are all trusted. */
export function trustedValues(header: string, proxies: number): string[] {
  return proxies === 0 ? [] : valuesOf(header).slice(-proxies)
}

/** The values of a list that is separated by commas. */
export function valuesOf(list = ''): string[] {
  return list
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '')
}

/** @throws DeclarationError when the option is neither a number nor a list of networks */
function proxyCounter(option: TrustedProxies): CountProxies {
  if (option === 'private') return proxiesInNetworks(privateNetworks)
  if (typeof option === 'object')
    return proxiesInNetworks(option.flatMap((network) => (network === 'private' ? privateNetworks : network)))
  const proxies = Number(option)
  if (Number.isInteger(proxies) && proxies >= 0) return () => proxies
  throw new DeclarationError(
    `The option proxy is "private", a number of proxies or a list of their networks, not ${String(option)}. ` +
      'Write 1 for one proxy, or 0 for none.',
  )
}

/**
 * Counts the proxies of a request by their addresses: the sender of the connection, and the addresses at the
 * end of `X-Forwarded-For`, until one is not in the networks. A closed connection has no address, and so no
 * proxy.
 */
function proxiesInNetworks(networks: readonly string[]): CountProxies {
  const isTrusted = memoize(matcherOf(networks), 1000)

  return function countProxies(request) {
    if (!isTrusted(request.socket.remoteAddress ?? '')) return 0
    const addresses = valuesOf(request.get('X-Forwarded-For'))
    const client = addresses.findLastIndex((address) => !isTrusted(address))
    // The addresses after the client's, and the sender of the connection.
    return addresses.length - client
  }
}

/**
 * Returns a function that checks whether an address is in one of the networks: `10.0.0.0/8`, `2001:db8::/32`
 * or `192.0.2.7`.
 *
 * @throws DeclarationError when one of the networks is malformed
 */
function matcherOf(networks: readonly string[]): (text: string) => boolean {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', prefix, ...rest] = network.split('/')
    const family = familyOf(address)
    const longest = family === 'ipv6' ? 128 : 32
    const length = prefix === undefined ? longest : Number(prefix)
    const isValid = isIP(address) > 0 && /^\d*$/.test(prefix ?? '') && prefix !== '' && length <= longest
    if (!isValid || rest.length > 0)
      throw new DeclarationError(
        `The option proxy cannot read the network ${JSON.stringify(network)}. Write it like "10.0.0.0/8" or "192.0.2.7".`,
      )
    list.addSubnet(address, length, family)
  }
  return (text) => {
    const address = plainAddress(text).replace(/%.*/, '')
    return isIP(address) > 0 && list.check(address, familyOf(address))
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}

/** Removes the port that some proxies append to an address, and converts mapped IPv4 addresses. */
export function plainAddress(text: string): string {
  const address = text.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  return /^[0:]*:ffff:/i.test(address) ? unmapped(address) : address
}

/** Converts `::ffff:192.0.2.1`, `::ffff:c000:201` and `0:0:0:0:0:ffff:c000:201` to `192.0.2.1`. */
function unmapped(address: string): string {
  if (!isIPv6(address)) return address
  const [, ...groups] =
    /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(new URL(`http://[${address}]`).hostname) ?? []
  const bytes = groups
    .map((group) => Number.parseInt(group, 16))
    .flatMap((group) => [group >> 8, group & 255])
  return bytes.length === 0 ? address : bytes.join('.')
}
