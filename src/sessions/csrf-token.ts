import { randomBytes, timingSafeEqual } from 'node:crypto'
import { pooledRandomBytes } from '../random.js'

type Session = Record<string, unknown>

const key = 'csrf'
const size = 32

/** Secrets of sessions that are kept nowhere. */
const lent = new WeakMap<Session, Buffer>()

/**
 * A token for a page: the session's secret, masked anew. Each is another text, so that how well a page can be compressed
 * tells nothing about the secret (the BREACH attack).
 */
export function maskedToken(session: Session): string {
  const secret = secretOf(session) ?? newSecret(session)
  // A mask is no secret: the page shows it.
  const mask = pooledRandomBytes(size)
  return Buffer.concat([mask, xor(mask, secret)]).toString('base64url')
}

/** Whether a token was made for this session. The comparison takes the same time for each wrong one. */
export function isTokenOf(session: Session | null, token: unknown): boolean {
  const secret = session && secretOf(session)
  if (!secret || typeof token !== 'string') return false
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 2 * size) return false
  return timingSafeEqual(xor(bytes.subarray(0, size), bytes.subarray(size)), secret)
}

/** What tells the secret of a session from its next one; undefined when it has none. */
export function secretSign(session: Session): unknown {
  return session[key] ?? lent.get(session)
}

/** Gives a session that is kept nowhere a secret, which must be the same for each request of its browser. */
export function lendSecret(session: Session, secret: Buffer): void {
  lent.set(session, secret)
}

/** Makes the tokens of all pages before this invalid. The next page makes another secret. */
export function dropSecret(session: Session): void {
  delete session[key]
  lent.delete(session)
}

/** Whether there is nothing in a session but its secret, or nothing at all. */
export function isSecretAlone(session: Session): boolean {
  return Object.keys(session).every((name) => name === key)
}

function secretOf(session: Session): Buffer | undefined {
  const kept = session[key]
  const secret = typeof kept === 'string' ? Buffer.from(kept, 'base64url') : undefined
  return secret?.length === size ? secret : lent.get(session)
}

function newSecret(session: Session): Buffer {
  const secret = randomBytes(size)
  session[key] = secret.toString('base64url')
  return secret
}

function xor(left: Buffer, right: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(left.length)
  for (let index = 0; index < left.length; index++) bytes[index] = (left[index] ?? 0) ^ (right[index] ?? 0)
  return bytes
}
