import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context.js'
import { PerRequest } from '../common/per-request.js'
import { pooledRandomBytes } from '../common/random.js'
import { markSecret } from '../http/private-responses.js'

type Session = Record<string, unknown>

/** The name of the session's value that contains the secret. */
const key = 'csrf'
/** The number of bytes of a secret, and of a mask. */
const size = 32

/** The secrets of sessions that are not saved (see `setUnsavedSecret`). */
const unsavedSecrets = new WeakMap<Session, Buffer>()

/** The token of a request's page. */
interface PageToken {
  /** Undefined until the page has its first form. */
  token: string | undefined
  /** The session whose secret the token contains. */
  session?: Record<string, unknown>
  /** The fingerprint of the secret. */
  secret?: unknown
}

const tokens = new PerRequest<PageToken>()

/** Allows the page of a request to contain a token, as `csrf()` does. */
export function allowToken(ctx: object): void {
  tokens.set(ctx, { token: undefined })
}

/** Returns the token of a request's page, the same one for all its forms; undefined without `allowToken`. */
export function tokenOfPage(ctx: Context): string | undefined {
  const page = tokens.get(ctx)
  if (!page) return undefined
  const { session } = ctx
  // The handler may have replaced or renewed the session since the page's first form.
  const isCurrent =
    page.token !== undefined && page.session === session && page.secret === secretFingerprint(session)
  if (!isCurrent) {
    // A HEAD request does not return the page, so it begins no session.
    page.token = maskSecret(ctx.method === 'HEAD' ? { ...session } : session)
    page.session = session
    page.secret = secretFingerprint(session)
    markSecret(ctx)
  }
  return page.token
}

/** Whether a token belongs to this session. The comparison takes constant time. */
export function isTokenOf(session: Session | null, token: unknown): boolean {
  const secret = session && secretOf(session)
  if (!secret || typeof token !== 'string') return false
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== 2 * size) return false
  return timingSafeEqual(xor(bytes.subarray(0, size), bytes.subarray(size)), secret)
}

/** Sets the secret of a session that is not saved. It must be the same for each request of its browser. */
export function setUnsavedSecret(session: Session, secret: Buffer): void {
  unsavedSecrets.set(session, secret)
}

/** Invalidates the tokens of all earlier pages. The next page creates a new secret. */
export function deleteSecret(session: Session): void {
  delete session[key]
  unsavedSecrets.delete(session)
}

/** The values in anonymous sessions: the secret, and the page to return to after the sign-in. */
const valuesOfVisitors = [key, 'return_to']

/** Whether a session contains only what any visitor of a page gets. It is small, without a user. */
export function isAnonymous(session: Session): boolean {
  return Object.keys(session).every((name) => valuesOfVisitors.includes(name))
}

/**
 * Creates a token for a page: the session's secret with a new mask. A session without a secret gets one.
 * Every token differs, so that the compressed size of a page reveals nothing about the secret (the BREACH
 * attack).
 */
function maskSecret(session: Session): string {
  const secret = secretOf(session) ?? createSecret(session)
  // The mask isn't secret, because the page contains it.
  const mask = pooledRandomBytes(size)
  return Buffer.concat([mask, xor(mask, secret)]).toString('base64url')
}

/** A value that changes with the secret of a session; undefined if it has no secret. */
function secretFingerprint(session: Session): unknown {
  return session[key] ?? unsavedSecrets.get(session)
}

/** The secret of a session; undefined if it has none. */
export function secretOf(session: Session): Buffer | undefined {
  const saved = session[key]
  const secret = typeof saved === 'string' ? Buffer.from(saved, 'base64url') : undefined
  return secret?.length === size ? secret : unsavedSecrets.get(session)
}

function createSecret(session: Session): Buffer {
  const secret = randomBytes(size)
  session[key] = secret.toString('base64url')
  return secret
}

function xor(left: Buffer, right: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(left.length)
  for (let index = 0; index < left.length; index++) bytes[index] = (left[index] ?? 0) ^ (right[index] ?? 0)
  return bytes
}
