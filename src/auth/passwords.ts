import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { currentEnvironment, PasswordTooLong, Semaphore } from '../extension.js'
import { ServiceUnavailable } from '../index.js'

/** The parameters of scrypt: the cost, the block size `r` and the parallelization `p`. */
interface Parameters {
  /** The binary logarithm of the cost. */
  ln: number
  r: number
  p: number
}

/** One of the minimum settings that OWASP recommends: 32 MiB of memory. */
const strongParameters: Parameters = { ln: 15, r: 8, p: 3 }

/** The parameters of the `test` environment, with which a sign-in takes a few milliseconds. */
const testParameters: Parameters = { ln: 10, r: 8, p: 1 }

/**
 * The maximum length of a password that is hashed. It leaves room for 200 characters in any Unicode form.
 * Longer passwords could occupy the process: some take minutes to normalize.
 */
export const maxInputLength = 4096

/** Lengths in bytes. */
const saltLength = 16
const hashLength = 32

const busy = () => new ServiceUnavailable('Too many passwords are being checked at the same time.', 5)

/** A hash takes much of a core and 32 MiB: only 2 are computed at a time, and 100 may wait. */
const queue = new Semaphore(2, Infinity, busy, 100)

/**
 * Returns the hash of a password, with its parameters and salt: `$scrypt$ln=15,r=8,p=3$<salt>$<hash>`. Two
 * spellings of the same Unicode text have the same hash (NFKC).
 *
 * Call it before the request's first query or after its commit, because it takes a few hundred milliseconds.
 * In the `test` environment it takes a few, with `ln=10` and `p=1`.
 *
 * @throws HttpError (413) when the password has more than 4,096 characters, for which `checkPassword` adds an
 *   error
 * @throws ServiceUnavailable (503) when 100 other passwords wait already
 */
export async function hashPassword(password: string): Promise<string> {
  if (password.length > maxInputLength) throw new PasswordTooLong()
  const salt = randomBytes(saltLength)
  const parameters = currentParameters()
  const hash = await queue.run(() => derive(password, salt, parameters))
  const { ln, r, p } = parameters
  return `$scrypt$ln=${ln},r=${r},p=${p}$${salt.toString('base64')}$${hash.toString('base64')}`
}

/**
 * Whether a password matches a stored hash. Without a hash, because no user was found, it does the same work
 * and returns false, so that its duration does not reveal which users exist. For a password of more than
 * 4,096 characters, it returns false at once.
 *
 * @throws ServiceUnavailable (503) when 100 other passwords wait already
 */
export async function verifyPassword(password: string, stored?: string | null): Promise<boolean> {
  if (password.length > maxInputLength) return false
  const parsed = parse(stored)
  const { parameters, salt, hash } = parsed ?? createDummyHash()
  const derived = await queue.run(() => derive(password, salt, parameters))
  return timingSafeEqual(derived, hash) && parsed !== undefined
}

/** Whether a hash has weaker parameters than new hashes, or is malformed. Then hash the password again. */
export function needsRehash(stored: string): boolean {
  const parameters = parse(stored)?.parameters
  const { ln, r, p } = currentParameters()
  return !parameters || parameters.ln < ln || parameters.r < r || parameters.p < p
}

interface StoredHash {
  parameters: Parameters
  salt: Buffer
  hash: Buffer
}

function currentParameters(): Parameters {
  return currentEnvironment() === 'test' ? testParameters : strongParameters
}

/** Creates a hash that no password has, so that the check for an unknown user takes as long as for others. */
function createDummyHash(): StoredHash {
  const [salt, hash] = [Buffer.alloc(saltLength), Buffer.alloc(hashLength)]
  return { parameters: currentParameters(), salt, hash }
}

/** Parses a result of `hashPassword`; undefined if it is malformed or missing. */
function parse(stored: string | null | undefined): StoredHash | undefined {
  const [, ln, r, p, salt = '', hash = ''] =
    /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([^$]+)\$([^$]+)$/.exec(stored ?? '') ?? []
  const bytes = Buffer.from(hash, 'base64')
  if (bytes.length !== hashLength) return undefined
  const parameters = { ln: Number(ln), r: Number(r), p: Number(p) }
  return { parameters, salt: Buffer.from(salt, 'base64'), hash: bytes }
}

function derive(password: string, salt: Buffer, { ln, r, p }: Parameters): Promise<Buffer> {
  // scrypt needs a little more than 128 * N * r bytes, and Node's default maximum is 32 MiB.
  const options = { N: 2 ** ln, r, p, maxmem: 2 ** ln * r * 256 }
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, hashLength, options, (error, key) =>
      error ? reject(error) : resolve(key),
    )
  })
}
