import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import type { Context } from '../../context.js'
import { cookiesOf } from '../../common/cookies.js'
import { environmentOf } from '../../common/environment.js'
import { memoizeByObject } from '../../common/memoize.js'
import { pooledRandomBytes } from '../../common/random.js'

const header = 'Database-Position'
const algorithm = 'aes-256-gcm'

/**
 * Writes the position of a commit to the response, and reads it from the client's next request, which then
 * reads what the client has written. A browser returns the position in a cookie such as
 * `_blog_session_position`, any other client in the `Database-Position` header. Positions are encrypted,
 * because they show how much an application writes, and forged ones would send all reads to the primary.
 */
export class Positions {
  /**
   * @param life milliseconds after which every replica that is used has reached a position
   * @param secretsOf returns the secrets that encrypt positions, the current one first; without any, none is
   *   written
   */
  constructor(
    private readonly life: number,
    private readonly secretsOf: (ctx: Context) => readonly string[],
  ) {}

  /** Returns a request's position, if it is valid and not too old, and whether there is one at all. */
  read(ctx: Context): { position: bigint | undefined; hasPosition: boolean } {
    const text = usesHeader(ctx)
      ? ctx.get(header)
      : (cookiesOf(ctx).get(cookieOf(ctx), { signed: false }) ?? '')
    if (text === '') return { position: undefined, hasPosition: false }
    const content = decode(text, keysOf(this.secretsOf(ctx)))
    const isValid = content !== undefined && Date.now() < content.readUInt32BE(8) * 1000 + this.life
    return { position: isValid ? content.readBigUInt64BE() : undefined, hasPosition: true }
  }

  /** Adds a position to a response. */
  write(ctx: Context, position: bigint): void {
    // 8 bytes for the position, and 4 for the time in seconds.
    const content = Buffer.alloc(12)
    content.writeBigUInt64BE(position)
    content.writeUInt32BE(Math.floor(Date.now() / 1000), 8)
    const [key] = keysOf(this.secretsOf(ctx))
    if (!key) return
    const text = encode(content, key)
    if (usesHeader(ctx)) return ctx.set(header, text)
    const secure = environmentOf(ctx) === 'production'
    const attributes = { httpOnly: true, sameSite: 'lax', secure, overwrite: true, signed: false } as const
    cookiesOf(ctx).set(cookieOf(ctx), text, { ...attributes, maxAge: this.life })
  }
}

function usesHeader(ctx: Context): boolean {
  return !ctx.hasSession || ctx.req.headers.authorization !== undefined
}

function cookieOf(ctx: Context): string {
  return `${ctx.sessionCookie}_position`
}

/** The first key encrypts, and all of them decrypt. */
const keysOf = memoizeByObject((secrets: readonly string[]) =>
  secrets.map((secret) =>
    createSecretKey(new Uint8Array(hkdfSync('sha256', secret, '', 'database position', 32))),
  ),
)

function encode(content: Buffer, key: KeyObject): string {
  const nonce = pooledRandomBytes(12)
  const cipher = createCipheriv(algorithm, key, nonce)
  const parts = [nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(parts).toString('base64url')
}

/** Returns undefined for text that none of the keys has encrypted. */
function decode(text: string, keys: readonly KeyObject[]): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  // 12 bytes of the nonce, 12 of the content, and 16 of the tag.
  if (bytes.length !== 40) return undefined
  for (const key of keys) {
    const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(24))
    const content = decipher.update(bytes.subarray(12, 24))
    try {
      return Buffer.concat([content, decipher.final()])
    } catch {
      // Another secret may have encrypted it.
    }
  }
  return undefined
}
