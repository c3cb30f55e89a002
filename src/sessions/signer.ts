import { createHmac, timingSafeEqual } from 'node:crypto'

/** Signs the values of one cookie, so that nobody else can write or change them (HMAC with SHA-256). */
export class Signer {
  /**
   * @param name the cookie's name, which is signed along: a value is good for this cookie only
   * @param secrets the first one signs, all of them verify
   */
  constructor(
    private readonly name: string,
    private readonly secrets: readonly string[],
  ) {}

  /** The value with its signature: `value.signature`. The value itself may have no dot. */
  sign(value: string): string {
    return `${value}.${this.signature(value, this.secrets[0] ?? '')}`
  }

  /** The value of a signed text; undefined when it was not signed with one of the secrets. */
  verify(signed: string): string | undefined {
    const [value = '', signature = '', ...rest] = signed.split('.')
    if (value === '' || rest.length > 0) return undefined
    return this.secrets.some((secret) => isEqual(signature, this.signature(value, secret)))
      ? value
      : undefined
  }

  private signature(value: string, secret: string): string {
    return createHmac('sha256', secret).update(`${this.name}=${value}`).digest('base64url')
  }
}

function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}
