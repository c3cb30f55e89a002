import { isIPv6 } from 'node:net'
import { plainAddress } from './forwarded.js'

/**
 * The part of an address that belongs to one client: an IPv4 address, or the network of an IPv6 address
 * (`2001:db8:0:1::/64`), because a client can use all addresses of its network.
 */
export function clientNetwork(address: string): string {
  // The zone of a link-local address follows a percent sign: `fe80::1%eth0`.
  const plain = plainAddress(address).replace(/%.*/, '')
  if (!isIPv6(plain)) return plain
  // An IPv4 address at the end counts as two groups.
  const groups = plain.replace(/\d+\.\d+\.\d+\.\d+$/, '0:0')
  const [before = '', after] = groups.split('::')
  const [left, right] = [before, after ?? ''].map((part) => part.split(':').filter(Boolean))
  // The number of zero groups that `::` stands for.
  const gap = after === undefined ? 0 : 8 - (left?.length ?? 0) - (right?.length ?? 0)
  const all = [...(left ?? []), ...Array.from({ length: gap }, () => '0'), ...(right ?? [])]
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}
