import { writeInBulk } from '../extension.js'
import type { Context, Database } from '../index.js'
import { passwordStamp, type Account, type AccountClass } from './account.js'
import type { ApiTokenClass } from './api-tokens.js'
import { hashPassword, needsRehash } from './passwords.js'
import { readToken } from './signed-tokens.js'

/**
 * Finds the user of a link in a mail, before the request's transaction begins; null if the token of the link
 * is forged or has expired, or if the user's password or address has changed since, for example by this link.
 * `signedToken` creates the token with the user's id and stamp.
 *
 * @example const user = await findByLink(database, User, 'password reset', ctx.params.token)
 */
export async function findByLink<User extends Account>(
  database: Database,
  model: AccountClass<User>,
  purpose: string,
  token: unknown,
): Promise<User | null> {
  const found: { user?: User | null } = {}
  const stamp = async (id: string): Promise<string | undefined> => {
    // The compiler cannot see that every user has an id.
    found.user = await database.read((tx) => tx.findOne(model, { where: { id } as object }))
    return found.user ? passwordStamp(found.user) : undefined
  }
  const id = await readToken(purpose, token, { stamp })
  return id === undefined ? null : (found.user ?? null)
}

/**
 * Locks a user until the commit; null if the password or the address has changed since the user was read.
 * Call it after slow work such as `hashPassword`, and change the record that it returns.
 *
 * @throws RecordNotFound (404) when the user was deleted
 */
export async function lockUnchanged<User extends Account>(ctx: Context, known: User): Promise<User | null> {
  // The constructor of a record is its class.
  const user = await ctx.find(known.constructor as AccountClass<User>, known.id, { lock: true })
  return passwordStamp(user) === passwordStamp(known) ? user : null
}

/**
 * Hashes a correct password again if its hash has older parameters than those of `hashPassword`, and returns
 * the user with the current hash. The user's bearer tokens stay valid if `tokens` is their class. A password
 * that was changed in the meantime stays.
 *
 * @example signIn(ctx, await rehashPassword(ctx, user, password))
 */
export async function rehashPassword<User extends Account>(
  ctx: Context,
  known: User,
  password: string,
  { tokens }: { tokens?: ApiTokenClass } = {},
): Promise<User> {
  if (!needsRehash(known.password_hash)) return known
  const password_hash = await hashPassword(password)
  const user = await lockUnchanged(ctx, known)
  if (!user) return known
  await ctx.save(Object.assign(user, { password_hash }))
  const stamps = { user_id: user.id, stamp: passwordStamp(known) }
  if (tokens)
    await writeInBulk(ctx, 'A new digest of the same password', (tx) =>
      tx.update(tokens, stamps, { stamp: passwordStamp(user) }),
    )
  return user
}
