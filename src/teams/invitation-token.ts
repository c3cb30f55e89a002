import { hash, randomBytes } from 'node:crypto'

/** A token has the id of its team, so that a second click leads to the team, and 32 random bytes. */
export function newToken(team: string): string {
  return `${team.replaceAll('-', '')}${randomBytes(32).toString('base64url')}`
}

/** The id of the team in a token. */
export function teamIn(token: unknown): string | undefined {
  const isToken = /^[\da-f]{32}[\w-]{43}$/.test(String(token))
  return isToken ? String(token).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5') : undefined
}

/** The SHA-256 of a token, which the table contains. */
export function hashOf(token: unknown): string {
  return hash('sha256', String(token))
}

/** An address that its owner recognizes, and nobody else can read: `a…@example.com`. */
export function mask(email: string): string {
  return email.replace(/^(.)[^@]*/u, '$1…')
}
