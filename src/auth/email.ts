/**
 * The form in which an email address is stored, looked up and counted: trimmed, in lower case, in one Unicode form. Anything
 * else than text is an empty address.
 */
export function normalizeEmail(address: unknown): string {
  return typeof address === 'string' ? address.normalize('NFKC').trim().toLowerCase() : ''
}
