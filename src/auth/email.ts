/** The longest text that is read as an address. An address has at most 254 characters. */
const longest = 1000

/**
 * The form in which an email address is stored, looked up and counted: trimmed, in lower case, in one Unicode form. Anything
 * else than text is an empty address, and so is a text of more than 1,000 characters, because some texts take minutes to normalize,
 * or one that no database stores: with a NUL, or half a surrogate pair.
 */
export function normalizeEmail(address: unknown): string {
  if (typeof address !== 'string' || address.length > longest) return ''
  if (address.includes('\0') || !address.isWellFormed()) return ''
  return address.normalize('NFKC').trim().toLowerCase()
}
