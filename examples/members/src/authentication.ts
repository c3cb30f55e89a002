import type { Context } from 'resource-kit'
import {
  authenticate,
  databaseLimits,
  normalizeEmail,
  passwordStamp,
  rateLimit,
  Unauthorized,
} from 'resource-kit/auth'
import { database } from './database.js'
import { User } from './models/user.js'

declare module 'resource-kit' {
  interface Context {
    /** The user who has signed in. */
    user?: User
  }
}

/** Sets `ctx.user` to the user of the session. Templates have it as `currentUser`. */
export const authenticateUser = authenticate(database, User)

const store = databaseLimits(database)

/** At most 10 wrong passwords in 3 minutes from one network. */
export const limitClient = rateLimit({
  name: 'sign-in by client',
  to: 10,
  within: '3 minutes',
  failures: true,
  store,
  ifStoreFails: 'reject',
})

/** At most 50 wrong passwords in an hour for one account: that of the submitted address. A password reset frees it. */
export const limitAccount = rateLimit({
  name: 'sign-in by account',
  to: 50,
  within: '1 hour',
  by: submittedEmail,
  failures: true,
  store,
  ifStoreFails: 'reject',
})

/** The same limit for pages that ask the user for the present password. Both share their counts. */
export const limitPresentPassword = rateLimit({
  name: 'sign-in by account',
  to: 50,
  within: '1 hour',
  by: (ctx) => ctx.user?.email,
  failures: true,
  store,
  ifStoreFails: 'reject',
})

/** At most 10 mails an hour that one network requests. */
export const limitMailsOfClient = rateLimit({
  name: 'mails by client',
  to: 10,
  within: '1 hour',
  store,
  ifStoreFails: 'reject',
})

/** At most 3 mails an hour to one address. */
export const limitMailsToAddress = rateLimit({
  name: 'mails to address',
  to: 3,
  within: '1 hour',
  by: submittedEmail,
  store,
  ifStoreFails: 'reject',
})

/** The user who has signed in. */
export function userOf(ctx: Context): User {
  if (!ctx.user) throw new Unauthorized('Session')
  return ctx.user
}

/** Finds a user by the address, before the request's transaction begins. */
export function findByEmail(email: string): Promise<User | null> {
  return database.read((tx) => tx.findOneBy(User, { email: normalizeEmail(email) }))
}

/** Finds a user by the id, before the request's transaction begins. */
export function findById(id: string): Promise<User | null> {
  return database.read((tx) => tx.findOneBy(User, { id }))
}

/** The stamp of the links in mails to a user: it changes with the password and the address. */
export async function stampOf(id: string): Promise<string | undefined> {
  const user = await findById(id)
  return user ? passwordStamp(user) : undefined
}

/** Locks a user until the commit; null if the password or the address was changed since it was read. */
export async function lockUnchanged(ctx: Context, known: User): Promise<User | null> {
  const user = await ctx.find(User, known.id, { lock: true })
  return passwordStamp(user) === passwordStamp(known) ? user : null
}

/** A field of the request's body as text; empty if it is anything else. */
export function field(ctx: Context, name: string): string {
  const value: unknown = Object(ctx.request.body)[name]
  return typeof value === 'string' ? value : ''
}

function submittedEmail(ctx: Context): string | undefined {
  return normalizeEmail(field(ctx, 'email')) || undefined
}
