import { DeclarationError } from '../errors.js'
import { checkoutSecret } from './checkout-secret.js'
import { minSecretLength } from './signer.js'

/** The secret of specs, whose server is only reachable locally. */
const secretOfSpecs = 'a secret for specs only'

const advice = 'Set SESSION_SECRET to a long random text. `kit generate secret` prints one.'

/**
 * Returns the secrets that sign session cookies: the given ones, else those of `SESSION_SECRET`, separated by commas. The
 * first one signs and all of them verify, so that a secret can be rotated while sessions stay valid. Without any,
 * development uses the secret of the checkout, and specs use a fixed one.
 *
 * @param what what needs them, for the message
 * @throws DeclarationError outside of development and specs if there is none, or if one is too short
 */
export function sessionSecrets(
  given: string | readonly string[] | undefined,
  environment: string,
  what = 'Sessions',
): string[] {
  const listed = given ?? process.env['SESSION_SECRET']?.split(',') ?? []
  const secrets = [listed]
    .flat()
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '')
  if (environment === 'test') return secrets.length > 0 ? secrets : [secretOfSpecs]
  if (environment === 'development') return secrets.length > 0 ? secrets : [checkoutSecret()]
  if (secrets.length === 0) throw new DeclarationError(`${what} need a secret in ${environment}. ${advice}`)
  const short = secrets.find((secret) => secret.length < minSecretLength)
  if (short === undefined) return secrets
  throw new DeclarationError(
    `A session secret has ${short.length} characters; in ${environment} it needs at least ${minSecretLength}. ` +
      advice,
  )
}
