import { createHash } from 'node:crypto'
import type { Model } from '../index.js'

/** The members that the model of users has. */
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
