import { SessionTooLarge } from '../errors.js'
import { signatureLength, type Signer } from './signer.js'

/** What browsers keep of a cookie: name, value and attributes together. */
const mostBytes = 4093

/** What the attributes of our cookie take: path, expiry, SameSite, Secure and HttpOnly. */
const attributeBytes = 110

/** How koa-session writes a session as the value of its cookie, and reads it back. */
export function wholeCookie(name: string, signer: Signer) {
  return {
    /** @throws SessionTooLarge when a browser would not keep the cookie */
    encode(data: unknown): string {
      return signer.sign(fitting(data))
    },

    /** @throws SessionTooLarge when a browser would not keep the cookie */
    check(data: unknown): void {
      fitting(data)
    },

    /** What was encoded; undefined when the value was not signed by us, or cannot be read. */
    decode(text: string): unknown {
      const value = signer.verify(text)
      if (value === undefined) return undefined
      try {
        return expiring(JSON.parse(Buffer.from(value, 'base64url').toString()))
      } catch {
        return undefined
      }
    },
  }

  function fitting(data: unknown): string {
    const value = Buffer.from(JSON.stringify(data)).toString('base64url')
    const size = cookieSize(name, value.length + signatureLength)
    if (size > mostBytes) throw new SessionTooLarge(size, mostBytes)
    return value
  }
}

/** Whether a browser would not keep a cookie of ours. */
export function isTooLarge(name: string, value: string): boolean {
  return cookieSize(name, value.length) > mostBytes
}

function cookieSize(name: string, valueLength: number): number {
  return name.length + 1 + valueLength + attributeBytes
}

/** What counts of a session that was kept: how long it may last is a matter of today's settings. */
export function expiring(data: unknown): { content: unknown; _expire: unknown } | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  return { content: Reflect.get(data, 'content'), _expire: Reflect.get(data, '_expire') }
}
