import { createHash } from 'node:crypto'

/**
 * Shortens a name to the length that every database supports: PostgreSQL cuts names off at 63 characters, and
 * MariaDB rejects those with more than 64. Names with the same beginning stay different.
 */
export function shortName(name: string, most = 63): string {
  if (name.length <= most) return name
  return `${name.slice(0, most - 9)}_${createHash('sha256').update(name).digest('hex').slice(0, 8)}`
}
