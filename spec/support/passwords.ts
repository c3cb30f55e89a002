import { scryptSync } from 'node:crypto'

/** The hash of a password with parameters that cost almost nothing. `verifyPassword` uses the parameters of the hash. */
export function cheapHash(password: string): string {
  const salt = Buffer.from('salt of 16 bytes')
  const hash = scryptSync(password.normalize('NFKC'), salt, 32, { N: 16, r: 8, p: 3 })
  return `$scrypt$ln=4,r=8,p=3$${salt.toString('base64')}$${hash.toString('base64')}`
}
