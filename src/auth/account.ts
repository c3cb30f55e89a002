import { createHash } from 'node:crypto'
import { domainToASCII, domainToUnicode } from 'node:url'
import type { Model } from '../index.js'

/** The attributes that the model of users has. */
export interface Account extends Model {
  /** The address in the form of `normalizeEmail`. */
  email: string
  /** The result of `hashPassword`. */
  password_hash: string
}

/** A class of users. */
export type AccountClass<User extends Account = Account> = new () => User

/**
 * Returns a digest of 132 bits of a user's id, address and password hash, which does not reveal the hash.
 * Sessions, bearer tokens and links that contain the digest become invalid when the user's address or
 * password changes.
 */
export function passwordStamp(user: Account): string {
  return createHash('sha256')
    .update(JSON.stringify([user.id, user.email, user.password_hash]))
    .digest('base64url')
    .slice(0, 22)
}

/** The longest string that is normalized: others can take minutes. An address has at most 254 characters. */
const maxLength = 1000

/** A domain without characters at which the parser of URLs would cut the domain, or which it would decode. */
const domainAtEnd = /(?<=@)[^\s\p{Cc}/\\?#%@]+$/u

/**
 * The form in which an email address is stored, looked up and counted: trimmed, in lower case, in one Unicode
 * form. The domain is in Unicode, without the invisible characters that a mail server ignores:
 * `ada@exämple.com` for `ada@xn--exmple-cua.com`. Returns an empty string for a value that is not a string,
 * for a string of more than 1,000 characters, and for a string that no database stores, because it contains a
 * NUL or half a surrogate pair.
 */
export function normalizeEmail(address: unknown): string {
  if (typeof address !== 'string' || address.length > maxLength) return ''
  if (address.includes('\0') || !address.isWellFormed()) return ''
  const text = address.normalize('NFKC').toLowerCase().normalize('NFKC').trim()
  // An invalid domain is empty in ASCII.
  return text.replace(domainAtEnd, (domain) => domainToUnicode(domainToASCII(domain)) || domain)
}
