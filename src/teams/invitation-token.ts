import { createHash, randomBytes } from 'node:crypto'

/** A token has the id of its team, so that a second click leads to the team, and 32 random bytes. */
export function newToken(team: string): string {
  return `${team.replaceAll('-', '')}${randomBytes(32).toString('base64url')}`
}

/** The id of the team in a token. */
export function teamIn(token: unknown): string | undefined {
  const [, ...parts] =
    /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})[\w-]{43}$/.exec(String(token)) ?? []
  return parts.length > 0 ? parts.join('-') : undefined
}

/** The SHA-256 of a token, which the table contains. */
export function hash(token: unknown): string {
  return createHash('sha256').update(String(token)).digest('hex')
}

/** An address that its owner recognizes, and nobody else can read: `a…@example.com`. */
export function mask(email: string): string {
  return email.replace(/^(.)[^@]*/u, '$1…')
}
