import { readFileSync } from 'node:fs'
import { DeclarationError } from '../../errors.js'
import type { ServerAddress } from './database-url.js'

/**
 * Reads how a connection to MariaDB or MySQL is encrypted, from the same URL parameters as `pg` does.
 * `sslmode=require` (also `verify-full`, `ssl=true`) verifies the server's certificate, with the certificate
 * authority in `sslrootcert` if it is given. `no-verify` does not verify it.
 *
 * @returns the driver's `ssl` option; undefined for a connection without encryption
 * @throws DeclarationError for an unknown `sslmode`, and for an `sslrootcert` that cannot be read
 */
export function encryptionOf({
  parameters,
}: ServerAddress): { ca?: string; rejectUnauthorized?: boolean } | undefined {
  const mode = parameters.get('sslmode') ?? MODE_OF_SSL[parameters.get('ssl') ?? ''] ?? 'disable'
  const file = parameters.get('sslrootcert')
  switch (mode) {
    case 'disable':
      return undefined
    case 'no-verify':
      return { rejectUnauthorized: false }
    case 'require':
    case 'verify-ca':
    case 'verify-full':
      return file ? { ca: readCertificate(file) } : {}
    default:
      throw new DeclarationError(
        `Unknown sslmode "${mode}". Known: disable, no-verify, require, verify-ca, verify-full.`,
      )
  }
}

/** The `sslmode` for each value of the `ssl` parameter. */
const MODE_OF_SSL: Record<string, string> = { true: 'require', 1: 'require', false: 'disable', 0: 'disable' }

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new DeclarationError(`The certificate ${file} (sslrootcert) cannot be read.`, { cause })
  }
}
