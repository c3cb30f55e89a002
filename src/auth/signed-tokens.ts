import { currentEnvironment } from '../common/environment.js'
import { sessionSecrets } from '../sessions/secrets.js'
import { Signer } from '../sessions/signer.js'
import { milliseconds, type Duration } from './duration.js'

/** The options of `signedToken`. */
export interface SignedTokenOptions {
  /** The time for which the token is valid: `'20 minutes'`. */
  expires: Duration
  /** A text that makes the token invalid when it changes, for example `passwordStamp(user)`. */
  stamp?: string
  /** The secret that signs (`SESSION_SECRET`). */
  secret?: string | readonly string[]
}

/** The options of `readToken`. */
export interface ReadTokenOptions {
  /** The present stamp, or a function that finds it for the value of the token; undefined rejects the token. */
  stamp?: string | ((value: string) => string | undefined | Promise<string | undefined>)
  secret?: string | readonly string[]
}

/**
 * Creates a token for a link in a mail: a value that everybody can read and nobody can change. It is valid for its purpose
 * alone.
 *
 * @example signedToken('password reset', user.id, { expires: '20 minutes', stamp: passwordStamp(user) })
 * @throws DeclarationError in production without a secret
 */
export function signedToken(purpose: string, value: string, options: SignedTokenOptions): string {
  const { expires, stamp, secret } = options
  const content = JSON.stringify({ value, expires: Date.now() + milliseconds(expires) })
  return signer(purpose, stamp, secret).sign(Buffer.from(content).toString('base64url'))
}

/**
 * Returns the value of a token; undefined if it is forged, has expired, has another purpose, or another stamp.
 *
 * @example const id = await readToken('password reset', token, { stamp: (id) => stampOf(id) })
 */
export async function readToken(
  purpose: string,
  token: unknown,
  { stamp, secret }: ReadTokenOptions = {},
): Promise<string | undefined> {
  if (typeof token !== 'string') return undefined
  const content = contentOf(token)
  if (!content || !(content.expires > Date.now())) return undefined
  const present = typeof stamp === 'function' ? await stamp(content.value) : stamp
  if (stamp !== undefined && present === undefined) return undefined
  return signer(purpose, present, secret).verify(token) === undefined ? undefined : content.value
}

/** The content of a token, whose signature is verified when its stamp is known. */
function contentOf(token: string): { value: string; expires: number } | undefined {
  try {
    const text = Buffer.from(token.replace(/\..*/s, ''), 'base64url').toString()
    const { value, expires } = Object(JSON.parse(text)) as { value: unknown; expires: unknown }
    return typeof value === 'string' && typeof expires === 'number' ? { value, expires } : undefined
  } catch {
    return undefined
  }
}

function signer(purpose: string, stamp: string | undefined, secret?: string | readonly string[]): Signer {
  const name = `token ${JSON.stringify([purpose, stamp ?? null])}`
  return new Signer(name, sessionSecrets(secret, currentEnvironment()))
}
