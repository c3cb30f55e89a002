import type { Context } from 'resource-kit'
import { authenticate, databaseLimits, normalizeEmail, rateLimit, Unauthorized } from 'resource-kit/auth'
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

const limit = { store: databaseLimits(database), ifStoreFails: 'reject' } as const
const failures = { ...limit, failures: true }
const byAccount = { ...failures, name: 'sign-in by account', to: 50, within: '1 hour' } as const

/** At most 10 wrong passwords in 3 minutes from one network. */
export const limitClient = rateLimit({ ...failures, name: 'sign-in by client', to: 10, within: '3 minutes' })

/** At most 50 wrong passwords in an hour for one account: that of the submitted address. A password reset frees it. */
export const limitAccount = rateLimit({ ...byAccount, by: submittedEmail })

/** The same limit for requests that need the current password of the user. Both share their counts. */
export const limitPresentPassword = rateLimit({ ...byAccount, by: (ctx) => ctx.user?.email })

/** At most 10 mails an hour that one network requests. */
export const limitMailsOfClient = rateLimit({ ...limit, name: 'mails by client', to: 10, within: '1 hour' })

/** The same, and at most 3 mails an hour to one address. */
export const limitMails = [
  limitMailsOfClient,
  rateLimit({ ...limit, name: 'mails to address', to: 3, within: '1 hour', by: submittedEmail }),
] as const

/** The user who has signed in. */
export function userOf(ctx: Context): User {
  if (!ctx.user) throw new Unauthorized('Session')
  return ctx.user
}

/** Finds a user by the address, before the request's transaction begins. */
export function findByEmail(email: string): Promise<User | null> {
  return database.read((tx) => tx.findOneBy(User, { email: normalizeEmail(email) }))
}

/** A field of the request's body as text; empty if it is anything else. */
export function field(ctx: Context, name: string): string {
  const value: unknown = Object(ctx.request.body)[name]
  return typeof value === 'string' ? value : ''
}

function submittedEmail(ctx: Context): string | undefined {
  return normalizeEmail(field(ctx, 'email')) || undefined
}
