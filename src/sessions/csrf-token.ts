import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Context } from '../context.js'
import { PerRequest } from '../common/per-request.js'
import { pooledRandomBytes } from '../common/random.js'
import { markSecret } from '../http/private-responses.js'

type Session = Record<string, unknown>

const key = 'csrf'
const size = 32

/** The secrets of sessions that are not saved. */
const unsavedSecrets = new WeakMap<Session, Buffer>()

/** The token of a request's page, once somebody has asked for it. */
interface RequestToken {
  token: string | undefined
  /** The session that it is of, and its secret. */
  session?: Record<string, unknown>
  secret?: unknown
}

const tokens = new PerRequest<RequestToken>()

/** Lets the page of a request have a token. */
export function allowToken(ctx: object): void {
  tokens.set(ctx, { token: undefined })
}

/** The token of a request's page: one for all of its forms. Undefined where nobody has allowed it. */
export function tokenOfPage(ctx: Context): string | undefined {
  const kept = tokens.get(ctx)
  if (!kept) return undefined
  const { session } = ctx
  const isCurrent =
    kept.token !== undefined && kept.session === session && kept.secret === secretFingerprint(session)
  if (!isCurrent) {
    // Nobody sees the page that HEAD asks for: no session begins with it.
    kept.token = maskedToken(ctx.method === 'HEAD' ? { ...session } : session)
    kept.session = session
    kept.secret = secretFingerprint(session)
    markSecret(ctx)
  }
  return kept.token
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

/** The values that the framework keeps for visitors who have not signed in: the secret, and the page to return to. */
const valuesOfVisitors = [key, 'return_to']

/** Whether a session contains only what any visitor gets by requesting a page. It is small, and has no user. */
export function isOfVisitor(session: Session): boolean {
  return Object.keys(session).every((name) => valuesOfVisitors.includes(name))
}

/**
 * Creates a token for a page: the session's secret with a new mask. Every token differs, so that the compressed size of a
 * page reveals nothing about the secret (the BREACH attack).
 */
function maskedToken(session: Session): string {
  const secret = secretOf(session) ?? newSecret(session)
  // The mask isn't secret, because the page contains it.
  const mask = pooledRandomBytes(size)
  return Buffer.concat([mask, xor(mask, secret)]).toString('base64url')
}

/** A value that changes with the secret of a session; undefined if it has no secret. */
function secretFingerprint(session: Session): unknown {
  return session[key] ?? unsavedSecrets.get(session)
}

function secretOf(session: Session): Buffer | undefined {
  const kept = session[key]
  const secret = typeof kept === 'string' ? Buffer.from(kept, 'base64url') : undefined
  return secret?.length === size ? secret : unsavedSecrets.get(session)
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
