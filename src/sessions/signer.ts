import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'
import { BoundedMap } from '../common/memoize.js'

/** The minimum length of a secret that cannot be guessed by trying. */
export const minSecretLength = 32

/** Signs values for one purpose, such as a cookie, so that nobody else can write them (HMAC with SHA-256). */
export class Signer {
  private readonly keys: KeyObject[]
  /** The values of verified texts, because a browser sends the same text with each request. */
  private readonly verifiedTexts = new BoundedMap<string>(maxVerified)

  /**
   * @param name the purpose, such as the name of a cookie. It is part of the signature: a value is valid for
   *   this purpose only
   * @param secrets the first one signs, all of them verify
   */
  constructor(
    private readonly name: string,
    secrets: readonly string[],
  ) {
    this.keys = secrets.map((secret) => createSecretKey(secret, 'utf8'))
  }

  /** Signs a value: `value.signature`. The value itself must not contain a dot. */
  sign(value: string): string {
    return `${value}.${this.signature(value, this.keys[0])}`
  }

  /** Returns the value of a signed text, or undefined if none of the secrets signed it. */
  verify(signed: string): string | undefined {
    const cached = this.verifiedTexts.get(signed)
    if (cached !== undefined) return cached
    const [value = '', signature = '', ...rest] = signed.split('.')
    if (value === '' || rest.length > 0) return undefined
    if (!this.keys.some((key) => isEqual(signature, this.signature(value, key)))) return undefined
    this.verifiedTexts.set(signed, value)
    return value
  }

  /** Signs a value that is representable as JSON. */
  encode(value: unknown): string {
    return this.sign(Buffer.from(JSON.stringify(value)).toString('base64url'))
  }

  /** Returns the value of a text of `encode`; undefined if none of the secrets signed it. */
  decode(signed: string): unknown {
    const value = this.verify(signed)
    return value === undefined ? undefined : JSON.parse(Buffer.from(value, 'base64url').toString())
  }

  private signature(value: string, key: KeyObject | undefined): string {
    if (!key) throw new TypeError('A signer needs a secret.')
    return createHmac('sha256', key).update(`${this.name}=${value}`).digest('base64url')
  }
}

/** The maximum number of cached texts. Only texts that we have signed are cached. */
const maxVerified = 500

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
