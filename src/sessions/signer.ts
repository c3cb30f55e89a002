import { createHmac, createSecretKey, timingSafeEqual, type KeyObject } from 'node:crypto'

/** The characters of a secret that takes longer to guess than anybody lives. */
export const shortestSecret = 32

/** So many characters does a signature add to a value: a dot, and 32 bytes as base64. */
export const signatureLength = 44

/** Signs the values of one cookie, so that nobody else can write or change them (HMAC with SHA-256). */
export class Signer {
  private readonly keys: KeyObject[]
  /** Texts that have been verified: a browser sends the same one again and again. */
  private readonly verified = new Map<string, string>()

  /**
   * @param name the cookie's name, which is signed along: a value is good for this cookie only
   * @param secrets the first one signs, all of them verify
   */
  constructor(
    private readonly name: string,
    secrets: readonly string[],
  ) {
    this.keys = secrets.map((secret) => createSecretKey(secret, 'utf8'))
  }

  /** The value with its signature: `value.signature`. The value itself may have no dot. */
  sign(value: string): string {
    return `${value}.${this.signature(value, this.keys[0])}`
  }

  /** The value of a signed text; undefined when it was not signed with one of the secrets. */
  verify(signed: string): string | undefined {
    const known = this.verified.get(signed)
    if (known !== undefined) return known
    const [value = '', signature = '', ...rest] = signed.split('.')
    if (value === '' || rest.length > 0) return undefined
    if (!this.keys.some((key) => isEqual(signature, this.signature(value, key)))) return undefined
    if (this.verified.size === mostVerified) this.verified.clear()
    this.verified.set(signed, value)
    return value
  }

  private signature(value: string, key: KeyObject | undefined): string {
    if (!key) throw new TypeError('A signer needs a secret.')
    return createHmac('sha256', key).update(`${this.name}=${value}`).digest('base64url')
  }
}

/** So many texts are remembered: those of browsers that come now, of 4 KiB at most each. */
const mostVerified = 500

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
