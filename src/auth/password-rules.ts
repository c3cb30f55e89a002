import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assets, attributeName, messageOf } from '../extension.js'
import type { Context, ValidationErrors } from '../index.js'
import { normalizeEmail, type Account } from './account.js'
import { maxInputLength } from './passwords.js'

/** The minimum and maximum number of characters of a password. */
const lengths = { min: 8, max: 200 }

/**
 * Adds an error if a new password is missing, too short (less than 8 characters), too long (more than 200),
 * one of the 10,000 most common ones, or the address of its user with or without the part from the `@`.
 * Character types are not checked, and passwords are neither truncated nor trimmed.
 *
 * @returns whether the password is acceptable
 * @example if (checkPassword(ctx, errors, user, password)) user.password_hash = await hashPassword(password)
 */
export function checkPassword(
  ctx: Context,
  errors: ValidationErrors,
  user: Account,
  password: unknown,
  field = 'password',
): password is string {
  const rule = brokenRule(password, user.email)
  if (rule === undefined) return true
  const model = user.constructor
  const values = { attribute: attributeName(model, field, ctx.translate), ...lengths }
  const own = `${values.attribute} is not acceptable.`
  errors.add(field, rule, messageOf(model, field, rule, values, { own }, ctx.translate), values)
  return false
}

function brokenRule(password: unknown, address: string): string | undefined {
  if (typeof password !== 'string' || password === '') return 'present'
  // Normalizing such a password could take minutes.
  if (password.length > maxInputLength) return 'password_too_long'
  const text = password.normalize('NFKC')
  const { length } = [...text]
  if (length < lengths.min) return 'password_too_short'
  if (length > lengths.max) return 'password_too_long'
  if (isAddress(text, address)) return 'password_is_address'
  return readCommonPasswords().has(text.toLowerCase()) ? 'password_common' : undefined
}

/** Whether a password is the address, or the part of it before the @. */
function isAddress(password: string, address: unknown): boolean {
  const email = normalizeEmail(address)
  return email !== '' && [email, email.replace(/@.*/, '')].includes(normalizeEmail(password))
}

let commonPasswords: ReadonlySet<string> | undefined

/** Returns the common passwords. The file is read on the first call. */
function readCommonPasswords(): ReadonlySet<string> {
  const file = join(assets, 'passwords/common.txt')
  return (commonPasswords ??= new Set(readFileSync(file, 'utf8').trimEnd().split('\n')))
}
