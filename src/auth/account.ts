import { createHash } from 'node:crypto'
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
 * A text that changes with the password and the address of a user. It does not reveal the hash. Sessions, bearer tokens and
 * links that carry it end when one of them changes.
 */
export function passwordStamp(user: Account): string {
  return createHash('sha256')
    .update(JSON.stringify([user.id, user.email, user.password_hash]))
    .digest('base64url')
    .slice(0, 22)
}

/** The longest text that is read as an address. An address has at most 254 characters. */
const maxLength = 1000

/**
 * The form in which an email address is stored, looked up and counted: trimmed, in lower case, in one Unicode form.
 * Returns an empty string for a value that isn't text, for a text of more than 1,000 characters (some take minutes to normalize),
 * and for a text that no database stores, because it contains a NUL or half a surrogate pair.
 */
export function normalizeEmail(address: unknown): string {
  if (typeof address !== 'string' || address.length > maxLength) return ''
  if (address.includes('\0') || !address.isWellFormed()) return ''
  return address.normalize('NFKC').trim().toLowerCase()
}
