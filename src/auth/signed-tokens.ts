import { currentEnvironment, type Duration, milliseconds, sessionSecrets, Signer } from '../extension.js'

/** The options of `signedToken`. */
export interface SignedTokenOptions {
  /** The time for which the token is valid: `'20 minutes'`. */
  expires: Duration
  /** A string that makes the token invalid when the string changes, for example `passwordStamp(user)`. */
  stamp?: string
  /** The secret that signs the token. Of several secrets, it is the first one (`SESSION_SECRET`). */
  secret?: string | readonly string[]
}

/** The options of `readToken`. */
export interface ReadTokenOptions {
  /** The current stamp, or a function of the token's value that returns it. Undefined rejects the token. */
  stamp?: string | ((value: string) => string | undefined | Promise<string | undefined>)
  /** The secrets. One of them must have signed the token (`SESSION_SECRET`). */
  secret?: string | readonly string[]
}

/**
 * Creates a token for a link in a mail. The token contains a value that everybody can read and nobody can
 * change. It is valid for one purpose only.
 *
 * @example signedToken('password reset', user.id, { expires: '20 minutes', stamp: passwordStamp(user) })
 * @throws DeclarationError when `expires` is malformed, or when production has no secret or a short one
 */
export function signedToken(purpose: string, value: string, options: SignedTokenOptions): string {
  const { expires, stamp, secret } = options
  const content: Content = { value, expires: Date.now() + milliseconds(expires) }
  // Only the signature of the stamp, because the part before the dot reveals the stamp.
  if (stamp !== undefined)
    content.mark = newSigner(`stamp ${purpose}`, secret).encode(stamp).replace(/.*\./, '')
  return newSigner(`token ${purpose}`, secret).encode(content)
}

/**
 * Returns the value of a token; undefined if the token is forged or expired, or has another purpose or stamp.
 * To read a token with a stamp, pass the `stamp` option, which rejects tokens without one.
 *
 * @example const id = await readToken('password reset', token, { stamp: (id) => stampOf(id) })
 * @throws DeclarationError when production has no secret or a short one
 */
export async function readToken(
  purpose: string,
  token: unknown,
  { stamp, secret }: ReadTokenOptions = {},
): Promise<string | undefined> {
  const content = typeof token === 'string' ? newSigner(`token ${purpose}`, secret).decode(token) : undefined
  if (content === undefined) return undefined
  // Only `signedToken` signs with this name, so the content has its type.
  const { value, expires, mark } = content as Content
  if (expires <= Date.now()) return undefined
  const currentStamp = typeof stamp === 'function' ? await stamp(value) : stamp
  if (stamp === undefined && mark === undefined) return value
  if (currentStamp === undefined || mark === undefined) return undefined
  const signer = newSigner(`stamp ${purpose}`, secret)
  // The current stamp with the signature in the token, which any of the secrets can have made.
  const signedStamp = signer.encode(currentStamp).replace(/\..*/, `.${mark}`)
  return signer.verify(signedStamp) === undefined ? undefined : value
}

/** The content of a token. */
interface Content {
  value: string
  /** Milliseconds since 1970. */
  expires: number
  /** The signature of the stamp. It does not reveal the stamp. */
  mark?: string
}

function newSigner(name: string, secret: string | readonly string[] | undefined): Signer {
  return new Signer(name, sessionSecrets(secret, currentEnvironment(), 'Signed tokens'))
}
