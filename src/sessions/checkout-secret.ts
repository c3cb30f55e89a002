import { randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { DeclarationError } from '../errors.js'
import { minSecretLength } from './signer.js'

const file = '.kit/secret'

/**
 * The secret of this checkout in development, from `.kit/secret`. The first start writes the file, because a secret that
 * everybody knows lets everybody sign a session.
 *
 * @throws DeclarationError when the file cannot be written, or holds a short secret
 */
export function checkoutSecret(): string {
  const secret = (read() ?? write()).trim()
  if (secret.length >= minSecretLength) return secret
  throw new DeclarationError(
    `${file} has ${secret.length} characters, and a secret needs ${minSecretLength} or more. ` +
      'Delete the file: the next start writes it again.',
  )
}

function read(): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw notKept(error)
  }
}

/** Processes that start together agree on one secret: a link to a whole file is made once. */
function write(): string {
  const draft = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(draft, `${randomBytes(48).toString('base64url')}\n`, { mode: 0o600 })
    linkSync(draft, file)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw notKept(error)
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8')
}

function notKept(error: unknown): DeclarationError {
  return new DeclarationError(
    `The secret of sessions cannot be kept in ${file} (${codeOf(error)}). Make the folder writable, or set SESSION_SECRET.`,
  )
}

function codeOf(error: unknown): string {
  return String(Reflect.get(Object(error), 'code'))
}
