import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DeclarationError } from '../errors.js'
import { minSecretLength } from './signer.js'

/** The secret of specs, whose server is only reachable locally. */
const secretOfSpecs = 'a secret for specs only'

/** The file with the secret of a checkout. */
const file = '.kit/secret'

const advice = 'Set SESSION_SECRET to a long random text. `kit generate secret` prints one.'

/**
 * Returns the secrets that sign session cookies: the given ones, else those of `SESSION_SECRET`, separated by
 * commas. The first one signs and all of them verify, so that a secret can be rotated while sessions stay
 * valid. Without any, development uses the secret of the checkout, and specs use a fixed one.
 *
 * @param user what needs the secrets, as the subject of the message
 * @throws DeclarationError outside of development and specs if there is none, or if one is too short
 */
export function sessionSecrets(
  given: string | readonly string[] | undefined,
  environment: string,
  user = 'Sessions',
): string[] {
  const listed = given ?? process.env['SESSION_SECRET']?.split(',') ?? []
  const secrets = [listed]
    .flat()
    .map((secret) => secret.trim())
    .filter((secret) => secret !== '')
  if (environment === 'test') return secrets.length > 0 ? secrets : [secretOfSpecs]
  if (environment === 'development') return secrets.length > 0 ? secrets : [checkoutSecret()]
  if (secrets.length === 0) throw new DeclarationError(`${user} need a secret in ${environment}. ${advice}`)
  const short = secrets.find((secret) => secret.length < minSecretLength)
  if (short === undefined) return secrets
  throw new DeclarationError(
    `A session secret has ${short.length} characters; in ${environment} it needs at least ${minSecretLength}. ` +
      advice,
  )
}

/**
 * The secret of this checkout in development, from `.kit/secret`. The first start writes the file, because a
 * secret that everybody knows lets everybody sign a session.
 *
 * @throws DeclarationError when the file cannot be written, or holds a short secret
 */
function checkoutSecret(): string {
  const secret = (readSecretFile() ?? writeSecretFile()).trim()
  if (secret.length >= minSecretLength) return secret
  throw new DeclarationError(
    `${file} has ${secret.length} characters, and a secret needs ${minSecretLength} or more. ` +
      'Delete the file: the next start writes it again.',
  )
}

function readSecretFile(): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw cannotSave(error)
  }
}

/** Writes the file. Of several processes that start together, the first one to link its draft decides. */
function writeSecretFile(): string {
  const draft = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(draft, `${randomBytes(48).toString('base64url')}\n`, { mode: 0o600 })
    linkSync(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw cannotSave(error)
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8')
}

function cannotSave(error: unknown): DeclarationError {
  return new DeclarationError(
    `The secret of sessions cannot be kept in ${file} (${codeOf(error)}). Make the folder writable, or set SESSION_SECRET.`,
  )
}

function codeOf(error: unknown): string {
  return String(Reflect.get(Object(error), 'code'))
}
