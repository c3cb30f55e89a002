import { SessionTooLarge } from '../errors.js'
import type { Signer } from './signer.js'

/** The maximum size of a cookie in browsers: name, value and attributes together. */
const maxBytes = 4093

/** The bytes of our cookie's attributes: path, expiry, SameSite, Secure and HttpOnly. */
const attributeBytes = 110

/** Encodes and decodes the value of koa-session's cookie. */
export function cookieCodec(name: string, signer: Signer) {
  return {
    /** @throws SessionTooLarge when a browser would not keep the cookie */
    encode(data: unknown): string {
      const value = signer.encode(data)
      const size = cookieSize(name, value)
      if (size > maxBytes) throw new SessionTooLarge(size, maxBytes)
      return value
    },

    /** Decodes a value. Returns undefined if it has no valid signature or cannot be read. */
    decode(text: string): unknown {
      try {
        return savedContent(signer.decode(text))
      } catch {
        return undefined
      }
    },
  }
}

/** Whether a cookie is too large for browsers. */
export function isTooLarge(name: string, value: string): boolean {
  return cookieSize(name, value) > maxBytes
}

function cookieSize(name: string, value: string): number {
  return name.length + 1 + value.length + attributeBytes
}

/** Returns a saved session without its `_maxAge`, because the lifetime depends on the current settings. */
export function savedContent(data: unknown): { content: unknown; _expire: unknown } | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  return { content: Reflect.get(data, 'content'), _expire: Reflect.get(data, '_expire') }
}
