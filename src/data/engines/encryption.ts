import { readFileSync } from 'node:fs'
import { DeclarationError } from '../../errors.js'
import type { ServerAddress } from './database-url.js'

/**
 * Reads how a connection to MariaDB or MySQL is encrypted, from the same options as `pg`. `sslmode=require` (also
 * `verify-full`, `ssl=true`) verifies the server's certificate, with the certificate authority in `sslrootcert` if it is
 * given. `no-verify` does not verify it.
 *
 * @throws DeclarationError for an unknown option, and for a file that cannot be read
 */
export function encryptionOf({
  parameters,
}: ServerAddress): { ca?: string; rejectUnauthorized?: boolean } | undefined {
  const mode = parameters.get('sslmode') ?? SSL[parameters.get('ssl') ?? ''] ?? 'disable'
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

const SSL: Record<string, string> = { true: 'require', 1: 'require', false: 'disable', 0: 'disable' }

function readCertificate(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new DeclarationError(`The certificate ${file} (sslrootcert) cannot be read.`, { cause })
  }
}
