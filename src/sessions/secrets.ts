import { DeclarationError } from '../errors.js'

/** Signs cookies where no secret is needed: in development and in specs. */
const openSecret = 'a secret for development and specs only'

const advice = 'Set SESSION_SECRET to a long random text: `kit generate secret` makes one.'

/** A secret of 32 letters and digits takes longer to guess than anybody lives. */
const shortest = 32

/**
 * The secrets that sign session cookies: those that are given, else those of `SESSION_SECRET`, which has commas
 * between them. The first one signs, and all of them verify, so that a secret can be replaced while sessions go on.
 *
 * @throws DeclarationError outside of development and specs when there is none, or when one is short
 */
export function sessionSecrets(given: string | readonly string[] | undefined, environment: string): string[] {
  const listed = given ?? process.env['SESSION_SECRET']?.split(',') ?? []
  const secrets = [listed].flat().map((secret) => secret.trim())
  const isOpen = environment === 'development' || environment === 'test'
  const kept = secrets.filter((secret) => secret !== '')
  if (isOpen) return kept.length > 0 ? kept : [openSecret]
  if (kept.length === 0) {
    throw new DeclarationError(`Sessions need a secret in ${environment}. ${advice}`)
  }
  const short = kept.find((secret) => secret.length < shortest)
  if (short === undefined) return kept
  throw new DeclarationError(
    `A session secret has ${short.length} characters; in ${environment} it needs ${shortest} or more. ` +
      advice,
  )
}
